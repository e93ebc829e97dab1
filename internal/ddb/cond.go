package ddb

import "slices"

// Operator is what a [Cond] asks.
type Operator uint8

// The operators. Comparisons with an attribute that is missing are false, but for NotEqual, which
// is true.
const (
	Always Operator = iota
	Exists
	Missing
	Equal
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	Between
	In
	BeginsWith
	Contains
	AllOf
	AnyOf
	NotThis
)

// Cond is a condition on an item. The zero Cond always holds, and [And] leaves it out.
type Cond struct {
	Operator Operator
	Path     Path
	// OfSize: what is compared is the size of the value, not the value.
	OfSize bool
	Values []Value
	Conds  []Cond
}

// Exists holds where there is something at the path.
func (p Path) Exists() Cond { return Cond{Operator: Exists, Path: p} }

// Missing holds where there is nothing at the path.
func (p Path) Missing() Cond { return Cond{Operator: Missing, Path: p} }

func (p Path) is(o Operator, values ...Value) Cond {
	return Cond{Operator: o, Path: p, Values: values}
}

// Eq is =, with a value or a [Path.Ref]; so are the others.
func (p Path) Eq(v Value) Cond { return p.is(Equal, v) }

// Ne is <>: true where there is nothing at the path.
func (p Path) Ne(v Value) Cond { return p.is(NotEqual, v) }

// Lt is <.
func (p Path) Lt(v Value) Cond { return p.is(Less, v) }

// Le is <=.
func (p Path) Le(v Value) Cond { return p.is(LessOrEqual, v) }

// Gt is >.
func (p Path) Gt(v Value) Cond { return p.is(Greater, v) }

// Ge is >=.
func (p Path) Ge(v Value) Cond { return p.is(GreaterOrEqual, v) }

// Between holds from low to high, both included.
func (p Path) Between(low, high Value) Cond { return p.is(Between, low, high) }

// In holds where the value is one of these.
func (p Path) In(values ...Value) Cond { return p.is(In, values...) }

// BeginsWith holds for strings and binaries with this beginning.
func (p Path) BeginsWith(v Value) Cond { return p.is(BeginsWith, v) }

// Contains holds for strings with this part, and lists and sets with this element.
func (p Path) Contains(v Value) Cond { return p.is(Contains, v) }

func (p Path) sizeIs(o Operator, n int) Cond {
	return Cond{Operator: o, Path: p, OfSize: true, Values: []Value{Int(int64(n))}}
}

// SizeEq compares a size: bytes of binaries, elements of lists, maps and sets.
func (p Path) SizeEq(n int) Cond { return p.sizeIs(Equal, n) }

// SizeLt is <.
func (p Path) SizeLt(n int) Cond { return p.sizeIs(Less, n) }

// SizeLe is <=.
func (p Path) SizeLe(n int) Cond { return p.sizeIs(LessOrEqual, n) }

// And holds where all hold.
func And(conds ...Cond) Cond { return several(AllOf, conds) }

// Or holds where one holds.
func Or(conds ...Cond) Cond { return several(AnyOf, conds) }

// Not holds where the other does not.
func Not(c Cond) Cond { return Cond{Operator: NotThis, Conds: []Cond{c}} }

// several takes the conditions over.
func several(o Operator, conds []Cond) Cond {
	if slices.ContainsFunc(conds, Cond.IsZero) {
		conds = slices.DeleteFunc(slices.Clone(conds), Cond.IsZero)
	}
	switch len(conds) {
	case 0:
		return Cond{}
	case 1:
		return conds[0]
	}
	return Cond{Operator: o, Conds: conds}
}

// IsZero reports whether it is the zero Cond.
func (c Cond) IsZero() bool { return c.Operator == Always }

// Holds reports whether the condition holds for an item, which may be none.
func (c Cond) Holds(it Item) bool {
	switch c.Operator {
	case Always:
		return true
	case AllOf:
		for i := range c.Conds {
			if !c.Conds[i].Holds(it) {
				return false
			}
		}
		return true
	case AnyOf:
		for i := range c.Conds {
			if c.Conds[i].Holds(it) {
				return true
			}
		}
		return false
	case NotThis:
		return !c.Conds[0].Holds(it)
	}
	v := it.Get(c.Path)
	switch c.Operator {
	case Exists:
		return v.kind != None
	case Missing:
		return v.kind == None
	}
	if c.OfSize {
		n, ok := v.length()
		if !ok {
			return false
		}
		v = Int(int64(n))
	}
	return c.compares(it, v)
}

func (c Cond) compares(it Item, v Value) bool {
	if c.Operator == In {
		return slices.ContainsFunc(c.Values, func(o Value) bool {
			return v.kind != None && v.Equal(o.in(it))
		})
	}
	o := c.Values[0].in(it)
	switch c.Operator {
	case NotEqual:
		return v.kind == None || !v.Equal(o)
	case Equal:
		return v.kind != None && v.Equal(o)
	case Contains:
		return v.contains(o)
	case BeginsWith:
		return v.kind == o.kind && (v.kind == String || v.kind == Binary) && len(v.text) >= len(o.text) &&
			v.text[:len(o.text)] == o.text
	}
	order, comparable := v.compare(o)
	if !comparable {
		return false
	}
	switch c.Operator {
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	}
	above, comparable := v.compare(c.Values[1].in(it)) // Between
	return comparable && order >= 0 && above <= 0
}

// in is the value in an item: that of another attribute where it is one.
func (v Value) in(it Item) Value {
	if v.kind == reference {
		return it.Get(Path(v.text))
	}
	return v
}
