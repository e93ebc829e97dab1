package ddb

import (
	"cmp"
	"slices"
)

// Verb is what an [Action] does.
type Verb uint8

// The verbs, each with its clause in an update expression.
const (
	Set          Verb = iota // SET #a = :v
	SetIfMissing             // SET #a = if_not_exists(#a, :v)
	Plus                     // SET #a = #a + :v
	PlusFrom                 // SET #a = if_not_exists(#a, :from) + :v
	Append                   // SET #a = list_append(#a, :v)
	Add                      // ADD #a :v
	Remove                   // REMOVE #a
)

// Action is one change that an update makes. All values of an update are those before it.
type Action struct {
	Verb  Verb
	Path  Path
	Value Value
	// From is what PlusFrom begins at.
	From *Value
}

// Set gives a path a value, or that of a [Path.Ref]. The zero Value removes what is there.
func (p Path) Set(v Value) Action {
	if v.kind == None {
		return p.Remove()
	}
	return Action{Verb: Set, Path: p, Value: v}
}

// SetIfMissing gives a path a value where it has none.
func (p Path) SetIfMissing(v Value) Action { return Action{Verb: SetIfMissing, Path: p, Value: v} }

// Plus adds to a number that must be there.
func (p Path) Plus(n int64) Action { return Action{Verb: Plus, Path: p, Value: Int(n)} }

// PlusFrom adds to a number, which counts as from if absent.
func (p Path) PlusFrom(from Value, n int64) Action {
	return Action{Verb: PlusFrom, Path: p, Value: Int(n), From: &from}
}

// Append appends a list to one that must be there.
func (p Path) Append(list Value) Action { return Action{Verb: Append, Path: p, Value: list} }

// Add adds to a number, 0 if absent, or members to a set.
func (p Path) Add(v Value) Action { return Action{Verb: Add, Path: p, Value: v} }

// Remove removes what is at a path.
func (p Path) Remove() Action { return Action{Verb: Remove, Path: p} }

// Removed are actions that remove.
func Removed(paths ...Path) []Action {
	actions := make([]Action, len(paths))
	for i, path := range paths {
		actions[i] = path.Remove()
	}
	return actions
}

func apply(actions []Action, before Item) (Item, error) {
	after := draftOf(before, max(len(actions)-before.Len(), 2)) // most change what is there
	for _, a := range actions {
		if a.Verb == Remove {
			continue
		}
		v, err := a.result(before)
		if err != nil {
			return Item{}, err
		}
		if err := after.put(a.Path, v); err != nil {
			return Item{}, err
		}
	}
	for _, path := range removals(actions) {
		if err := after.put(path, Value{}); err != nil {
			return Item{}, err
		}
	}
	return sealed(after), nil
}

// draft is the attributes of an item that is being changed, sorted by name.
type draft []field

// draftOf has room for so many attributes more.
func draftOf(it Item, more int) draft {
	return append(make(draft, 0, it.Len()+more), it.stored()...)
}

// set gives an attribute a value; the zero Value removes it.
func (d *draft) set(name string, v Value) {
	at, found := find(*d, name)
	switch {
	case found && v.kind == None:
		*d = slices.Delete(*d, at, at+1)
	case found:
		(*d)[at].value = v
	case v.kind != None:
		*d = slices.Insert(*d, at, field{name, v})
	}
}

func (d draft) attribute(name string) Value {
	if at, found := find(d, name); found {
		return d[at].value
	}
	return Value{}
}

// put puts a value at a path; the zero Value removes what is there. The map or list that it is in
// must be there.
func (d *draft) put(path Path, v Value) error {
	name, rest := path.cut()
	if rest != "" {
		inner, ok := d.attribute(name).put(rest, v)
		if !ok {
			return invalidf("%s is in nothing that the item has", path)
		}
		v = inner
	}
	d.set(name, v)
	return nil
}

// removals are the paths to remove, elements of lists from the last to the first, so that none
// moves another.
func removals(actions []Action) []Path {
	var paths []Path
	for _, a := range actions {
		if a.Verb == Remove {
			paths = append(paths, a.Path)
		}
	}
	slices.SortFunc(paths, func(a, b Path) int {
		return -slices.CompareFunc(a.steps(), b.steps(), compareSteps)
	})
	return paths
}

func compareSteps(a, b string) int {
	at, isIndex := indexOf(a)
	other, otherIsIndex := indexOf(b)
	if isIndex && otherIsIndex {
		return cmp.Compare(at, other)
	}
	return cmp.Compare(a, b)
}

// result is the value that the path has afterwards.
func (a Action) result(before Item) (Value, error) {
	there := before.Get(a.Path)
	v := a.Value
	if v.kind == reference {
		if v = v.in(before); v.kind == None {
			return Value{}, invalidf("%s refers to %s, which the item does not have", a.Path, a.Value)
		}
	}
	switch a.Verb {
	case SetIfMissing:
		if there.kind != None {
			return there, nil
		}
		return v, nil
	case PlusFrom:
		if there.kind == None {
			there = *a.From
		}
		return sumOf(a.Path, there, v)
	case Plus:
		return sumOf(a.Path, there, v)
	case Append:
		if there.kind != List || v.kind != List {
			return Value{}, invalidf("%s is no list to append to", a.Path)
		}
		return ListOf(slices.Concat(there.more.list, v.more.list)...), nil
	case Add:
		return a.added(there)
	}
	return v, nil
}

func sumOf(path Path, there, v Value) (Value, error) {
	if there.kind != Number || v.kind != Number {
		return Value{}, invalidf("%s is no number to add to", path)
	}
	sum, ok := there.plus(v)
	if !ok {
		return Value{}, invalidf("%s would have more than 38 digits", path)
	}
	return sum, nil
}

// added is what ADD makes of what is there.
func (a Action) added(there Value) (Value, error) {
	switch {
	case a.Value.kind == Number && there.kind == None:
		return a.Value, nil
	case a.Value.kind == Number:
		return sumOf(a.Path, there, a.Value)
	case a.Value.kind == BinarySet && there.kind == None:
		return a.Value, nil
	case a.Value.kind == BinarySet && there.kind == BinarySet:
		return setOf(slices.Concat(there.more.set, a.Value.more.set)), nil
	}
	return Value{}, invalidf("%s cannot be added to", a.Path)
}

// put is the map or list with a value at a path, or without what is there for the zero Value; false
// where that is in no map and no list.
func (v Value) put(path Path, element Value) (Value, bool) {
	name, rest := path.cut()
	if rest != "" {
		inner, ok := v.step(name).put(rest, element)
		if !ok {
			return Value{}, false
		}
		element = inner
	}
	at, isIndex := indexOf(name)
	switch {
	case isIndex && v.kind == List:
		at = min(at, len(v.more.list))
		list := slices.Clone(v.more.list[:at])
		if element.kind != None {
			list = append(list, element)
		}
		return ListOf(append(list, v.more.list[min(at+1, len(v.more.list)):]...)...), true
	case !isIndex && v.kind == Map:
		return Value{kind: Map, more: &elements{fields: v.more.fields.with(name, element)}}, true
	}
	return Value{}, false
}
