package cursor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// alone is an arrival of one message with a JSON document of 100 bytes.
func alone(n int) []cursor.Message { return together(n, 1, document) }

// together is an arrival of several.
func together(n, count int, body func(int) []byte) []cursor.Message {
	r := request{Queue: "octo-org/octo-repo", ID: fmt.Sprintf("evt_%016x", n)}
	for i := range count {
		r.Messages = append(r.Messages, cursor.Message{Body: body(n*count + i)})
	}
	return r.put()
}

func document(n int) []byte {
	const form = `{"order":%d,"customer":"c-%05d","status":"accepted","note":"`
	text := fmt.Sprintf(form, n, n*7919%100_000)
	return []byte(text + strings.Repeat("x", 98-len(text)) + `"}`)
}

// scattered is 100 bytes that cannot be compressed.
func scattered(n int) []byte {
	out := make([]byte, 100)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(out)
	return out
}

// byTime is a message of 100 bytes under a time to the millisecond.
func byTime(n int) []cursor.Message {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC).Add(time.Duration(n) * 137 * time.Millisecond)
	m := alone(n)
	m[0].KeyParts, m[0].KeyType, m[0].Seq = []any{at}, "time", 0
	return m
}

// each does something with each of some numbers.
func each(first, n int, do func(int) step) step {
	return func(b *bench) error {
		for i := range n {
			if err := do(first + i)(b); err != nil {
				return err
			}
		}
		return nil
	}
}

// numbered puts one by one, group in one call.
func numbered(seqs ...int64) step {
	return each(0, len(seqs), func(i int) step { return group(seqs[i], seqs[i]) })
}

func group(first, last int64) step {
	var all []cursor.Message
	for _, seq := range seqs(first, last) {
		all = append(all, hundred(seq))
	}
	return puts(all)
}

// calls puts so many in one call each, in25s 25 in each.
func calls(first, n int, of func(int) []cursor.Message) step {
	return each(first, n, func(i int) step { return puts(of(i)) })
}

func in25s(first, n int, of func(int) []cursor.Message) step {
	return each(0, n, func(call int) step {
		var all [][]cursor.Message
		for i := range 25 {
			all = append(all, of(first+25*call+i))
		}
		return puts(all...)
	})
}

// another has another process go on.
func another(b *bench) error {
	b.sorter = b.process(cursor.Options{Defaults: b.defaults})
	return nil
}

func settled(b *bench) error {
	return check.Err(b.sorter.Settle(b.t.Context(), hundred(1).Queue, sortkey.EverySortKey))
}

// reads reads a thousand.
func reads(b *bench) error {
	n := 0
	for _, err := range b.sorter.Read(b.t.Context(), hundred(1).Queue, 0, 1000) {
		check.OK(b.t, err)
		n++
	}
	check.That(b.t, n == 1000, "%d were read", n)
	return nil
}

func heals(last int64) step {
	return func(b *bench) error {
		return check.Err(b.sorter.Steps().Heal(b.t.Context(), hundred(1).Queue, seqs(1, last)...))
	}
}

// overtaken has a process go on after another has done something.
func overtaken(first, then step) step {
	return func(b *bench) error {
		check.OK(b.t, first(b))
		slow := b.sorter
		check.OK(b.t, steps(another, then)(b))
		b.sorter = slow
		return nil
	}
}

