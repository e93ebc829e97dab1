package dynamo_test

import (
	"errors"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// TestPagesEndAtOneMegabyte reads items of sizes that fill pages, on every
// engine.
func TestPagesEndAtOneMegabyte(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "pages", Table: def}
	for size, perPage := range map[int]int{100_000: 10, 300_000: 3, 400_000: 2} {
		pages := map[localdb.Kind][]int{}
		for kind, engine := range all {
			for s := range 12 {
				it := keyFields("a", s).Item().Merge(ddb.Fields{"b": ddb.Blob(make([]byte, size))}.Item())
				if a := do(t.Context(), engine, ddb.Put{Op: op, Item: it}); a.err != nil {
					t.Fatal(a.err)
				}
			}
			q := ddb.Query{Op: op, Partition: ddb.Text("a"), Strong: true}
			for {
				a := do(t.Context(), engine, q)
				if a.err != nil {
					t.Fatal(a.err)
				}
				pages[kind] = append(pages[kind], len(a.Items))
				if q.After = a.Next; !q.After.Exists() {
					break
				}
			}
		}
		for kind, got := range pages {
			want := perPage
			if kind == localdb.DynamoDBLocal {
				want++ // it shows the item that crosses 1 MB, too
			}
			if got[0] != want || pages["memory"][0] != perPage {
				t.Errorf("%s: pages of %v items of %d bytes, want %d in the first", kind, got, size, want)
			}
		}
	}
}

// TestLimitsAreRefused: what is over a limit is refused by every engine alike.
func TestLimitsAreRefused(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "limits", Table: def}
	key := keyFields("a", 1).Item()
	large := key.Merge(ddb.Fields{"b": ddb.Blob(make([]byte, 400<<10))}.Item())
	var many []ddb.Cond
	for range 302 {
		many = append(many, ddb.Path("n").Ne(ddb.Int(1)))
	}
	for name, c := range map[string]struct {
		r    ddb.Request
		want error
	}{
		"a large item":        {ddb.Put{Op: op, Item: large}, ddb.ErrTooLarge},
		"an update to it":     {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("b").Set(large.Get("b"))}}, ddb.ErrTooLarge},
		"a key in an update":  {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("s").Set(ddb.Int(2))}}, ddb.ErrInvalid},
		"an empty key":        {ddb.Get{Op: op, Key: keyFields("", 1).Item()}, ddb.ErrInvalid},
		"half a key":          {ddb.Get{Op: op, Key: ddb.Fields{"p": ddb.Text("a")}.Item()}, ddb.ErrInvalid},
		"a key of other type": {ddb.Get{Op: op, Key: ddb.Fields{"p": ddb.Int(1), "s": ddb.Int(1)}.Item()}, ddb.ErrInvalid},
		"an index key":        {ddb.Put{Op: op, Item: key.Merge(ddb.Fields{"n": ddb.Text("x")}.Item())}, ddb.ErrInvalid},
		"101 keys":            {ddb.BatchGet{Op: op, Keys: manyKeys(101)}, ddb.ErrInvalid},
		"26 deletes":          {ddb.BatchWrite{Op: op, Deletes: manyKeys(26)}, ddb.ErrInvalid},
		"a key twice":         {ddb.BatchWrite{Op: op, Deletes: []ddb.Item{key, key}}, ddb.ErrInvalid},
		"no table":            {ddb.Get{Op: ddb.Op{Table: noTable(def)}, Key: key}, ddb.ErrNoTable},
	} {
		for kind, engine := range all {
			if a := do(t.Context(), engine, c.r); !errors.Is(a.err, c.want) {
				t.Errorf("%s on %s: error %v, want %v", name, kind, a.err, c.want)
			}
		}
	}
	// dynoxide takes any number of operators.
	for _, kind := range []localdb.Kind{"memory", localdb.DynamoDBLocal} {
		if engine := all[kind]; engine != nil {
			if a := do(t.Context(), engine, ddb.Put{Op: op, Item: key, If: ddb.And(many...)}); !errors.Is(a.err, ddb.ErrInvalid) {
				t.Errorf("603 operators on %s: error %v", kind, a.err)
			}
		}
	}
}
