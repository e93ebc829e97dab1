package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// hurt is a process on a new table, of which a request can go wrong, and a clock that it sets.
type hurt struct {
	*testing.T
	table *ddbtest.Faults
	now   time.Time
	d     *dedup.Deduplicator[string, string]
	// ran is how often the effect ran, done the values that were returned without an error.
	ran  int
	done map[string]bool
}

func newHurt(t *testing.T) *hurt {
	t.Helper()
	h := &hurt{T: t, table: ddbtest.NewFaults(memory()), done: map[string]bool{},
		now: time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)}
	h.d = h.on(on(t, h.table))
	return h
}

func (h *hurt) on(store dedup.Store) *dedup.Deduplicator[string, string] {
	return process(h, store, &options{
		Lease: time.Minute, Wait: dedup.NoWait, MaxAttempts: 9, CompressOver: -1,
		Now: func() time.Time { return h.now },
	})
}

// once calls Once with an effect that returns a new value each time, padded to a size.
func (h *hurt) once(size int) error {
	out, err := h.d.Once(h.Context(), "a", func(context.Context) (string, error) {
		h.ran++
		return incompressible(size) + string(rune('0'+h.ran)), nil
	})
	if err == nil {
		h.done[out.Value] = true
	}
	return err
}

// TestNothingFollowsAFailInDoubt: a fail whose response is lost may have taken the payload away. If
// the attempt could go on, its result would be remembered for any payload.
func TestNothingFollowsAFailInDoubt(t *testing.T) {
	h := newHurt(t)
	attempt := check.Get(h.d.TryStart(h.Context(), "a", []byte("payload"))).Attempt
	h.table.Fail(1, ddbtest.Lost)
	check.Fails(t, attempt.Fail(h.Context(), errDown), dedup.ErrUnavailable)
	check.Fails(t, attempt.Extend(h.Context(), time.Hour), dedup.ErrEnded)
	check.Fails(t, attempt.Complete(h.Context(), "x"), dedup.ErrEnded)
	check.OK(t, attempt.Fail(h.Context(), errDown))
	check.Is(t, check.Get(h.d.Status(h.Context(), "a")).Status, dedup.Failed)
}

// TestTheSDKRepeats: with its repeats on, a lost response is not heard of, and no caller waits for
// its own claim.
func TestTheSDKRepeats(t *testing.T) { ddbtest.EachServer(t, testTheSDKRepeats) }

func testTheSDKRepeats(t *testing.T, kind ddbtest.Kind) {
	for request := 1; request <= 3; request++ {
		h, network, names := newHurt(t), faulty.New(dynamo.Transport()),
			dedup.Names{Table: "processes" + ddbtest.Suffix()}
		ddbtest.Open(t, kind, names.Tables()...)
		client := check.Get(dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, kind),
			Transport: network, MaxAttempts: 3}))
		h.d = h.on(check.Get(dedup.NewDynamo(client, names)))
		network.Fail(request, faulty.Lost)
		if err := h.once(5); err != nil || h.ran != 1 || network.Pending() {
			t.Errorf("request %d: %v, ran %d times", request, err, h.ran)
		}
		if err := h.once(5); err != nil || h.ran != 1 || len(h.done) != 1 {
			t.Errorf("again: %v, ran %d times, %d values", err, h.ran, len(h.done))
		}
	}
}

// TestNotRemembered: an effect that ran and could not be stored says so, with its value.
func TestNotRemembered(t *testing.T) {
	h := newHurt(t)
	h.table.Fail(3, ddbtest.Refused)
	out, err := h.d.Once(t.Context(), "a", func(context.Context) (string, error) {
		return "value", nil
	})
	if isA[*dedup.NotRememberedError](t, err); out.Value != "value" ||
		!errors.Is(err, dedup.ErrUnavailable) {
		t.Errorf("%+v, %v", out, err)
	}
	h.table.Fail(3, ddbtest.Refused)
	done, err := dedup.Each(t.Context(), h.d, []string{"c"}, func(s string) (string, error) {
		return s, nil
	},
		func(context.Context, string) (string, error) { return "value", nil })
	check.That(t, done == 1 && err == nil, "%d of a batch done, %v; want 1", done, err)
	attempt := check.Get(h.d.TryStart(t.Context(), "b")).Attempt
	h.table.Fail(1, ddbtest.Lost)
	isA[*dedup.NotRememberedError](t, attempt.Complete(t.Context(), "value"))
	check.OK(t, attempt.Complete(t.Context(), "another"))
	check.Is(t, check.Get(h.d.Once(t.Context(), "b", never(t))).Value, "value")
}

// foreign are errors of another Deduplicator, as an effect returns them that uses one.
func foreign() map[string]error {
	key := dedup.Key{ID: "elsewhere", Processor: "other"}
	errs := map[string]error{
		"not remembered": &dedup.NotRememberedError{Key: key, Err: dedup.ErrThrottled},
		"invalid result": &dedup.InvalidError{Field: "result", Problem: "cannot be encoded"},
		"invalid id":     &dedup.InvalidError{Field: "id", Problem: "must not be empty"},
		"still running":  &dedup.StillRunningError{Key: key, Until: time.Now().Add(time.Hour)},
		"another's":      &dedup.PayloadMismatchError{Key: key},
		"quarantined":    &dedup.QuarantinedError{Key: key, Attempts: 3},
		"lost":           &dedup.LostError{Key: key, Attempt: 1},
		"remembered":     &dedup.RememberedError{Key: key, Message: "no such account"},
		"throttled":      dedup.ErrThrottled,
		"no time":        dedup.ErrNoTime,
		"ended":          dedup.ErrEnded,
	}
	all := maps.Clone(errs)
	for name, err := range errs {
		all[name+", wrapped"] = fmt.Errorf("charge: %w", err)
	}
	return all
}

// TestErrorsOfAnotherDeduplicator: an effect that uses one and returns its error has failed, and
// nothing is taken for an error of this one.
func TestErrorsOfAnotherDeduplicator(t *testing.T) {
	for name, foreign := range foreign() {
		t.Run(name, func(t *testing.T) {
			d := process(t, dedup.NewMemory(), nil)
			identity := func(s string) (string, error) { return s, nil }
			fails := func(context.Context, string) (string, error) { return "not mine", foreign }
			for range 2 {
				done, err := dedup.Each(t.Context(), d, []string{"a"}, identity, fails)
				check.That(t, done == 0 && errors.Is(err, foreign), "Each: %d done, %v", done, err)
			}
			out, err := d.Once(t.Context(), "c", failsWith(foreign))
			check.That(t, out.Attempt == 0 && errors.Is(err, foreign), "Once: %+v, %v", out, err)
		})
	}
}

// TestNoTime: half a second and the shortest lease must be left, also for a duplicate, unless a
// look finds it; not where the lease is set.
func TestNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		var ran atomic.Int64
		for _, c := range []struct {
			options options
			met     bool
			left    time.Duration
			want    error
		}{
			{options{}, false, 509 * time.Millisecond, dedup.ErrNoTime},
			{options{}, false, 510 * time.Millisecond, nil},
			{options{}, true, 509 * time.Millisecond, dedup.ErrNoTime},
			{options{}, false, 100 * time.Millisecond, nil},
			{options{Lease: time.Minute}, true, 100 * time.Millisecond, nil},
		} {
			d := process(t, store, &c.options)
			if c.met {
				meetsNew(t, d)
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.left)
			check.Fails(t, check.Err(d.Once(ctx, "a", returns("x", &ran))), c.want, c.left, c.want)
			cancel()
		}
		check.That(t, ran.Load() == 1, "ran %d times", ran.Load())
	})
}
