package cursor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// step is a part of an operation.
type step func(*bench) error

func steps(all ...step) step {
	return func(b *bench) error {
		for _, do := range all {
			if err := do(b); err != nil {
				return err
			}
		}
		return nil
	}
}

// puts puts the messages of some calls together, of which none may be said to be lost.
func puts(calls ...[]cursor.Message) step {
	return func(b *bench) error {
		for _, r := range b.sorter.Put(b.t.Context(), slices.Concat(calls...)...) {
			if err := cmp.Or(r.Err, r.Deferred); err != nil {
				return err
			}
			lost := r.Outcome == cursor.Stale || r.Outcome == cursor.Conflict
			check.That(b.t, !lost, "%+v", r)
		}
		return nil
	}
}

func later(d time.Duration) step { return func(b *bench) error { b.later(d); return nil } }

func sweeps(b *bench) error {
	return check.Err(b.sorter.Sweep(b.t.Context(), cursor.SweepOptions{Segments: 1}))
}

// settles settles all, when all is due.
func settles(b *bench) error {
	b.later(time.Minute)
	return check.Err(b.sorter.Settle(b.t.Context(), "q", sortkey.EverySortKey))
}

// state is what stands in the tables, but for what chance decides.
func (b *bench) state() string {
	b.t.Helper()
	cur, left := b.status(), check.Get(b.sorter.Steps().Remaining(b.t.Context(), "q"))
	if cur.Erased() {
		return fmt.Sprint(left, cur.Erasure.Last, cur.Erasure.Op, cur.Erasure.Emptied.IsZero())
	}
	log := strings.Fields(b.keyedLog())
	if cur.Settings.Kind != cursor.KindNumbered {
		left.Messages = 0 // order items, which come sooner or later
	}
	if cur.Settings.Kind == cursor.KindArrival {
		slices.Sort(log)
	}
	return fmt.Sprint(left, cur.Position, cur.Settings, log)
}

