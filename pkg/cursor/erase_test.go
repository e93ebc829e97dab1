package cursor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// refuses checks that an error says that the queue was erased.
func refusesErased(t testing.TB, what string, err error) {
	t.Helper()
	check.Fails(t, err, cursor.ErrErased, what)
	refuses(t, what, err, "queue")
}

func (b *bench) erase(queue string) cursor.Cursor {
	b.t.Helper()
	return check.Get(b.sorter.Erase(b.t.Context(), queue, "op"))
}

// holds are how many items there are of a queue, but for its cursor.
func (b *bench) holds(what, queue string, messages, arrivals int) {
	b.t.Helper()
	got := check.Get(b.sorter.Steps().Remaining(b.t.Context(), queue))
	same(b.t, what, got, cursor.Remains{Messages: messages, Arrivals: arrivals})
}

// TestErasedTakesNothing: every request is refused, with and without a memory of the queue.
func TestErasedTakesNothing(t *testing.T) {
	b := newBench(t, nil)
	check.Fails(t, check.Err(b.sorter.Erase(t.Context(), "q", "op")), cursor.ErrNoQueue)
	warm, cold := b.process(cursor.Options{}), b.process(cursor.Options{})
	in := func(id string) request {
		r := arrival(id)
		r.Queue = "a"
		return r
	}
	for _, s := range []*cursor.Sorter{b.sorter, warm} {
		check.OK(t, s.Put(t.Context(), body(1), body(2), body(4))[0].Err)
		check.Get(appendTo(t.Context(), s, in("1")))
	}
	staged := check.Get(warm.Steps().Stage(t.Context(), cursor.KindArrival, in("staged").put()...))
	c := b.erase("q")
	check.That(t, c.Erased() && c.Erasure.Last == 2 && c.Erasure.Op == "op", "%+v", c)
	b.erase("a")
	for name, s := range map[string]*cursor.Sorter{"warm": warm, "cold": cold,
		"the eraser's": b.sorter} {
		for _, seq := range []int64{3, 4, 5, 9} { // moves, repeats, parks, parks
			r := s.Put(t.Context(), body(seq))[0]
			refusesErased(t, name+": put", r.Err)
			check.That(t, r.Outcome == "", "%s: %d is %s", name, seq, r.Outcome)
		}
		for what, err := range map[string]error{
			"append":       check.Err(appendTo(t.Context(), s, in(name))),
			"append again": check.Err(appendTo(t.Context(), s, in("1"))),
			"status":       check.Err(s.Status(t.Context(), "q")),
			"configure":    check.Err(s.Configure(t.Context(), "q", cursor.Change{})),
			"skip":         check.Err(s.Skip(t.Context(), "q", 3, "why")),
			"known":        check.Err(s.Settings(t.Context(), "q")),
			"recheck":      check.Err(s.Steps().Recheck(t.Context(), "q")),
		} {
			refusesErased(t, name+": "+what, err)
		}
	}
	refusesErased(t, "place", warm.Steps().Place(t.Context(), staged[0]).Err)
	refusesErased(t, "stage",
		check.Err(cold.Steps().Stage(t.Context(), cursor.KindArrival, in("new").put()...)))
	c, err := cold.Steps().ErasureOf(t.Context(), "q")
	check.That(t, err == nil && c.Erased(), "%+v, %v", c, err)
}

// TestErasing: everything goes, also what is stored late, and a stub stays.
func TestErasing(t *testing.T) {
	b := newBench(t, nil)
	ctx := t.Context()
	stays := cursor.Message{Queue: "q 2", Seq: 1, Body: []byte("1")}
	b.puts(1, 60)
	b.put(stays)
	b.holds("before", "q", 60, 0)
	late := b.process(cursor.Options{})
	check.OK(t, late.Put(ctx, body(60))[0].Err)
	c := b.erase("q")
	b.now = b.now.Add(time.Minute)
	same(t, "deleted", check.Get(b.sorter.Steps().EraseMore(ctx, c, nil)),
		cursor.Remains{Messages: 60})
	b.holds("after", "q", 0, 0)
	b.holds("another", "q 2", 1, 0)
	// Nothing is left, and it is too early to say that nothing comes.
	b.sweep(cursor.SweepOptions{})
	if c, _ = b.sorter.Steps().ErasureOf(ctx, "q"); !c.Erasure.Emptied.IsZero() {
		t.Errorf("%+v: it is said to be empty before the grace is over", c)
	}
	refusesErased(t, "late", late.Put(ctx, body(61))[0].Err)
	refusesErased(t, "a seq that was passed, not stale", late.Put(ctx, body(1))[0].Err)
	b.holds("left behind by who was late", "q", 1, 0)
	b.now = b.now.Add(cursor.EraseGrace)
	report, _ := b.sweep(cursor.SweepOptions{})
	same(t, "erased by the sweep", report.Erased, 1)
	b.holds("after the grace", "q", 0, 0)
	c = check.Get(b.sorter.Steps().ErasureOf(ctx, "q"))
	same(t, "empty since", c.Erasure.Emptied, b.now)
	for _, it := range b.tables.Items("streamsort-cursors") {
		if it.Get("queue").Str() == "q" {
			same(t, "stub", it.String(), `{change:other emptied:1778054949000 eraseOp:op erased:1778051289000 first:1 lastSeq:60 queue:q v:1}`)
		}
	}
	b.want("another queue", b.put(cursor.Message{Queue: "q 2", Seq: 2}), "advanced 1→2")
}

