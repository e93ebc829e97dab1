package dynamo

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
)

// expression renders conditions, updates and projections of one request: they share the
// placeholders, #n0 for names and :v0 for values.
type expression struct {
	names  map[string]string
	values attributes
	// known are the names in the order of their placeholders.
	known []string
	out   strings.Builder
}

// taken is what was rendered since the last call; nil where that is nothing.
func (x *expression) taken() *string {
	if x.out.Len() == 0 {
		return nil
	}
	text := x.out.String()
	x.out.Reset()
	return &text
}

func (x *expression) write(texts ...string) {
	for _, text := range texts {
		x.out.WriteString(text)
	}
}

// condition renders a condition; nil for the one that always holds.
func (x *expression) condition(c ddb.Cond) *string {
	if !c.IsZero() {
		x.cond(c)
	}
	return x.taken()
}

// projection renders the attributes to show; nil for all.
func (x *expression) projection(only []ddb.Path) *string {
	for i, path := range only {
		if i > 0 {
			x.write(", ")
		}
		x.path(path)
	}
	return x.taken()
}

func (x *expression) path(p ddb.Path) { x.write(p.Render(x.name)) }

// name is the placeholder of a name.
func (x *expression) name(name string) string {
	at := slices.Index(x.known, name)
	if at < 0 {
		at = len(x.known)
		x.known = append(x.known, name)
		if x.names == nil {
			x.names = map[string]string{}
		}
		x.names["#n"+strconv.Itoa(at)] = name
	}
	return "#n" + strconv.Itoa(at)
}

// value writes the placeholder of a value, or the path that it refers to.
func (x *expression) value(v ddb.Value) {
	if path, isRef := v.IsRef(); isRef {
		x.path(path)
		return
	}
	if x.values == nil {
		x.values = attributes{}
	}
	placeholder := ":v" + strconv.Itoa(len(x.values))
	x.values[placeholder] = valueToSDK(v)
	x.write(placeholder)
}

var functions = map[ddb.Operator]string{ddb.Exists: "attribute_exists",
	ddb.Missing: "attribute_not_exists", ddb.Contains: "contains", ddb.BeginsWith: "begins_with"}

var comparisons = map[ddb.Operator]string{
	ddb.Equal: " = ", ddb.NotEqual: " <> ", ddb.Less: " < ", ddb.LessOrEqual: " <= ", ddb.Greater: " > ", ddb.GreaterOrEqual: " >= ",
}

func (x *expression) cond(c ddb.Cond) {
	switch c.Operator {
	case ddb.AllOf:
		x.joined(" AND ", c.Conds)
	case ddb.AnyOf:
		x.joined(" OR ", c.Conds)
	case ddb.NotThis:
		x.write("NOT ")
		x.grouped(c.Conds[0])
	case ddb.Exists, ddb.Missing, ddb.Contains, ddb.BeginsWith:
		x.call(functions[c.Operator], c.Path, c.Values...)
	case ddb.In:
		x.operand(c)
		x.write(" IN (")
		for i, v := range c.Values {
			if i > 0 {
				x.write(", ")
			}
			x.value(v)
		}
		x.write(")")
	case ddb.Between:
		x.operand(c)
		x.write(" BETWEEN ")
		x.value(c.Values[0])
		x.write(" AND ")
		x.value(c.Values[1])
	default:
		x.operand(c)
		x.write(comparisons[c.Operator])
		x.value(c.Values[0])
	}
}

func (x *expression) operand(c ddb.Cond) {
	if !c.OfSize {
		x.path(c.Path)
		return
	}
	x.call("size", c.Path)
}

func (x *expression) call(function string, path ddb.Path, values ...ddb.Value) {
	x.write(function, "(")
	x.path(path)
	for _, v := range values {
		x.write(", ")
		x.value(v)
	}
	x.write(")")
}

func (x *expression) joined(by string, conds []ddb.Cond) {
	for i, c := range conds {
		if i > 0 {
			x.write(by)
		}
		x.grouped(c)
	}
}

// grouped writes a condition in parentheses where it has parts.
func (x *expression) grouped(c ddb.Cond) {
	if c.Operator != ddb.AllOf && c.Operator != ddb.AnyOf {
		x.cond(c)
		return
	}
	x.write("(")
	x.cond(c)
	x.write(")")
}

func (x *expression) update(actions []ddb.Action) *string {
	for _, clause := range []string{"SET ", "REMOVE ", "ADD "} {
		lead := clause
		for _, a := range actions {
			if clauseOf(a) != clause {
				continue
			}
			if lead == clause && x.out.Len() > 0 {
				x.write(" ")
			}
			x.write(lead)
			x.action(a)
			lead = ", "
		}
	}
	return x.taken()
}

func clauseOf(a ddb.Action) string {
	switch a.Verb {
	case ddb.Remove:
		return "REMOVE "
	case ddb.Add:
		return "ADD "
	}
	return "SET "
}

func (x *expression) action(a ddb.Action) {
	x.path(a.Path)
	switch a.Verb {
	case ddb.Remove:
		return
	case ddb.Add:
		x.write(" ")
		x.value(a.Value)
		return
	}
	x.write(" = ")
	switch a.Verb {
	case ddb.SetIfMissing:
		x.call("if_not_exists", a.Path, a.Value)
		return
	case ddb.Plus:
		x.path(a.Path)
		x.write(" + ")
	case ddb.PlusFrom:
		x.call("if_not_exists", a.Path, *a.From)
		x.write(" + ")
	case ddb.Append:
		x.call("list_append", a.Path, a.Value)
		return
	}
	x.value(a.Value)
}