// TestEveryRequestGoesWrongOnce lets each request of each operation go wrong in each way. Whatever
// the operation says then, the same one again brings the queue to where it would have been.
func TestEveryRequestGoesWrongOnce(t *testing.T) {
	numbered := func(seqs ...int64) step {
		var all []cursor.Message
		for _, seq := range seqs {
			all = append(all, body(seq))
		}
		return puts(all)
	}
	arrivals := func(prefix string, n int) (all []cursor.Message) {
		for i := range n {
			all = append(all, arrival(fmt.Sprint(prefix, i)).put()...)
		}
		return all
	}
	keyed := func(prefix string, n int) []cursor.Message { return many(prefix+"%03d", n, "x") }
	at := func(first, last int64) step { return puts(batch("", seqs(first, last)...)) }
	nearly := puts(batch("", 1, 2)) // an order item's entries, but for one
	for seq := int64(3); seq < queuelog.OrderItemEntries+1; seq++ {
		nearly = steps(nearly, at(seq, seq))
	}
	const last = queuelog.OrderItemEntries
	policy := cursor.PolicyAlert
	for name, c := range map[string]struct{ prepare, do step }{
		"put to a new queue":       {steps(), numbered(1)},
		"put in order":             {numbered(1), numbered(2)},
		"put out of order":         {numbered(1), numbered(4)},
		"put farther out of order": {numbered(1, 4), numbered(6)},
		"put into the gap":         {numbered(1, 3, 4, 6), numbered(2)},
		"group":                    {numbered(1), numbered(2, 3, 5)},
		"heal": {func(b *bench) error {
			m := body(2)
			m.Digest, m.Op, m.EnqueuedAt = []byte("digest"), []byte("op"), b.now
			check.Get(b.memory.Inside().PutMessage(b.t.Context(), m))
			return numbered(1, 3)(b)
		}, func(b *bench) error { return check.Err(b.sorter.Steps().Heal(b.t.Context(), "q", 2)) }},
		"skip": {steps(numbered(1, 4, 6), later(time.Minute)), func(b *bench) error {
			_, _, err := b.sorter.Steps().SkipGap(b.t.Context(), "q", "why", time.Minute, 10, nil)
			return err
		}},
		"sweep": {steps(numbered(1, 4), later(time.Minute)), sweeps},
		"configure": {steps(), func(b *bench) error {
			return check.Err(b.sorter.Configure(b.t.Context(), "q", cursor.Change{Policy: &policy}))
		}},
		"erase": {numbered(1, 2, 4), steps(func(b *bench) error {
			c, err := b.sorter.Erase(b.t.Context(), "q", "op")
			if err == nil {
				_, err = b.sorter.Steps().EraseMore(b.t.Context(), c, nil)
			}
			return err
		}, later(cursor.EraseGrace), sweeps)},

		"arrivals: new queue":            {steps(), puts(arrivals("a", 1))},
		"arrivals: one":                  {puts(arrivals("a", 1)), puts(arrivals("b", 1))},
		"arrivals: several under one id": {puts(arrivals("a", 1)), puts(several("b", 3).put())},
		"arrivals: a repeat in a group": {
			puts(arrivals("a", 2)), puts(arrivals("b", 2), arrival("a1").put()),
		},
		"arrivals: flush":              {puts(arrivals("a", 22)), puts(arrivals("b", 3))},
		"arrivals: two flushes":        {puts(arrivals("a", 22)), puts(arrivals("b", 50))},
		"arrivals: in an order item":   {puts(arrivals("a", 60)), puts(arrivals("a", 1))},
		"at a seq: next":               {at(1, 2), at(3, 5)},
		"at a seq: again and more":     {at(1, 2), at(1, 5)},
		"at a seq: with a hole":        {at(1, 2), puts(batch("", 3, 4, 6))},
		"at a seq: two items":          {at(1, 2), at(3, 503)},
		"at a seq: flush":              {nearly, at(last+1, last+3)},
		"at a seq: again, and a flush": {nearly, at(1, last+3)},
		"at a seq: a hole and a flush": {nearly, puts(batch("", last+1, last+2, last+4))},
		"at a seq: two, and a flush":   {nearly, at(last+1, last+501)},

		"keyed: new queue": {steps(), steps(puts(keyed("b", 2)), settles)},
		"keyed: late":      {steps(puts(keyed("b", 2)), settles), puts(keyed("a", 1))},
		"keyed: late and not late, with a full tail": {
			steps(puts(keyed("b", last)), settles), steps(puts(keyed("a", 1), keyed("c", 1)), settles),
		},
		"keyed: by its receipt": {steps(), steps(later(time.Second), func(b *bench) error {
			m := keyedOf("", "x")
			m.KeyParts, m.KeyType, m.Body = []any{sortkey.Received(b.now)}, "time", []byte("x")
			return puts([]cursor.Message{m})(b)
		}, settles)},
		"keyed: the keys begin anew": {
			steps(puts(keyed("b", 1)), settles, puts(keyed("a", 1), keyed("c", 1))),
			steps(func(b *bench) error {
				return check.Err(b.sorter.RestartKeys(b.t.Context(), "q", "op"))
			}, puts([]cursor.Message{keyedOf("a", "1")}), settles),
		},
		"keyed: settle": {puts(keyed("b", 3)), settles},
		"keyed: settle more than a move and order items": {
			steps(puts(keyed("a", 1)), settles, puts(keyed("b", 140))), settles,
		},
		"keyed: sweep": {
			steps(puts(keyed("b", 2)), settles, puts(keyed("a", 1)), puts(keyed("c", 2))),
			steps(later(time.Minute), sweeps),
		},
	} {
		t.Run(name, func(t *testing.T) {
			// run does the operation with its kth request going wrong, and then again.
			run := func(fault ddbtest.Fault, k int) (state string, wrong bool) {
				b := newBench(t, nil)
				faults := ddbtest.NewFaults(b.tables)
				b.engine = faults
				settings := cursor.DefaultSettings()
				skipping(&settings)
				b.sorter = b.process(cursor.Options{Defaults: &settings})
				check.OK(t, c.prepare(b))
				faults.Fail(k, fault)
				err := c.do(b)
				wrong = k > 0 && !faults.Pending()
				faults.Fail(0, "")
				harmless := !wrong || fault == ddbtest.Repeated || fault == ddbtest.Partial
				besides := b.status().Settings.Kind != cursor.KindNumbered // an order item can wait
				check.That(t, harmless == (err == nil) || besides && !harmless,
					"%s at request %d: error %v", fault, k, err)
				if wrong {
					check.OK(t, c.do(b))
				}
				return b.state(), wrong
			}
			want, _ := run("", 0)
			for _, fault := range ddbtest.EveryFault() {
				for k, wrong := 1, true; wrong; k++ {
					var got string
					got, wrong = run(fault, k)
					check.Need(t, got == want, "%s at request %d: %s, want %s", fault, k, got, want)
					if k > 20 {
						k += 11 // most of them are alike
					}
				}
			}
		})
	}
}

