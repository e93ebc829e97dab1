package ddb

import (
	"slices"
	"strings"
)

// Clauses are the names of all parts of a request of which a bug could be that they are not there,
// or are not as strict: each comparison and each group of a condition, each bound of a comparison,
// and each change of an update. A name has the request's and the part, without values:
//
//	seal if inc = ?
//	seal does expiresOn
func Clauses(r Request) []string {
	var names []string
	rewrite(r, func(name string) bool {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return false
	})
	return names
}

// Without is the request without the part of this name: a comparison holds always, a bound is taken
// in where it was left out and the other way around, a change is not made, or also where it was for
// a missing attribute only. Other requests stay as they are.
func Without(r Request, clause string) Request {
	return rewrite(r, func(name string) bool { return name == clause })
}

// rewrite is the request without the parts for which drop says so.
func rewrite(r Request, drop func(name string) bool) Request {
	condition := func(c Cond) Cond {
		return c.rewrite(func(name string) bool { return drop(r.Name() + " if " + name) })
	}
	switch r := r.(type) {
	case Put:
		r.If = condition(r.If)
		return r
	case Delete:
		r.If = condition(r.If)
		return r
	case Scan:
		r.Filter = condition(r.Filter)
		return r
	case Query:
		r.Where = condition(r.Where)
		return r
	case Update:
		r.If = condition(r.If)
		r.Do = slices.DeleteFunc(slices.Clone(r.Do), func(a Action) bool {
			return drop(r.Name() + " does " + a.Path.shape())
		})
		for i, a := range r.Do {
			if a.Verb == SetIfMissing && drop(r.Name()+" does "+a.Path.shape()+" (always)") {
				r.Do[i].Verb = Set
			}
		}
		return r
	}
	return r
}

// rewrite is the condition without the parts for which drop says so.
func (c Cond) rewrite(drop func(name string) bool) Cond {
	if c.IsZero() || drop(c.shape()) {
		return Cond{}
	}
	if other, has := otherBound[c.Operator]; has && drop(c.shape()+" (bound)") {
		c.Operator = other
		return c
	}
	if len(c.Conds) == 0 {
		return c
	}
	parts := make([]Cond, len(c.Conds))
	for i, part := range c.Conds {
		parts[i] = part.rewrite(drop)
	}
	switch c.Operator {
	case AllOf:
		return And(parts...)
	case AnyOf:
		// Without one of its parts, a group asks for more.
		return Or(parts...)
	}
	if parts[0].IsZero() {
		return Cond{}
	}
	return Not(parts[0])
}

// otherBound is a comparison with its bound taken in or left out.
var otherBound = map[Operator]Operator{Less: LessOrEqual, LessOrEqual: Less,
	Greater: GreaterOrEqual, GreaterOrEqual: Greater}

var signs = map[Operator]string{
	Equal: "=", NotEqual: "<>", Less: "<", LessOrEqual: "<=", Greater: ">", GreaterOrEqual: ">=",
	Between: "between", In: "in", BeginsWith: "begins with", Contains: "contains", Exists: "exists", Missing: "missing",
}

// shape is the condition without its values.
func (c Cond) shape() string {
	switch c.Operator {
	case AllOf:
		return c.shapes(" and ")
	case AnyOf:
		return c.shapes(" or ")
	case NotThis:
		return "not " + c.Conds[0].shape()
	}
	operand := c.Path.shape()
	if c.OfSize {
		operand = "size of " + operand
	}
	text := operand + " " + signs[c.Operator]
	for _, v := range c.Values {
		if path, isRef := v.IsRef(); isRef {
			text += " " + path.shape()
		} else {
			text += " ?"
		}
	}
	return text
}

// shapes are those of a group's parts, each once.
func (c Cond) shapes(by string) string {
	var parts []string
	for _, part := range c.Conds {
		if shape := part.shape(); !slices.Contains(parts, shape) {
			parts = append(parts, shape)
		}
	}
	return "(" + strings.Join(parts, by) + ")"
}

// shape is the path without the keys and indexes that are numbers.
func (p Path) shape() string {
	steps := p.steps()
	for i, step := range steps {
		if strings.Trim(step, indexMark+"0123456789") == "" {
			steps[i] = "*"
		}
	}
	return strings.Join(steps, ".")
}
