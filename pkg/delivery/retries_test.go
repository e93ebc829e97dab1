package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func TestReaderRefuses(t *testing.T) {
	second := []time.Duration{time.Second}
	for _, c := range []struct {
		field string
		r     delivery.Reader
	}{
		{"retries[0]", delivery.Reader{Retries: []time.Duration{time.Millisecond}}},
		{"retries[1]", delivery.Reader{Retries: []time.Duration{time.Second, 61 * time.Minute}}},
		{"blockAfter", delivery.Reader{BlockAfter: time.Millisecond}},
		{"blockAfter", delivery.Reader{BlockAfter: 31 * 24 * time.Hour}},
		{"retries", delivery.Reader{Retries: slices.Repeat(second, 11)}},
	} {
		c.r.Name = "c"
		invalid(t, c.r.Validate(), c.field)
	}
	good := delivery.Reader{Name: "c", Retries: slices.Repeat(second, 10)}
	check.OK(t, good.Validate())
}

// TestRetriesAreASetting: a batch that fails is tried again by the reader's schedule, the last time
// of which comes again and again.
func TestRetriesAreASetting(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	k.poison(1, errNo)
	r := k.reader()
	r.MaxAttempts, r.Retries = 9, []time.Duration{2 * time.Second, 30 * time.Second}
	for _, want := range []time.Duration{2 * time.Second, 30 * time.Second, 30 * time.Second} {
		done := k.d.Deliver(t.Context(), "q", r, -1)
		k.must(done.Err)
		check.Is(t, done.Record.RetryAt.Sub(k.now), want)
		k.pass(want)
	}
}

// TestASinkThatIsAwayBlocksNothing: however often it is away, nothing is counted; the times between
// the tries grow all the same, and the batch comes again as it was.
func TestASinkThatIsAwayBlocksNothing(t *testing.T) {
	k := newDesk(t)
	k.put("q", upTo(1, 3)...)
	k.fails = func(delivery.Batch) error { return fmt.Errorf("call: %w", delivery.SinkAway(errNo)) }
	waits := []time.Duration{time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 5 * time.Minute}
	for i := range 20 {
		done := k.ends("q", endedFailed)
		want, got := waits[min(i, len(waits)-1)], done.Record.RetryAt.Sub(k.now)
		check.Is(t, got, want, i+1)
		k.gets("q 1,2,3 #1")
		k.pass(5 * time.Minute)
	}
	c := k.at("q", 0, delivery.Idle)
	check.That(t, c.Attempts == 0 && c.Away == 20 && c.Error == "call: no", "%+v; want no attempt", c)
	// What is the message's own counts as ever.
	k.poison(2, errNo)
	k.ends("q", endedFailed)
	c = k.at("q", 0, delivery.Idle)
	check.That(t, c.Attempts == 1 && c.Away == 0, "%+v; want one attempt", c)
	k.fails = nil
	k.pass(time.Second)
	k.ends("q", endedCaughtUp)
	check.That(t, delivery.SinkAway(nil) == nil, "no error became one")
}

// TestNotBefore: a sink is not tried again before it asks to be, an hour at most, and no sooner
// than the schedule says; what else the error says counts as ever.
func TestNotBefore(t *testing.T) {
	for name, c := range map[string]struct {
		asks, want time.Duration
		away       bool
	}{
		"later than the schedule":  {90 * time.Second, 90 * time.Second, false},
		"sooner than the schedule": {time.Millisecond, time.Second, false},
		"in the past":              {-time.Hour, time.Second, false},
		"far ahead":                {48 * time.Hour, time.Hour, false},
		"it is away":               {90 * time.Second, 90 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.put("q", 1)
			k.fails = func(delivery.Batch) error {
				err := delivery.NotBefore(errNo, k.now.Add(c.asks))
				if c.away {
					err = delivery.SinkAway(err)
				}
				return err
			}
			done := k.ends("q", endedFailed)
			check.Is(t, done.Record.RetryAt.Sub(k.now), c.want)
			attempts := map[bool]int{false: 1, true: 0}[c.away]
			check.That(t, done.Record.Attempts == attempts && done.Record.Error == "no", "%+v", done.Record)
			k.got = nil
			k.pass(c.want - time.Millisecond)
			k.ends("q", endedWait)
			k.fails = nil
			k.pass(time.Millisecond)
			k.ends("q", endedCaughtUp)
		})
	}
	k := newDesk(t)
	k.put("q", 1)
	k.fails = func(delivery.Batch) error { return delivery.Permanent(delivery.NotBefore(errNo, k.now.Add(time.Hour))) }
	k.ends("q", endedBlocked)
	check.That(t, delivery.NotBefore(nil, k.now) == nil, "no error became one")
}