// TestFigures pins what each operation costs, for messages of 100 bytes.
func TestFigures(t *testing.T) {
	type figure struct {
		writes, reads         int
		writeUnits, readUnits float64
	}
	next := calls(200, 1, alone)
	by := func(before, others int) step {
		return overtaken(calls(0, before, alone), calls(before, others, alone))
	}
	late := each(0, 40, func(i int) step { return steps(in25s(1+25*i, 1, byTime), settled) })
	oneByOne := func(n int) step {
		return each(1, n, func(i int) step { return steps(calls(i, 1, byTime), settled) })
	}
	at := func(first, last int64) step { return puts(batch("", seqs(first, last)...)) }
	nearly := each(1, queuelog.OrderItemEntries-1, func(i int) step { return at(int64(i), int64(i)) })
	looks := func(b *bench) error {
		c := check.Get(b.sorter.Steps().ErasureOf(b.t.Context(), hundred(1).Queue))
		return check.Err(b.sorter.Steps().EraseMore(b.t.Context(), c, nil))
	}
	erases := func(b *bench) error {
		c := check.Get(b.sorter.Erase(b.t.Context(), hundred(1).Queue, "op"))
		return check.Err(b.sorter.Steps().EraseMore(b.t.Context(), c, nil))
	}
	const twoItems = 2 * queuelog.OrderItemEntries
	for _, c := range []struct {
		name        string
		mode        cursor.Mode
		prepare, do step
		want        figure
	}{
		{"in order, warm", "", numbered(1), numbered(2), figure{2, 0, 2, 0}},
		{"in order, warm, asynchronous", cursor.ModeAsync, numbered(1), numbered(2), figure{1, 0, 1, 0}},
		{"in order, cold", "", steps(numbered(1), another), numbered(2), figure{2, 1, 2, 0.5}},
		{"beyond a gap that is known", "", numbered(1, 9), numbered(5), figure{1, 1, 1, 1}},
		{"beyond all that is parked", "", numbered(1, 5), numbered(9), figure{1, 1, 1, 1}},
		{"fills a gap, and more waits beyond", "", numbered(1, 3, 5), numbered(2), figure{2, 2, 2, 2}},
		{"opens a gap", "", numbered(1), numbered(3), figure{2, 1, 2, 1}},
		{"batch of 25", "", numbered(1), group(2, 26), figure{26, 0, 26, 0}},
		{"batch of 100", "", numbered(1), group(2, 101), figure{101, 0, 101, 0}},
		{"new queue", "", steps(), numbered(1), figure{3, 1, 3, 0.5}},
		{"a gap, 100 parked", "", steps(numbered(1), group(3, 102)), numbered(2), figure{2, 4, 2, 7}},
		{"duplicate, passed", "", numbered(1, 2), numbered(1), figure{0, 1, 0, 1}},
		{"duplicate, parked", "", numbered(1, 3), numbered(3), figure{1, 1, 1, 1}},
		{"too far ahead", "", numbered(1), numbered(200_000), figure{0, 1, 0, 1}},
		{"heal, nothing to do", "", numbered(1), heals(1), figure{0, 1, 0, 1}},
		{"heal of 50, asynchronous", cursor.ModeAsync, group(1, 50), heals(50), figure{1, 6, 1, 7}},
		{"verify 1,000", "", group(1, 1000), func(b *bench) error {
			for _, err := range b.sorter.Verify(b.t.Context(), hundred(1).Queue, cursor.Range{To: all}) {
				check.OK(b.t, err)
			}
			return nil
		}, figure{0, 4, 0, 52}},

		{"append, warm", "", calls(0, 1, alone), next, figure{2, 0, 2, 0}},
		{"append, cold", "", steps(calls(0, 1, alone), another), next, figure{2, 1, 2, 0.5}},
		{"append, new queue", "", steps(), next, figure{3, 1, 3, 0.5}},
		{"append, group of 25", "", calls(0, 1, alone), in25s(1, 1, alone), figure{28, 0, 28, 0}},
		{"append, repeat", "", calls(0, 2, alone), calls(0, 1, alone), figure{2, 0, 2, 0}},
		{"append, late repeat", "", calls(0, 1000, alone), calls(3, 1, alone), figure{2, 1, 2, 1}},
		{"25 under one id", "", calls(0, 1, alone), puts(together(1, 25, scattered)), figure{2, 0, 4, 0}},
		{"100 so", "", calls(0, 1, alone), puts(together(1, 100, scattered)), figure{2, 0, 12, 0}},
		{"100, deflated", "", calls(0, 1, alone), puts(together(1, 100, document)), figure{2, 0, 2, 0}},
		{"read 1,000 arrivals", "", steps(in25s(0, 40, alone), another), reads, figure{0, 14, 0, 506}},
		{"read 1,000 in batches of 100", "", steps(each(0, 10, func(i int) step {
			return puts(together(i, 100, scattered))
		}), another), reads, figure{0, 3, 0, 16.5}},
		// One that was overtaken by what two order items hold needs no search.
		{"overtaken by 48", "", by(1, 48), next, figure{2, 0, 2, 0}},
		{"overtaken by 70 after 24", "", by(24, 70), next, figure{2, 0, 2, 0}},
		{"overtaken by 70 after 23", "", by(23, 70), next, figure{3, 1, 3, 1}},
		{"overtaken by 72 after 24", "", by(24, 72), next, figure{3, 1, 3, 1}},

		{"at a seq, one", "", at(1, 1), at(2, 2), figure{2, 0, 2, 0}},
		{"at a seq, 100", "", at(1, 1), at(2, 101), figure{2, 0, 2, 0}},
		{"at a seq, cold", "", steps(at(1, 1), another), at(2, 101), figure{2, 1, 2, 0.5}},
		{"at a seq, overtaken", "", overtaken(at(1, 1), at(2, 2)), at(3, 102), figure{2, 1, 2, 1}},
		{"at a seq, fills an order item", "", nearly, at(24, 123), figure{4, 0, 4, 0}},
		{"at a seq, a repeat", "", steps(nearly, at(24, 123)), at(1, 6), figure{0, 3, 0, 8}},
		{"at a seq, ahead", "", at(1, 1), at(3, 3), figure{0, 1, 0, 1}},

		{"erase 1,000", "", group(1, 1000), erases, figure{41, 6, 1001, 28}},
		{"look at what is erased", "", steps(group(1, 1000), erases), looks, figure{0, 5, 0, 4}},
		{"look at a stub", "", steps(group(1, 1000), erases), func(b *bench) error {
			c := check.Get(b.sorter.Steps().ErasureOf(b.t.Context(), hundred(1).Queue))
			c.Erasure.Emptied = b.now
			return check.Err(b.sorter.Steps().EraseMore(b.t.Context(), c, nil))
		}, figure{0, 3, 0, 2}},

		{"keyed, one a settle", "", oneByOne(1), each(2, twoItems, func(i int) step {
			return steps(calls(i, 1, byTime), settled)
		}), figure{100, 144, 100, 144}},
		{"keyed, a quiet spell", "", oneByOne(1 + twoItems), settled, figure{1, 2, 1, 2}},
		{"keyed, a quiet queue", "", steps(oneByOne(1+twoItems), settled), settled, figure{0, 2, 0, 2}},
		{"keyed, 100 a settle", "", oneByOne(1), each(0, 4, func(i int) step {
			return steps(in25s(2+100*i, 4, byTime), settled)
		}), figure{424, 27, 440, 69}},
		{"keyed, a put of 25", "", calls(0, 1, byTime), in25s(1, 1, byTime), figure{25, 1, 25, 1}},
		{"keyed, by its receipt", "", calls(0, 1, byTime), func(b *bench) error {
			m := byTime(1)
			m[0].KeyParts = []any{sortkey.Received(m[0].KeyParts[0].(time.Time))}
			return puts(m)(b)
		}, figure{2, 1, 2, 1}},
		{"keyed, read 1,000", "", steps(in25s(0, 40, byTime), settled), reads, figure{0, 7, 0, 34}},
		{"keyed, a late one", "", late, calls(0, 1, byTime), figure{2, 1, 2, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, meter := newMetered(t, c.mode)
			check.OK(t, c.prepare(b))
			meter.Take()
			check.OK(t, c.do(b))
			got := meter.Take()
			cost := figure{got.Writes, got.Reads, got.Units.Writes, got.Units.Reads}
			check.Is(t, cost, c.want)
		})
	}
}

