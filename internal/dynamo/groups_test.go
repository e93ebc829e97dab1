package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
)

// TestGroupsStayTogether: each group of a condition is asked for as one, whatever
// surrounds it, on every engine.
func TestGroupsStayTogether(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "groups", Table: def}
	names := []ddb.Path{"x", "y", "z"}
	x, y, z := names[0].Exists(), names[1].Exists(), names[2].Exists()
	for i, c := range []ddb.Cond{
		ddb.And(x, ddb.Or(y, z)), ddb.And(ddb.Or(x, y), z), ddb.Or(x, ddb.And(y, z)), ddb.Not(ddb.Or(x, y)),
		ddb.Not(ddb.And(x, y)), ddb.And(ddb.Not(x), y), ddb.Or(ddb.Not(ddb.And(x, y)), z), ddb.And(x, ddb.Not(ddb.Or(y, z))),
	} {
		for there := range 1 << len(names) {
			fields := keyFields("a", 1)
			for bit, name := range names {
				if there>>bit&1 == 1 {
					fields[name] = ddb.Int(1)
				}
			}
			for kind, engine := range all {
				if a := do(t.Context(), engine, ddb.Put{Op: op, Item: fields.Item()}); a.err != nil {
					t.Fatal(a.err)
				}
				a := do(t.Context(), engine, ddb.Delete{Op: op, Key: keyFields("a", 1).Item(), If: c})
				if a.err != nil || a.Held != c.Holds(fields.Item()) || !a.Held && !a.Item.Equal(fields.Item()) {
					t.Errorf("%s: condition %d of %v: held %v, %v, %v", kind, i, fields, a.Held, a.Item, a.err)
				}
			}
		}
	}
}

// TestManyNames: each of the names of a request is its own.
func TestManyNames(t *testing.T) {
	def, all := engines(t)
	op, key := ddb.Op{Op: "names", Table: def}, keyFields("a", 1)
	var actions []ddb.Action
	var conds []ddb.Cond
	for i := range 13 {
		name := ddb.Path(fmt.Sprint("name", i))
		key[name] = ddb.Int(int64(i))
		conds = append(conds, name.Eq(key[name]))
		actions = append(actions, name.Set(ddb.Int(int64(i*i))))
	}
	for kind, engine := range all {
		if a := do(t.Context(), engine, ddb.Put{Op: op, Item: key.Item()}); a.err != nil {
			t.Fatal(a.err)
		}
		a := do(t.Context(), engine, ddb.Update{Op: op, Key: keyFields("a", 1).Item(), If: ddb.And(conds...), Do: actions})
		if n, _ := a.Item.Get("name12").Int64(); !a.Held || a.err != nil || n != 144 {
			t.Errorf("%s: held %v, %v, %v", kind, a.Held, a.Item, a.err)
		}
	}
}