// TestErasingAQueueInArrivalOrder: arrivals, with a place and without, and order items go.
func TestErasingAQueueInArrivalOrder(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 60)
	check.Get(b.sorter.Steps().Stage(t.Context(), cursor.KindArrival, arrival("staged").put()...))
	b.holds("before", "q", 2, 61) // two order items
	c := b.erase("q")
	same(t, "last", c.Erasure.Last, 60)
	deleted := check.Get(b.sorter.Steps().EraseMore(t.Context(), c, nil))
	same(t, "deleted", deleted, cursor.Remains{Messages: 2, Arrivals: 61})
	b.holds("after", "q", 0, 0)
}

// TestErasingGoesOn: a run whose time is up, or that is throttled, leaves the rest to the next.
func TestErasingGoesOn(t *testing.T) {
	b := newBench(t, nil)
	b.puts(1, 600)
	c := b.erase("q")
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	deleted, err := b.sorter.Steps().EraseMore(over, c, nil)
	check.OK(t, err)
	same(t, "no time", deleted, cursor.Remains{More: true})

	// Each request leaves one item undone, and then all.
	all := false
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		write, ok := r.(ddb.BatchWrite)
		if !ok {
			return b.tables.Do(ctx, r)
		}
		keys := write.Deletes
		if all {
			return ddb.Answer{Left: keys}, nil
		}
		write.Deletes = keys[1:]
		a := ddb.Answer{}
		if len(write.Deletes) > 0 {
			_, err = b.tables.Do(ctx, write)
		}
		a.Left = keys[:1]
		return a, err
	})
	deleted, err = b.process(cursor.Options{}).Steps().EraseMore(t.Context(), c, nil)
	check.That(t, errors.Is(err, cursor.ErrThrottled) && deleted.Messages == 599 && deleted.More,
		"%+v, %v; want all but the last one deleted, which never is", deleted, err)
	b.holds("after it", "q", 1, 0)
	all = true
	check.Fails(t, check.Err(b.process(cursor.Options{}).Steps().EraseMore(t.Context(), c, nil)),
		cursor.ErrThrottled)
	deleted = check.Get(b.sorter.Steps().EraseMore(t.Context(), c, nil))
	same(t, "in the end", deleted, cursor.Remains{Messages: 1})
}

// TestErasingWaitsForOthers: a queue of which others have something is not empty.
func TestErasingWaitsForOthers(t *testing.T) {
	b := newBench(t, nil)
	b.put(body(1))
	b.erase("q")
	b.now = b.now.Add(cursor.EraseGrace)
	left, failed := true, errors.New("no answer")
	erase := func(_ context.Context, c cursor.Cursor) (bool, error) {
		check.That(t, c.Queue == "q", "asked for %s", c.Queue)
		return left, failed
	}
	check.Fails(t, check.Err(b.sorter.Sweep(t.Context(), cursor.SweepOptions{Erase: erase})), failed)
	b.holds("others failed", "q", 0, 0)
	for _, left = range []bool{true, false} {
		failed = nil
		b.sweep(cursor.SweepOptions{Erase: erase})
		c := check.Get(b.sorter.Steps().ErasureOf(t.Context(), "q"))
		check.Is(t, c.Erasure.Emptied.IsZero(), left, "others left something", c.Erasure)
	}
	b.holds("after", "q", 0, 0)
}

// TestLateWritesToAnErasedQueue: what is stored by who has slept since before the queue was erased
// is deleted by the stream's handler, and by the full round of the sweep.
func TestLateWritesToAnErasedQueue(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Mode = cursor.ModeAsync }))
	b.put(body(1))
	first := arrival("first")
	first.Queue = "a"
	b.append(first)
	asleep := b.process(cursor.Options{Defaults: &cursor.Settings{First: 1, Policy: cursor.PolicyWait,
		GapAfter: time.Minute, MaxAhead: 9, Mode: cursor.ModeAsync}})
	check.OK(t, asleep.Put(t.Context(), body(2))[0].Err)
	for _, queue := range []string{"q", "a"} {
		b.erase(queue)
	}
	b.now = b.now.Add(cursor.EraseGrace)
	b.sweep(cursor.SweepOptions{})
	b.holds("empty", "q", 0, 0)

	// Nothing of the Sorter's keeps a request back that was sent long ago.
	for _, seq := range []int64{3, 7} {
		m := body(seq)
		m.Digest, m.Op = []byte("0123456789abcdef"), []byte("12345678")
		check.Get(b.memory.Inside().PutMessage(t.Context(), m))
	}
	check.Get(b.memory.Inside().PutArrival(t.Context(), wholeArrival("a", "late", 0)))
	b.holds("late", "q", 2, 0)
	handle := cursor.OnMessages(b.sorter, cursor.Names{}, nil)
	response, err := handle(t.Context(), event(t, stored(1, "q", 3), stored(2, "q", 3)))
	check.That(t, err == nil && len(response.BatchItemFailures) == 0, "%+v, %v", response, err)
	b.holds("after the record", "q", 1, 0)
	b.now = b.now.Add(24 * time.Hour)
	report, _ := b.sweep(cursor.SweepOptions{})
	check.That(t, report.Erased == 2 && report.Failed == 0, "%+v", report)
	b.holds("after the sweep", "q", 0, 0)
	b.holds("arrivals after the sweep", "a", 0, 0)
}
