package ddb

import (
	"cmp"
	"slices"

	"github.com/streamsort/streamsort/pkg/table"
)

// DynamoDB's limits.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
const (
	maxItem      = 400 << 10
	maxPage      = 1 << 20
	maxPartition = 2048
	maxSort      = 1024
	maxOperators = 300
	maxIn        = 100
	maxBatchGet  = 100
	maxBatch     = 25
)

// KeyOf is the primary key of an item, or of a key.
func KeyOf(def *table.Definition, it Item) Item {
	if def.Sort.Name == "" {
		return it.Only(Path(def.Partition.Name))
	}
	return it.Only(Path(def.Partition.Name), Path(def.Sort.Name))
}

var kinds = map[table.KeyType]Kind{table.String: String, table.Number: Number, table.Binary: Binary}

// checkKey checks the key attributes of an item; exact: it has no others.
func checkKey(def *table.Definition, it Item, exact bool) error {
	attributes, err := checkKeys(def.Partition, def.Sort, it, true)
	if err == nil && exact && it.Len() != attributes {
		err = invalidf("a key of %d attributes, and the table's has %d", it.Len(), attributes)
	}
	return err
}

// checkKeys checks the attributes of a key, those that must be there or those that are, and counts
// them.
func checkKeys(partition, sort table.Key, it Item, must bool) (attributes int, err error) {
	for i, key := range []table.Key{partition, sort} {
		v := it.attribute(key.Name)
		if key.Name == "" || !must && v.kind == None {
			continue
		}
		attributes++
		if err := checkKeyValue(key, v, []int{maxPartition, maxSort}[i]); err != nil {
			return attributes, err
		}
	}
	return attributes, nil
}

func checkKeyValue(key table.Key, v Value, most int) error {
	switch {
	case v.kind != kinds[key.Type]:
		return invalidf("key attribute %s is %s, and has to be of type %s", key.Name, v, key.Type)
	case v.kind != Number && (v.text == "" || len(v.text) > most):
		return invalidf("key attribute %s has %d bytes, and has to have 1 to %d",
			key.Name, len(v.text), most)
	}
	return nil
}

func checkItem(def *table.Definition, it Item) error {
	_, err := checkKeys(def.Index.Partition, def.Index.Sort, it, false)
	if err = cmp.Or(checkKey(def, it, false), err); err != nil {
		return err
	}
	for name, value := range it.All() {
		if err := checkValue(value); err != nil {
			return invalidf("attribute %s: %w", name, err)
		}
	}
	if it.Size() > maxItem {
		return ErrTooLarge
	}
	return nil
}

func checkValue(v Value) error {
	switch v.kind {
	case None, Other:
		return invalidf("a value that cannot be written")
	case Number:
		if !v.isStorable() {
			return invalidf("a number of more than 38 digits")
		}
	case BinarySet:
		if len(v.more.set) == 0 {
			return invalidf("an empty set")
		}
	case List:
		for _, element := range v.more.list {
			if err := checkValue(element); err != nil {
				return err
			}
		}
	case Map:
		for _, element := range v.more.fields.All() {
			if err := checkValue(element); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCond checks a condition's values and the number of its operators.
func checkCond(c *Cond) error {
	if operators := c.operators(); operators > maxOperators {
		return invalidf("%d operators in a condition, and there may be %d", operators, maxOperators)
	}
	return c.check()
}

func (c *Cond) operators() int {
	operators := 1
	if c.OfSize {
		operators++
	}
	if c.Operator == AllOf || c.Operator == AnyOf {
		operators = len(c.Conds) - 1
	}
	for i := range c.Conds {
		operators += c.Conds[i].operators()
	}
	return operators
}

func (c *Cond) check() error {
	for i := range c.Conds {
		if err := c.Conds[i].check(); err != nil {
			return err
		}
	}
	for _, v := range c.Values {
		if err := checkValue(v); err != nil {
			return err
		}
		if path, isRef := v.IsRef(); isRef && path == c.Path {
			return invalidf("%s is compared with itself", path)
		}
		if !c.Operator.takes(v.kind) {
			return invalidf("%s is compared with a value of the wrong type: %s", c.Path, v)
		}
	}
	switch c.Operator {
	case Between:
		return checkBetween(c.Values[0], c.Values[1])
	case In:
		if n := len(c.Values); n == 0 || n > maxIn {
			return invalidf("%s is in %d values, and there have to be 1 to %d", c.Path, n, maxIn)
		}
	}
	return nil
}

func checkBetween(low, high Value) error {
	order, comparable := low.compare(high)
	switch {
	case low.kind != high.kind && low.kind != reference && high.kind != reference:
		return invalidf("between %s and %s, which are of two types", low, high)
	case comparable && order > 0:
		return invalidf("between %s and %s is nothing", low, high)
	}
	return nil
}

func (o Operator) takes(kind Kind) bool {
	switch o {
	case BeginsWith:
		return kind == String || kind == Binary || kind == reference
	case Less, LessOrEqual, Greater, GreaterOrEqual, Between:
		return kind == String || kind == Binary || kind == Number || kind == reference
	}
	return true
}

// checkActions checks what of an update can be checked without the item: that it leaves the key
// alone, and the types of its values.
func checkActions(def *table.Definition, actions []Action) error {
	if err := checkPaths(actions); err != nil {
		return err
	}
	for _, a := range actions {
		name, _ := a.Path.cut()
		if name == def.Partition.Name || name == def.Sort.Name {
			return invalidf("%s is part of the key", name)
		}
		if a.Verb == Remove {
			continue
		}
		if err := checkValue(a.Value); err != nil {
			return invalidf("%s: %w", a.Path, err)
		}
		if !a.takes(a.Value.kind) {
			return invalidf("%s: a value of the wrong type: %s", a.Path, a.Value)
		}
	}
	return nil
}

func (a Action) takes(kind Kind) bool {
	switch a.Verb {
	case Plus:
		return kind == Number
	case PlusFrom:
		return kind == Number && a.From.kind == Number
	case Append:
		return kind == List
	case Add:
		return kind == Number || kind == BinarySet
	}
	return true
}

// checkPaths checks that no two actions change the same place, or one within another.
func checkPaths(actions []Action) error {
	for i, a := range actions {
		for _, b := range actions[:i] {
			if overlap(a.Path, b.Path) {
				return invalidf("%s and %s overlap", b.Path, a.Path)
			}
		}
	}
	return nil
}

func overlap(a, b Path) bool {
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	return long[:len(short)] == short && (len(long) == len(short) || long[len(short):][:1] == stepMark)
}

func checkBatch(def *table.Definition, keys []Item, most int) error {
	if len(keys) == 0 || len(keys) > most {
		return invalidf("a batch of %d, and there have to be 1 to %d", len(keys), most)
	}
	for i, key := range keys {
		if err := checkKey(def, key, true); err != nil {
			return err
		}
		if slices.ContainsFunc(keys[:i], key.Equal) {
			return invalidf("%s is twice in a batch", key)
		}
	}
	return nil
}
