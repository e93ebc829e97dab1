package ddb_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/digest"
	"github.com/streamsort/streamsort/pkg/table"
)

var things = table.Definition{
	Name: "things", TTL: "ttl",
	Partition: table.Key{Name: "p", Type: table.String},
	Sort:      table.Key{Name: "s", Type: table.Number},
}

func op(name string) ddb.Op { return ddb.Op{Op: name, Table: &things} }

func thing(p string, s int, more ddb.Fields) ddb.Item {
	key := ddb.Fields{"p": ddb.Text(p), "s": ddb.Int(int64(s))}
	return key.Item().Merge(more.Item())
}

func do(t *testing.T, engine ddb.Engine, r ddb.Request) ddb.Answer {
	t.Helper()
	return check.Get(engine.Do(t.Context(), r))
}

func TestExpireDeletesWhatTTLWould(t *testing.T) {
	m := ddb.NewMemory(things)
	for s, ttl := range []ddb.Value{{}, ddb.Int(99), ddb.Int(100), ddb.Int(101), ddb.Text("100")} {
		do(t, m, ddb.Put{Op: op("put"), Item: thing("a", s, ddb.Fields{"ttl": ttl})})
	}
	check.Is(t, m.Expire(time.Unix(100, 0)), 2)
	left := m.Items("things")
	check.That(t, len(left) == 3 && left[1].Get("s") == ddb.Int(3), "left %v", left)
}

// TestSegmentsAreTheWhole: every partition is in one segment, and a scan that goes on page by page
// sees each item once.
func TestSegmentsAreTheWhole(t *testing.T) {
	m := ddb.NewMemory(things)
	for i := range 40 {
		do(t, m, ddb.Put{Op: op("put"), Item: thing(fmt.Sprint(i/2), i%2, nil)})
	}
	seen := map[string]int{}
	for segment := range 3 {
		scan := ddb.Scan{Op: op("scan"), Segment: segment, Segments: 3, Limit: 4}
		for {
			a := do(t, m, scan)
			for _, it := range a.Items {
				seen[it.String()]++
			}
			if scan.After = a.Next; !scan.After.Exists() {
				break
			}
			// A reader may go on after the item was deleted.
			do(t, m, ddb.Delete{Op: op("delete"), Key: scan.After})
		}
	}
	check.That(t, len(seen) == 40, "%d items seen, want 40", len(seen))
	for it, times := range seen {
		check.That(t, times == 1, "%s seen %d times", it, times)
	}
}

// TestChangesAreReported: a change is reported once, and a write that changes nothing makes none,
// as on a stream.
func TestChangesAreReported(t *testing.T) {
	m := ddb.NewMemory(things)
	var changes []string
	m.OnChange(func(c ddb.Change) { changes = append(changes, fmt.Sprint(c.Before, " to ", c.After)) })
	key := thing("a", 1, nil)
	set := ddb.Update{Op: op("set"), Key: key, Do: []ddb.Action{ddb.Path("n").Set(ddb.Int(1))}}
	do(t, m, set)
	do(t, m, set)
	do(t, m, ddb.Delete{Op: op("delete"), Key: key, If: ddb.Path("n").Eq(ddb.Int(2))})
	do(t, m, ddb.Delete{Op: op("delete"), Key: key})
	do(t, m, ddb.Delete{Op: op("delete"), Key: key})
	want := "[{} to {n:1 p:a s:1} {n:1 p:a s:1} to {}]"
	check.That(t, fmt.Sprint(changes) == want, "changes %v, want %s", changes, want)
}

// TestSnapshotsDistinguishStates: what is stored is all that counts, not how it came there.
func TestSnapshotsDistinguishStates(t *testing.T) {
	snapshot := func(writes ...ddb.Request) digest.Digest {
		m := ddb.NewMemory(things)
		for _, r := range writes {
			do(t, m, r)
		}
		var d digest.Digest
		m.Snapshot(&d)
		return d
	}
	one := ddb.Put{Op: op("put"), Item: thing("a", 1, nil)}
	two := ddb.Put{Op: op("put"), Item: thing("b", 1, nil)}
	check.That(t, snapshot(one, two) == snapshot(two, one, one), "the same items, and another digest")
	check.That(t, snapshot(one) != snapshot(two) && snapshot() != snapshot(one),
		"other items, and the same digest")
}

func TestDecodedOnce(t *testing.T) {
	decoded := 0
	read := func(m *ddb.Memory) string {
		a := do(t, m, ddb.Get{Op: op("get"), Key: thing("a", 1, nil)})
		text := check.Get(ddb.Decoded(a.Item, func(it ddb.Item) (string, error) {
			decoded++
			return it.String(), nil
		}))
		return text
	}
	plain, remembers := ddb.NewMemory(things), ddb.NewMemory(things).Remember()
	for _, m := range []*ddb.Memory{plain, remembers} {
		do(t, m, ddb.Put{Op: op("put"), Item: thing("a", 1, nil)})
		first, second := read(m), read(m)
		check.That(t, first == second, "an item is decoded to %s and to %s", first, second)
	}
	check.That(t, decoded == 3, "decoded %d times, want 2 and 1", decoded)
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Fails(t,
		check.Err(ddb.NewMemory(things).Do(ctx, ddb.Get{Op: op("get"), Key: thing("a", 1, nil)})),
		context.Canceled)
}

// TestSums: 128 bits, exact up to 38 digits.
func TestSums(t *testing.T) {
	for text, storable := range map[string]bool{
		"0": true, "-1": true, "9223372036854775808": true, "-170141183460469231731687303715884105728": false,
		"99999999999999999999999999999999999999": true, "-99999999999999999999999999999999999999": true,
		"100000000000000000000000000000000000000": false, "1.5": false,
	} {
		v := ddb.ParseNumber(text)
		check.Is(t, v.Kind() == ddb.Number, storable, text)
		check.That(t, !storable || v.Decimal() == text, "%s is written as %s", text, v.Decimal())
	}
	m := ddb.NewMemory(things)
	do(t, m, ddb.Put{Op: op("put"), Item: thing("a", 1, ddb.Fields{"n": ddb.Int128(1<<40, 5)})})
	a := do(t, m, ddb.Update{Op: op("add"), Key: thing("a", 1, nil),
		Do: []ddb.Action{ddb.Path("n").Add(ddb.Int128(-1<<40, 0))}})
	check.That(t, a.Item.Get("n") == ddb.Int(5), "the sum is %v, want 5", a.Item.Get("n"))
}
