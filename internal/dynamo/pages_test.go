package dynamo_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
)

// TestPagesEndAtOneMegabyte reads items of sizes that fill pages, on every
// engine.
func TestPagesEndAtOneMegabyte(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "pages", Table: def}
	for size, perPage := range map[int]int{100_000: 10, 300_000: 3, 400_000: 2} {
		pages := map[ddbtest.Kind][]int{}
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
			if kind == ddbtest.DynamoDBLocal {
				want++ // it shows the item that crosses 1 MB, too
			}
			check.That(t, got[0] == want && pages["memory"][0] == perPage,
				"%s: pages of %v items of %d bytes, want %d in the first", kind, got, size, want)
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
		"a large item":                    {ddb.Put{Op: op, Item: large}, ddb.ErrTooLarge},
		"an update to it":                 {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("b").Set(large.Get("b"))}}, ddb.ErrTooLarge},
		"a key in an update":              {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("s").Set(ddb.Int(2))}}, ddb.ErrInvalid},
		"an empty key":                    {ddb.Get{Op: op, Key: keyFields("", 1).Item()}, ddb.ErrInvalid},
		"half a key":                      {ddb.Get{Op: op, Key: ddb.Fields{"p": ddb.Text("a")}.Item()}, ddb.ErrInvalid},
		"a key of other type":             {ddb.Get{Op: op, Key: ddb.Fields{"p": ddb.Int(1), "s": ddb.Int(1)}.Item()}, ddb.ErrInvalid},
		"an index key":                    {ddb.Put{Op: op, Item: key.Merge(ddb.Fields{"n": ddb.Text("x")}.Item())}, ddb.ErrInvalid},
		"101 keys":                        {ddb.BatchGet{Op: op, Keys: manyKeys(101)}, ddb.ErrInvalid},
		"26 deletes":                      {ddb.BatchWrite{Op: op, Deletes: manyKeys(26)}, ddb.ErrInvalid},
		"a key twice":                     {ddb.BatchWrite{Op: op, Deletes: []ddb.Item{key, key}}, ddb.ErrInvalid},
		"an empty index key":              {ddb.Put{Op: op, Item: key.Merge(ddb.Fields{"t": ddb.Text("")}.Item())}, ddb.ErrInvalid},
		"an update to it, empty":          {ddb.Update{Op: op, Key: key, Do: []ddb.Action{ddb.Path("t").Set(ddb.Text(""))}}, ddb.ErrInvalid},
		"between two types":               {ddb.Put{Op: op, Item: key, If: ddb.Path("n").Between(ddb.Int(1), ddb.Text("a"))}, ddb.ErrInvalid},
		"in nothing":                      {ddb.Put{Op: op, Item: key, If: ddb.Path("n").In()}, ddb.ErrInvalid},
		"an inequality of the sort key":   {ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Ne(ddb.Int(1))}, ddb.ErrInvalid},
		"a list of sort keys":             {ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").In(ddb.Int(1))}, ddb.ErrInvalid},
		"a sort key by reference":         {ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Eq(ddb.Path("n").Ref())}, ddb.ErrInvalid},
		"a page after half a key":         {ddb.Query{Op: op, Partition: ddb.Text("a"), After: ddb.Fields{"p": ddb.Text("a")}.Item()}, ddb.ErrInvalid},
		"a page after more than a key":    {ddb.Query{Op: op, Partition: ddb.Text("a"), After: key.Merge(ddb.Fields{"n": ddb.Int(1)}.Item())}, ddb.ErrInvalid},
		"a page of the index after a key": {ddb.Query{Op: op, OfIndex: true, Partition: ddb.Int(1), After: key}, ddb.ErrInvalid},
		"an attribute shown twice":        {ddb.Query{Op: op, Partition: ddb.Text("a"), Only: []ddb.Path{"n", "n"}}, ddb.ErrInvalid},
		"shown twice by a batch":          {ddb.BatchGet{Op: op, Keys: []ddb.Item{key}, Only: []ddb.Path{"n", "n"}}, ddb.ErrInvalid},
		"a scan after half a key":         {ddb.Scan{Op: op, After: ddb.Fields{"p": ddb.Text("a")}.Item()}, ddb.ErrInvalid},
		"no table":                        {ddb.Get{Op: ddb.Op{Table: noTable(def)}, Key: key}, ddb.ErrNoTable},
	} {
		for kind, engine := range all {
			a := do(t.Context(), engine, c.r)
			check.That(t, errors.Is(a.err, c.want), "%s on %s: error %v, want %v", name, kind, a.err, c.want)
		}
	}
	for more, want := range []error{nil, ddb.ErrTooLarge} {
		it := key.Merge(ddb.Fields{"z": ddb.Blob(make([]byte, 400<<10-key.Size()-len("z")+more))}.Item())
		for kind, engine := range all {
			a := do(t.Context(), engine, ddb.Put{Op: op, Item: it})
			check.That(t, errors.Is(a.err, want), "400 KB and %d bytes on %s: error %v", more, kind, a.err)
		}
	}
	// dynoxide takes them.
	var values []ddb.Value
	for i := range 101 {
		values = append(values, ddb.Int(int64(i)))
	}
	for name, r := range map[string]ddb.Request{
		"603 operators":               ddb.Put{Op: op, Item: key, If: ddb.And(many...)},
		"in 101 values":               ddb.Put{Op: op, Item: key, If: ddb.Path("n").In(values...)},
		"an index key of 1025 bytes":  ddb.Put{Op: op, Item: key.Merge(ddb.Fields{"t": ddb.Text(strings.Repeat("x", 1025)), "n": ddb.Int(1)}.Item())},
		"a partition without a name":  ddb.Query{Op: op, Partition: ddb.Text("")},
		"a sort key of other type":    ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Eq(ddb.Text("1"))},
		"a page of another partition": ddb.Query{Op: op, Partition: ddb.Text("a"), After: keyFields("b", 1).Item()},
		"a page of another range":     ddb.Query{Op: op, Partition: ddb.Text("a"), Where: ddb.Path("s").Gt(ddb.Int(3)), After: key},
	} {
		for _, kind := range []ddbtest.Kind{"memory", ddbtest.DynamoDBLocal} {
			if engine := all[kind]; engine != nil {
				a := do(t.Context(), engine, r)
				check.That(t, errors.Is(a.err, ddb.ErrInvalid), "%s on %s: error %v", name, kind, a.err)
			}
		}
	}
}