// TestAPartIsDone: what is before the first failure is committed by the same write that gives the
// claim back; what is behind it comes again, as often as it may.
func TestAPartIsDone(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2, 3, 4, 5)
	var got []string
	r := k.reader()
	r.MaxMessages, r.BlockAfter = 4, time.Second
	r.Handle = func(_ context.Context, b delivery.Batch) error {
		got = append(got, fmt.Sprintf("%d-%d #%d", b.From+1, b.To, b.Attempt))
		if b.From < 3 && b.To >= 3 {
			return delivery.DoneUpTo(errors.New("no 3"), 2)
		}
		return nil
	}
	done := k.d.Deliver(t.Context(), "q", r, -1)
	c := k.standing("q")
	if ending(done) != endedFailed || done.Messages != 2 || c.Delivered != 2 || c.State != delivery.Idle || c.Attempts != 1 || c.Together != 1 || c.IsolateTo != 4 {
		t.Errorf("%+v", done)
	}
	for k.standing("q").State != delivery.Blocked {
		k.pass(time.Hour)
		k.d.Deliver(t.Context(), "q", r, -1)
	}
	check.Get(k.d.Operate(t.Context(), skips(orderOf("q"), 3)))
	check.Is(t, ending(k.d.Deliver(t.Context(), "q", r, -1)), endedCaughtUp)
	if len(got) < 3 || got[0] != "1-4 #1" || got[1] != "3-4 #2" || got[len(got)-1] != "5-5 #1" && got[len(got)-1] != "4-5 #1" {
		t.Errorf("it got %q", got)
	}
}

// TestTheAttemptGoesOnByHalves: no message comes under a lower attempt than before, nor one that
// was never tried under any but the first.
func TestTheAttemptGoesOnByHalves(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2, 3, 4, 5, 6, 7, 8)
	var got []string
	r := k.reader()
	r.MaxMessages, r.MaxAttempts = 4, 6
	fails := true
	r.Handle = func(_ context.Context, b delivery.Batch) error {
		got = append(got, fmt.Sprintf("%d-%d #%d", b.From+1, b.To, b.Attempt))
		if fails && b.From < 2 && b.To >= 2 {
			return errors.New("no 2")
		}
		return nil
	}
	for range 4 {
		k.d.Deliver(t.Context(), "q", r, -1)
		k.pass(time.Hour)
	}
	fails = false
	check.Is(t, ending(k.d.Deliver(t.Context(), "q", r, -1)), endedCaughtUp)
	want := []string{"1-4 #1", "1-4 #2", "1-2 #3", "1-1 #4", "2-2 #4", "2-2 #5", "3-6 #5", "7-8 #1"}
	check.That(t, slices.Equal(got, want), "it got %q, want %q", got, want)
}

// TestAPartThatCannotBeCommitted: a batch with replies is committed whole; and a seq must be in the
// batch.
func TestAPartThatCannotBeCommitted(t *testing.T) {
	for name, done := range map[string]func(b delivery.Batch) int64{
		"a reply":        func(b delivery.Batch) int64 { _ = b.Reply(delivery.Reply{Queue: "r", Body: []byte("x")}); return 2 },
		"all of it":      func(b delivery.Batch) int64 { return b.To },
		"more than all":  func(b delivery.Batch) int64 { return b.To + 1 },
		"none of it":     func(b delivery.Batch) int64 { return b.From },
		"less than none": func(b delivery.Batch) int64 { return b.From - 1 },
	} {
		k := newDesk(t)
		k.put("q", 1, 2, 3)
		r := k.reader()
		r.Handle = func(_ context.Context, b delivery.Batch) error { return delivery.DoneUpTo(errors.New("no"), done(b)) }
		if ended := k.d.Deliver(t.Context(), "q", r, -1); ending(ended) != endedFailed || ended.Messages != 0 || k.standing("q").Delivered != 0 {
			t.Errorf("%s: %+v", name, ended)
		}
	}
	check.That(t, delivery.DoneUpTo(nil, 1) == nil, "nothing failed, and that is an error")
}
