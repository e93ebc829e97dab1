package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// many is how many records of each shape go through the handler; make verify S=sources has 100,000.
var many = flag.Int("events", map[bool]int{true: 4_000, false: 800}[whole.Tests],
	"how many records of each shape go through the handler")

// How records come: up to a delay after the time at which they were made, which is less than the
// settle window; one in twenty a second time, up to a minute later.
const (
	manyQueues = 40
	manyDelay  = 4 * time.Second
	manyAgain  = time.Minute
	repeated   = 20
	tick       = 500 * time.Millisecond
)

type coming struct {
	queue, n int
	at       time.Time
}

// allComing are the records of a shape in the order in which they come, and how many of them are
// there for the second time.
func allComing(random *rand.Rand, each int) (all []coming, again int) {
	for queue := range manyQueues {
		for n := 1; n <= each; n++ {
			at := sourcetest.Time(n).Add(time.Duration(random.Int64N(int64(manyDelay))))
			all = append(all, coming{queue, n, at})
			if random.IntN(repeated) == 0 {
				all = append(all, coming{queue, n, at.Add(time.Duration(random.Int64N(int64(manyAgain))))})
				again++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b coming) int {
		return cmp.Compare(a.at.UnixNano(), b.at.UnixNano())
	})
	return all, again
}

type world struct {
	t      *testing.T
	meter  *ddbtest.Meter
	sorter *cursor.Sorter
	now    time.Time
	// spent are the units of the puts alone.
	spent ddb.Units
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, meter: ddbtest.NewMeter(runtimetest.Tables()), now: sourcetest.Time(0)}
	w.sorter = runtimetest.Sorter(w.meter, &cursor.Options{Now: func() time.Time {
		return w.now
	}, ForEach: fanout.SideBySide})
	return w
}

// play has records come: put gets those of an event, as they come; then each queue is settled,
// every tick.
func (w *world) play(shape sourcetest.Shape, all []coming, random *rand.Rand,
	put func([]json.RawMessage)) {
	w.t.Helper()
	settle := func() {
		if !shape.Settles {
			return
		}
		errs := make([]error, manyQueues)
		fanout.SideBySide(manyQueues, func(queue int) {
			_, errs[queue] = w.sorter.Settle(w.t.Context(), shape.Queue(queue), sortkey.EverySortKey)
			if errors.Is(errs[queue], cursor.ErrNoQueue) {
				errs[queue] = nil
			}
		})
		check.OK(w.t, errors.Join(errs...))
	}
	for len(all) > 0 {
		w.now = w.now.Add(tick)
		due := 0
		for due < len(all) && !all[due].at.After(w.now) {
			due++
		}
		for due > 0 {
			size := min(due, 1+random.IntN(shape.Most))
			var records []json.RawMessage
			for _, c := range all[:size] {
				records = append(records, shape.Record(c.queue, c.n))
			}
			_ = w.meter.Take()
			put(records)
			w.spent = w.spent.Plus(w.meter.Take().Units)
			all, due = all[size:], due-size
		}
		settle()
	}
	w.now = w.now.Add(time.Minute)
	settle()
}

// check reads all queues, and returns how many messages are lost, and out of order.
func (w *world) check(shape sourcetest.Shape, each int) (lost, disordered int) {
	w.t.Helper()
	for queue := range manyQueues {
		status, err := w.sorter.Status(w.t.Context(), shape.Queue(queue))
		check.OK(w.t, err)
		last, seen := 0, map[int]bool{}
		for m, err := range w.sorter.Read(w.t.Context(), shape.Queue(queue), 0, status.Position) {
			check.OK(w.t, err)
			n, err := shape.N(m.Body)
			check.Need(w.t, err == nil && !seen[n],
				"queue %s: message %d, a second time %v, %v", shape.Queue(queue), n, seen[n], err)
			if n < last || m.Late {
				disordered++
			}
			last, seen[n] = n, true
		}
		lost += each - len(seen)
	}
	return lost, disordered
}

// Records of each shape come shuffled, and some of them again, through the handler. None is lost,
// and none is out of order; and the puts cost what the same messages cost that are put without
// events, in the same groups.
func TestManyRecords(t *testing.T) {
	each := max(*many/manyQueues, 1)
	for i, shape := range sourcetest.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			of := check.Get(source.Read([]byte(shape.Source)))
			all, again := allComing(rand.New(rand.NewPCG(uint64(i), 1)), each)
			events, theirs := newWorld(t), newWorld(t)
			handle := newTaker(t, of, events.sorter, nil).handle
			calls := 0
			events.play(shape, all, rand.New(rand.NewPCG(uint64(i), 2)), func(records []json.RawMessage) {
				calls++
				answer, err := handle(t.Context(), shape.Event(records))
				check.Need(t, err == nil && string(answer) == done, "%s, %v", answer, err)
			})
			theirs.play(shape, all, rand.New(rand.NewPCG(uint64(i), 2)), func(records []json.RawMessage) {
				putAlone(t, theirs.sorter, of, shape.Event(records))
			})
			lost, disordered := events.check(shape, each)
			writes, reads := events.spent.Writes/theirs.spent.Writes, events.spent.Reads/theirs.spent.Reads
			per := float64(len(all))
			t.Logf("%d records, %d of them again, in %d events: %d lost, %d out of order; %.3f write and %.3f read units a record, %.3f and %.3f times those of the same puts",
				len(all), again, calls, lost, disordered, events.spent.Writes/per,
				events.spent.Reads/per, writes, reads)
			check.That(t, lost == 0 && disordered == 0 && writes <= 1.1 && reads <= 1.1,
				"that is not as it must be")
		})
	}
}

// putAlone puts the messages of an event as who has no events puts them.
func putAlone(t *testing.T, sorter *cursor.Sorter, of *source.Source, event json.RawMessage) {
	t.Helper()
	e := check.Get(of.Split(event))
	var messages []cursor.Message
	for i := range e.Records {
		messages = append(messages, check.Get(of.Messages(&e.Records[i], time.Time{}))[0])
	}
	for _, r := range sorter.Put(t.Context(), messages...) {
		check.OK(t, r.Err)
	}
}
