package template

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// props are a resource's resolved properties, or an object inside them. Each method takes one
// property and reports what is wrong with it; done reports those that nobody took.
type props struct {
	path     string
	values   map[string]any
	taken    map[string]bool
	problems *problems
}

func newProps(path string, values map[string]any, problems *problems) *props {
	return &props{path: path, values: values, taken: map[string]bool{}, problems: problems}
}

func (p *props) bad(name, format string, args ...any) {
	p.problems.add(join(p.path, name), format, args...)
}

// take is the property's value, nil where it is absent.
func (p *props) take(name string) any {
	p.taken[name] = true
	return p.values[name]
}

// ignore takes properties that have no local meaning.
func (p *props) ignore(names ...string) {
	for _, name := range names {
		p.taken[name] = true
	}
}

// done reports the properties that nobody took: the local stack would leave out what they ask for.
func (p *props) done() {
	for _, name := range sorted(p.values) {
		if !p.taken[name] {
			p.bad(name, "this property is not run on one machine")
		}
	}
}

func (p *props) text(name, otherwise string) string {
	value := p.take(name)
	if value == nil {
		return otherwise
	}
	s, ok := scalar(value)
	if !ok {
		p.bad(name, "must be a string")
	}
	return s
}

// need is a string that must be there and not be empty.
func (p *props) need(name string) string {
	s := p.text(name, "")
	if s == "" {
		p.bad(name, "must be a string that is not empty")
	}
	return s
}

// oneOf is a string out of a few.
func (p *props) oneOf(name, otherwise string, allowed ...string) string {
	s := p.text(name, otherwise)
	if slices.Contains(allowed, s) {
		return s
	}
	p.bad(name, "must be one of %s, not %q", strings.Join(allowed, ", "), s)
	return otherwise
}

func (p *props) integer(name string, otherwise, low, high int) int {
	value := p.take(name)
	if value == nil {
		return otherwise
	}
	s, _ := scalar(value)
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		p.bad(name, "must be an integer from %d to %d", low, high)
		return otherwise
	}
	return n
}

func (p *props) seconds(name string, otherwise, low, high int) time.Duration {
	return time.Duration(p.integer(name, otherwise, low, high)) * time.Second
}

func (p *props) boolean(name string, otherwise bool) bool {
	value := p.take(name)
	if value == nil {
		return otherwise
	}
	s, _ := scalar(value)
	switch s {
	case "true":
		return true
	case "false":
		return false
	}
	p.bad(name, "must be true or false")
	return otherwise
}

// object is an object's properties, nil where it is absent.
func (p *props) object(name string) *props {
	value := p.take(name)
	if value == nil {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		p.bad(name, "must be an object")
		return nil
	}
	return newProps(join(p.path, name), object, p.problems)
}

// within has all properties of an object taken. It reports whether the object is there.
func (p *props) within(name string, take func(*props)) bool {
	object := p.object(name)
	if object != nil {
		take(object)
		object.done()
	}
	return object != nil
}

// objects has those of each object of a list taken, all of them.
func (p *props) objects(name string) iter.Seq2[int, *props] {
	return func(yield func(int, *props) bool) {
		for i, entry := range p.list(name) {
			object, ok := entry.(map[string]any)
			at := fmt.Sprintf("%s[%d]", name, i)
			if !ok {
				p.bad(at, "must be an object")
				continue
			}
			taken := newProps(join(p.path, at), object, p.problems)
			yield(i, taken) // nobody leaves before the last
			taken.done()
		}
	}
}

func (p *props) texts(name string) []string {
	var out []string
	for i, entry := range p.list(name) {
		s, ok := scalar(entry)
		if !ok {
			p.bad(fmt.Sprintf("%s[%d]", name, i), "must be a string")
		}
		out = append(out, s)
	}
	return out
}

func (p *props) list(name string) []any {
	value := p.take(name)
	if value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		p.bad(name, "must be a list")
	}
	return list
}

// strings is an object whose values are strings.
func (p *props) strings(name string) map[string]string {
	object := p.object(name)
	if object == nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range sorted(object.values) {
		out[key] = object.text(key, "")
	}
	return out
}
