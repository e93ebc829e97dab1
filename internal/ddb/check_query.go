package ddb

import (
	"cmp"
	"slices"

	"github.com/streamsort/streamsort/pkg/table"
)

func checkQuery(def *table.Definition, r Query) error {
	partition, sort := def.Partition, def.Sort
	if r.OfIndex {
		partition, sort = def.Index.Partition, def.Index.Sort
	}
	switch {
	case r.OfIndex && def.Index.Name == "":
		return invalidf("the table has no index")
	case r.OfIndex && r.Strong:
		return invalidf("an index is not read strongly")
	case r.Limit < 0:
		return invalidf("limit %d", r.Limit)
	}
	return cmp.Or(checkKeyValue(partition, r.Partition, maxPartition), checkWhere(sort, &r.Where),
		checkOnly(r.Only), checkAfter(def, r, partition))
}

func checkWhere(sort table.Key, where *Cond) error {
	if where.IsZero() {
		return nil
	}
	switch where.Operator {
	case Equal, Less, LessOrEqual, Greater, GreaterOrEqual, Between, BeginsWith:
	default:
		return invalidf("a query does not ask %s of its sort key", where.shape())
	}
	if where.Path != Path(sort.Name) || where.OfSize {
		return invalidf("%s is not the sort key", where.shape())
	}
	for _, v := range where.Values {
		if v.kind != kinds[sort.Type] {
			return invalidf("%s is compared with %s, and has to be of type %s", sort.Name, v, sort.Type)
		}
	}
	return checkCond(where)
}

func checkOnly(only []Path) error {
	for i, path := range only {
		if len(path.steps()) > 1 {
			return invalidf("%s: this engine shows whole attributes", path)
		}
		if slices.Contains(only[:i], path) {
			return invalidf("%s is to be shown twice", path)
		}
	}
	return nil
}

func checkAfter(def *table.Definition, r Query, partition table.Key) error {
	if !r.After.Exists() {
		return nil
	}
	key := r.After
	if r.OfIndex {
		if !EntryOf(def, r.After).Equal(r.After) {
			return invalidf("%s is no key of the index", r.After)
		}
		key = KeyOf(def, r.After)
	}
	if err := checkKey(def, key, true); err != nil {
		return err
	}
	if !r.After.attribute(partition.Name).Equal(r.Partition) || !r.Where.Holds(r.After) {
		return invalidf("%s is not what the query asks for", r.After)
	}
	return nil
}