// TestSizeOfText: size counts a text in UTF-16.
func TestSizeOfText(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "size", Table: def}
	it := keyFields("a", 1).Item().Merge(ddb.Fields{"u": ddb.Text("é𝄞")}.Item())
	for kind, engine := range all {
		if a := do(t.Context(), engine, ddb.Put{Op: op, Item: it}); a.err != nil {
			t.Fatal(a.err)
		}
		a := do(t.Context(), engine, ddb.Put{Op: op, Item: it, If: ddb.Path("u").SizeEq(3)})
		check.That(t, a.Held && a.err == nil, "%s: held %v, %v", kind, a.Held, a.err)
	}
}

// TestScansAreTheWhole: a scan that goes on page by page sees each item once, also where
// its segments are scanned apart, and no page is longer than its limit.
func TestScansAreTheWhole(t *testing.T) {
	def, all := engines(t)
	op := ddb.Op{Op: "scan", Table: def}
	for kind, engine := range all {
		want := map[string]int{}
		for i := range 20 {
			it := keyFields(strings.Repeat("p", 1+i/2), i%2).Item()
			want[it.String()] = 1
			if a := do(t.Context(), engine, ddb.Put{Op: op, Item: it}); a.err != nil {
				t.Fatal(a.err)
			}
		}
		// What the filter leaves out counts for the limit.
		if a := do(t.Context(), engine, ddb.Scan{Op: op, Filter: ddb.Path("none").Exists(), Limit: 4}); len(a.Items) > 0 || !a.Next.Exists() || a.err != nil {
			t.Errorf("%s: a filtered page %v, and the next begins at %v, %v", kind, a.Items, a.Next, a.err)
		}
		for _, segments := range []int{0, 3} {
			seen, parts := map[string]int{}, map[int]bool{}
			for segment := range max(segments, 1) {
				scan := ddb.Scan{Op: op, Segment: segment, Segments: segments, Limit: 4}
				for {
					a := do(t.Context(), engine, scan)
					check.Need(t, a.err == nil && len(a.Items) <= scan.Limit,
						"%s: a page of %d items, %v", kind, len(a.Items), a.err)
					for _, it := range a.Items {
						seen[it.String()]++
						parts[segment] = true
					}
					if scan.After = a.Next; !scan.After.Exists() {
						break
					}
				}
			}
			check.That(t, maps.Equal(seen, want) && (segments <= 0 || len(parts) != 1),
				"%s: %d segments: seen %v", kind, segments, seen)
		}
	}
}
