package cloudformation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// at says where in a template something stands.
func at(place []string) string { return strings.Join(place, ".") }

// values are what stands in a template for the parameters' samples.
type values struct {
	texts   map[string]any
	numbers map[float64]any
}

// put has parameters stand in a template where another template, that of their samples, has
// another value. The error names a place that has neither the same value nor a sample.
func (v values) put(place []string, plain, sampled any) (any, error) {
	if reflect.DeepEqual(plain, sampled) {
		return plain, nil
	}
	if a, is := plain.(object); is {
		if b, is := sampled.(object); is {
			return v.putInto(place, a, b)
		}
	}
	if a, is := plain.([]any); is {
		if b, is := sampled.([]any); is && len(a) == len(b) {
			made := make([]any, len(a))
			for i := range a {
				var err error
				if made[i], err = v.put(append(place, strconv.Itoa(i)), a[i], b[i]); err != nil {
					return nil, err
				}
			}
			return made, nil
		}
	}
	switch sampled := sampled.(type) {
	case float64:
		if ref := v.numbers[sampled]; ref != nil {
			return ref, nil
		}
	case string:
		if ref := v.texts[sampled]; ref != nil {
			return ref, nil
		}
		for _, text := range slices.Sorted(maps.Keys(v.texts)) {
			if name, is := v.texts[text].(object)["Ref"].(string); is && strings.Contains(sampled, text) {
				return substituted(sampled, text, name), nil
			}
		}
	}
	return nil, fmt.Errorf("%s is %v, and %v with other parameters: no parameter's value, but made of some", at(place), plain, sampled)
}

func (v values) putInto(place []string, plain, sampled object) (any, error) {
	made := object{}
	for _, key := range slices.Sorted(maps.Keys(union(plain, sampled))) {
		inner, is := plain[key]
		if _, stays := sampled[key]; is && !stays {
			return nil, fmt.Errorf("%s.%s is not there with other parameters", at(place), key)
		}
		value, err := v.put(append(place, key), inner, sampled[key])
		if err != nil {
			return nil, err
		}
		made[key] = value
	}
	return made, nil
}

func union(a, b object) object {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// switching puts a parameter's condition into a template.
type switching struct {
	parameter Parameter
	used      bool // whether the condition is in it
}

// merge is made, which is with after other parameters' conditions were put in, with this one's
// where without is another.
func (s *switching) merge(place []string, made, with, without any) (any, error) {
	if reflect.DeepEqual(with, without) {
		return made, nil
	}
	a, is := with.(object)
	b, too := without.(object)
	if is && too && !isFunction(a) && !isFunction(b) {
		return s.mergeObjects(place, made, a, b)
	}
	list, is := with.([]any)
	other, too := without.([]any)
	if is && too {
		return s.mergeLists(place, made, list, other)
	}
	if !reflect.DeepEqual(made, with) {
		return nil, fmt.Errorf("%s depends on another parameter as well", at(place))
	}
	off := s.parameter.offValue
	if off == "" {
		off = s.parameter.off
	}
	if with == s.parameter.on && without == off {
		return object{"Ref": s.parameter.Name()}, nil
	}
	return s.choose(with, without), nil
}

// isFunction reports whether an object is one of CloudFormation's functions: it is a value, and
// nothing may be put into it.
func isFunction(o object) bool {
	for key := range o {
		return len(o) == 1 && (key == "Ref" || strings.HasPrefix(key, "Fn::"))
	}
	return false
}

func (s *switching) choose(with, without any) any {
	s.used = true
	return object{"Fn::If": []any{s.parameter.condition, with, without}}
}

// nothing is what is not there.
func nothing() object { return object{"Ref": "AWS::NoValue"} }

func (s *switching) mergeObjects(place []string, made any, with, without object) (any, error) {
	into, is := made.(object)
	if !is || isFunction(into) {
		return nil, fmt.Errorf("%s depends on another parameter as well", at(place))
	}
	all := maps.Clone(into)
	for _, key := range slices.Sorted(maps.Keys(union(with, without))) {
		inner := append(slices.Clone(place), key)
		if _, is := with[key]; !is {
			if len(place) < 2 {
				return nil, fmt.Errorf("%s is there where the parameter is off", at(inner))
			}
			all[key] = s.choose(nothing(), without[key])
			continue
		}
		value, err := s.mergeMember(inner, into[key], with, without, key)
		if err != nil {
			return nil, err
		}
		all[key] = value
	}
	return all, nil
}

// mergeMember merges a member that with has.
func (s *switching) mergeMember(place []string, made any, with, without object, key string) (any, error) {
	other, stays := without[key]
	if stays {
		return s.merge(place, made, with[key], other)
	}
	if len(place) > 2 {
		return s.choose(made, nothing()), nil
	}
	// A resource or an output that is not there without.
	whole := maps.Clone(made.(object))
	if whole["Condition"] != nil {
		return nil, fmt.Errorf("%s depends on another parameter as well", at(place))
	}
	whole["Condition"] = s.parameter.condition
	s.used = true
	return whole, nil
}

// mergeLists merges the elements of lists that are as long, by their places; of others it finds
// what stays, and has the rest depend on the condition.
func (s *switching) mergeLists(place []string, merged any, with, without []any) (any, error) {
	made, is := merged.([]any)
	if !is {
		return nil, fmt.Errorf("%s depends on another parameter as well", at(place))
	}
	var all []any
	if len(made) == len(with) && len(with) == len(without) {
		for i := range with {
			element, err := s.merge(append(slices.Clone(place), strconv.Itoa(i)), made[i], with[i], without[i])
			if err != nil {
				return nil, err
			}
			all = append(all, element)
		}
		return all, nil
	}
	i, j := 0, 0
	common := longestCommon(with, without)
	for _, element := range made {
		if added(element) && !slices.ContainsFunc(with, func(e any) bool { return reflect.DeepEqual(e, element) }) {
			all = append(all, element) // by another parameter
			continue
		}
		if len(common) > 0 && reflect.DeepEqual(with[i], common[0]) {
			for ; !reflect.DeepEqual(without[j], common[0]); j++ {
				all = append(all, s.choose(nothing(), without[j]))
			}
			all, common = append(all, element), common[1:]
			i, j = i+1, j+1
			continue
		}
		all = append(all, s.choose(element, nothing()))
		i++
	}
	if i != len(with) {
		return nil, fmt.Errorf("%s depends on another parameter as well", at(place))
	}
	for ; j < len(without); j++ {
		all = append(all, s.choose(nothing(), without[j]))
	}
	return all, nil
}

// added reports whether an element of a list is one that is there only where another parameter
// is off.
func added(element any) bool {
	o, is := element.(object)
	if !is {
		return false
	}
	choice, is := o["Fn::If"].([]any)
	return is && reflect.DeepEqual(choice[1], nothing())
}

// longestCommon is what two lists have in common, in its order.
func longestCommon(a, b []any) []any {
	// best are the longest of what is left of a and of b from here on.
	best := make([][][]any, len(a)+1)
	for i := range best {
		best[i] = make([][]any, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i][j] = best[i+1][j]
			if len(best[i][j+1]) > len(best[i][j]) {
				best[i][j] = best[i][j+1]
			}
			if reflect.DeepEqual(a[i], b[j]) {
				best[i][j] = append([]any{a[i]}, best[i+1][j+1]...)
			}
		}
	}
	return best[0][0]
}
