package cursor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// tamper changes what is stored in a table of q: an edit that returns nil deletes the item.
func (b *bench) tamper(table int, edit func(ddb.Fields) ddb.Fields) {
	b.t.Helper()
	def := tablesOf(cursor.Names{})[table]
	op := ddb.Op{Op: "tamper", Table: &def}
	for _, it := range slices.Clone(b.tables.Items(def.Name)) {
		key := it.Only(ddb.Path(def.Partition.Name), ddb.Path(def.Sort.Name))
		fields := ddb.Fields{}
		for name, value := range it.All() {
			fields[ddb.Path(name)] = value
		}
		check.Get(b.tables.Do(b.t.Context(), ddb.Delete{Op: op, Key: key}))
		if after := edit(fields); after != nil {
			check.Get(b.tables.Do(b.t.Context(), ddb.Put{Op: op, Item: after.Item()}))
		}
	}
}

// drop deletes the items with these sort keys.
func (b *bench) drop(table int, of string, keys ...int64) {
	b.tamper(table, func(it ddb.Fields) ddb.Fields {
		if n, is := it[ddb.Path(of)].Int64(); is && slices.Contains(keys, n) {
			return nil
		}
		return it
	})
}

// verified is what Verify says of q, in a line.
func (b *bench) verified(after, upTo int64) string {
	b.t.Helper()
	var last cursor.Verified
	for v, err := range b.process(cursor.Options{}).Verify(b.t.Context(), "q",
		cursor.Range{From: after, To: upTo}) {
		if err != nil {
			return err.Error()
		}
		check.That(b.t, v.Last >= last.Last, "it goes back from %d to %d", last.Last, v.Last)
		last = v
	}
	said := fmt.Sprintf("%d to %d: %d", last.From, last.To, last.Messages)
	for _, of := range []struct {
		n    int64
		what string
	}{{last.Tombstones, "skipped"}, {last.Gone, "gone"}} {
		if of.n > 0 {
			said += fmt.Sprintf(", %d %s", of.n, of.what)
		}
	}
	for _, f := range last.Faults {
		said += fmt.Sprintf("; %d to %d %s", f.From, f.To, f.Problem)
	}
	check.That(b.t, len(last.Faults) == last.Wrong && last.Last == last.To,
		"%+v; want all of it", last)
	return said
}

const all = cursor.MaxSeq

func TestVerify(t *testing.T) {
	b := newBench(t, nil)
	same(t, "of no queue", b.verified(0, all), cursor.ErrNoQueue.Error())
	b.puts(1, 9)
	b.want("whole", b.verified(0, all), "0 to 9: 9")
	b.want("a part", b.verified(3, 5), "3 to 5: 2")
	b.want("beyond the position", b.verified(9, 20), "9 to 9: 0")
	b.put(body(11))
	b.want("a gap", b.verified(0, all), "0 to 9: 9")
	check.Get(b.sorter.Skip(t.Context(), "q", 10, "never sent"))
	b.want("skipped", b.verified(0, all), "0 to 11: 10, 1 skipped")

	b.drop(0, "seq", 4, 5, 8)
	b.want("holes", b.verified(0, all),
		"0 to 11: 7, 1 skipped; 3 to 5 is not stored; 7 to 8 is not stored")
	b.drop(0, "seq", 1, 2)
	b.want("the first are gone", b.verified(0, all),
		"0 to 11: 5, 1 skipped, 2 gone; 3 to 5 is not stored; 7 to 8 is not stored")
	b.want("from there on", b.verified(3, all),
		"3 to 11: 4, 1 skipped; 3 to 5 is not stored; 7 to 8 is not stored")
	b.drop(0, "seq", 11)
	b.want("the last one", b.verified(8, all), "8 to 11: 1, 1 skipped; 10 to 11 is not stored")
	b.later(15 * 24 * time.Hour)
	b.want("expired, and not all deleted", b.verified(0, all),
		"0 to 11: 4, 1 skipped, 5 gone; 10 to 11 is not stored")
	b.memory.Expire(b.now)
	b.want("all expired", b.verified(0, all), "0 to 11: 0, 11 gone")
}

// TestVerifyWhatWasPut finds what was changed behind the project's back.
func TestVerifyWhatWasPut(t *testing.T) {
	b := newBench(t, nil)
	b.put(body(1))
	b.put(body(2))
	b.tamper(0, func(it ddb.Fields) ddb.Fields {
		if seq, _ := it["seq"].Int64(); seq == 2 {
			it["body"] = ddb.Blob([]byte("another"))
		}
		return it
	})
	b.want("changed", b.verified(0, all),
		"0 to 2: 1; 1 to 2 is not what was put: its digest is another")
}

// TestVerifyForEver: where nothing expires, what is not there was not deleted by time.
func TestVerifyForEver(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.KeepForever = true })
	b.puts(1, 3)
	b.drop(0, "seq", 1)
	b.want("not stored", b.verified(0, all), "0 to 3: 2; 0 to 1 is not stored")
}

func TestVerifyStandsStill(t *testing.T) {
	b := newBench(t, nil)
	b.put(body(1))
	b.put(body(3))
	b.tamper(0, func(it ddb.Fields) ddb.Fields {
		if seq, _ := it["seq"].Int64(); seq == 3 {
			it["seq"] = ddb.Int(2)
		}
		return it
	})
	b.want("at once", b.verified(0, all), "0 to 1: 1")
	b.later(2 * time.Minute)
	b.want("later", b.verified(0, all),
		"0 to 1: 1; 1 to 2 is stored since 2m0s, and the position is not moved over it")
}

func TestVerifyArrivals(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Kind = cursor.KindArrival }))
	b.fill("a", 200)
	b.want("whole", b.verified(0, all), "0 to 200: 200")
	b.want("a part", b.verified(50, 70), "50 to 70: 20")
	b.tamper(3, func(it ddb.Fields) ddb.Fields {
		switch it["id"].Str() {
		case "a77":
			return nil
		case "a78":
			it["body"] = ddb.Blob([]byte("another"))
		}
		return it
	})
	b.want("one is not there, one changed", b.verified(0, all), "0 to 200: 198; 78 to 79 is not what was put: its digest is another; 77 to 78 is not stored")
}

func TestVerifyOrderItems(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Kind = cursor.KindArrival }))
	b.fill("a", 200)
	var orders []int64
	b.tamper(0, func(it ddb.Fields) ddb.Fields {
		n, _ := it["seq"].Int64()
		orders = append(orders, n)
		return it
	})
	check.Need(t, len(orders) >= 2, "order items at %d", orders)
	b.drop(0, "seq", orders[1])
	from, to := orders[0], orders[1]
	b.want("an order item is not there", b.verified(from, all),
		fmt.Sprintf("%d to 200: %d; %d to %d is not stored", from, 200-to, from, to))
	b.drop(0, "seq", orders[0])
	b.want("nor are those before", b.verified(0, all),
		fmt.Sprintf("0 to 200: %d, %d gone", 200-to, to))
}