// TestTheSDKRepeats: with its repeats on, a lost response is not heard of.
func TestTheSDKRepeats(t *testing.T) {
	ddbtest.EachServer(t, func(t *testing.T, kind ddbtest.Kind) {
		network := faulty.New(dynamo.Transport())
		options := dynamo.Options{Transport: network, MaxAttempts: 3}
		s := check.Get(cursor.New(freshTables(t, kind, &options), nil))
		check.OK(t, s.Put(t.Context(), body(1))[0].Err)
		network.Fail(2, faulty.Lost)
		r := s.Put(t.Context(), body(2))[0]
		check.That(t, r.Err == nil && r.New == 2 && !network.Pending(),
			"%+v; want 2 after a lost response", r)
	})
}

// halving is tables that do half of each batch.
type halving struct{ ddb.Engine }

func (h halving) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	var left []ddb.Item
	switch batch := r.(type) {
	case ddb.BatchGet:
		half := (len(batch.Keys) + 1) / 2
		batch.Keys, left = batch.Keys[:half], batch.Keys[half:]
		r = batch
	case ddb.BatchWrite:
		half := (len(batch.Deletes) + 1) / 2
		batch.Deletes, left = batch.Deletes[:half], batch.Deletes[half:]
		r = batch
	}
	a, err := h.Engine.Do(ctx, r)
	a.Left = left
	return a, err
}

// TestWhatABatchLeavesIsDoneLater: where DynamoDB does a part of a batch only, the rest is read at
// once, and not deleted now.
func TestWhatABatchLeavesIsDoneLater(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 60)
	b.engine = halving{b.tables}
	got := b.read(0, 60)
	check.That(t, len(got) == 60 && got[59] == "60 a59 body of a59", "%d are read: %v", len(got), got)
	for seq := range int64(10) {
		m := body(seq + 1)
		m.Queue = "numbered"
		b.put(m)
	}
	s := b.process(cursor.Options{})
	for _, want := range []struct {
		deleted int
		err     error
	}{{5, cursor.ErrThrottled}, {3, cursor.ErrThrottled}, {1, cursor.ErrThrottled}, {1, nil},
		{0, nil}} {
		deleted, err := s.Steps().DeleteUpTo(t.Context(), "numbered", 10, 100)
		check.That(t, deleted == want.deleted && errors.Is(err, want.err),
			"%d deleted, error %v; want %d, %v", deleted, err, want.deleted, want.err)
	}
}

// newBehind is a bench of which reads that are not strong show what stood there before; only some
// of them, where only is not nil.
func newBehind(t *testing.T, options cursor.Options, only func(ddb.Request) bool) *bench {
	t.Helper()
	b := newBench(t, nil)
	b.engine = ddbtest.NewStale(b.tables, only)
	b.sorter = b.process(options)
	return b
}

// TestGapsShowsWhatWasJustParked: a producer whose message was parked sees its gap.
func TestGapsShowsWhatWasJustParked(t *testing.T) {
	b := newBehind(t, cursor.Options{}, nil)
	b.put(body(3))
	list, err := b.sorter.Gaps(t.Context(), "q", 1)
	check.That(t, err == nil && len(list.Gaps) == 1 && list.Gaps[0].Missing.To == 2,
		"%+v, %v; want the gap before 3", list, err)
}

// TestWhatWasJustSkippedIsNotFilled: what another process has skipped is announced so.
func TestWhatWasJustSkippedIsNotFilled(t *testing.T) {
	s := cursor.DefaultSettings()
	s.Policy, s.GapAfter = cursor.PolicyAlert, time.Minute
	b := newBehind(t, cursor.Options{Defaults: &s}, func(r ddb.Request) bool {
		return r.Name() == "query messages"
	})
	b.sweep(cursor.SweepOptions{}) // the day's full round
	b.put(body(3))
	b.now = b.now.Add(time.Minute)
	b.announces("open", cursor.SweepOptions{}, "gap.opened/1/q/1 0→2")
	check.Get2(b.sorter.Steps().SkipGap(t.Context(), "q", "lost", time.Minute, 100, nil))
	b.announces("skipped", cursor.SweepOptions{}, "gap.skipped/1/q/1 0→2")
}

// TestArrivalsThatJustCameAreThere: nothing is missing, wherever their places stand.
func TestArrivalsThatJustCameAreThere(t *testing.T) {
	b := newBehind(t, cursor.Options{}, nil)
	b.fill("a", 100)
	head, found, err := b.sorter.Steps().Oldest(t.Context(), "q")
	check.That(t, err == nil && found && head.Seq == 1, "the oldest is %+v, %v, %v; want 1", head,
		found, err)
	for _, upTo := range []int64{100, 30} {
		kept, err := b.sorter.Steps().KeepBack(t.Context(), "q", 0, upTo)
		check.That(t, err == nil && kept.To == 0 && !kept.More, "back from %d: %+v, %v; want all", upTo,
			kept, err)
	}
}