// newMetered is a bench with a meter before its tables, whose keyed queues have no window.
func newMetered(t *testing.T, mode cursor.Mode) (*bench, *ddbtest.Meter) {
	t.Helper()
	b := newBench(t, nil)
	meter := ddbtest.NewMeter(b.tables)
	settings := cursor.DefaultSettings()
	settings.Settle = 0
	if mode != "" {
		settings.Mode = mode
	}
	b.engine, b.defaults = meter, &settings
	check.OK(t, another(b))
	return b, meter
}

// TestFiguresOfACrowd pins what an append costs with writers in processes of their own, whose
// requests take from 1 to 9 ms: a put and an allocation each, which never fails, and two writes for
// an order item.
func TestFiguresOfACrowd(t *testing.T) {
	for _, writers := range []int{1, 4, 16} {
		synctest.Test(t, func(t *testing.T) {
			b, meter := newMetered(t, "")
			check.OK(t, calls(0, 1, alone)(b))
			meter.Take()
			const each = 60
			var group sync.WaitGroup
			for w := range writers {
				random := rand.New(rand.NewPCG(uint64(w), 1))
				b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
					bubble.Sleep(time.Millisecond + time.Duration(random.Int64N(int64(8*time.Millisecond))))
					return meter.Do(ctx, r)
				})
				s := b.process(cursor.Options{})
				group.Go(func() {
					for i := range each {
						r := s.Put(t.Context(), alone(1+w*each+i)...)[0]
						check.That(t, r.Outcome == cursor.Advanced, "%+v", r)
					}
				})
			}
			group.Wait()
			got, n := meter.Take(), writers*each
			want := 2*n + 2*((n+1)/queuelog.OrderItemEntries)
			check.That(t, got.Writes == want && got.Reads == writers && got.Units.Writes <= 2.1*float64(n),
				"%d writers: %+v, want %d writes", writers, got, want)
		})
	}
}

// TestACursorStaysBelowAWriteUnit: the cursor of a queue in arrival order with 38 entries, a name
// of 64 bytes and all else that a cursor can have is one unit.
func TestACursorStaysBelowAWriteUnit(t *testing.T) {
	b, meter := newMetered(t, "")
	settings := cursor.DefaultSettings()
	settings.Kind, settings.First = cursor.KindArrival, 1_000_000_007
	var entries []queuelog.Entry
	for i := range 38 {
		e := queuelog.Entry{Key: sortkey.HashOf(fmt.Sprint(i)), Count: 500, Seen: 1<<23 - 1}
		entries = append(entries, e)
	}
	fingerprints := strings.Repeat("abcd", 2*queuelog.OrderItemEntries)
	check.Get(storeOn(t, meter, cursor.Names{}).Inside().CreateCursor(t.Context(), cursor.Cursor{
		Queue: strings.Repeat("q", 64), Settings: settings, Position: 1_000_043_006,
		MaxParked: 1_000_000_006, MovedAt: b.now, Announced: -1,
		Floor: 1_000_000_007, FloorSince: b.now, Notified: b.now,
		TailFrom: 1_000_024_006, Tail: queuelog.NewTail(entries...),
		FingerprintsFrom: 1_000_000_006, Fingerprints: cursor.Fingerprints(fingerprints),
	}))
	same(t, "units", meter.Take().Units.Writes, 1)
}
