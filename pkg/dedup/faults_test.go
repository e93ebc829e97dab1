package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
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
	out, err := h.d.Once(t.Context(), "a", answers("value"))
	check.IsA[*dedup.NotRememberedError](t, err)
	check.Fails(t, err, dedup.ErrUnavailable)
	check.Is(t, out.Value, "value")
	h.table.Fail(3, ddbtest.Refused)
	done, err := dedup.Each(t.Context(), h.d, []string{"c"},
		func(s string) (string, error) { return s, nil },
		func(context.Context, string) (string, error) { return "value", nil })
	check.That(t, done == 1 && err == nil, "%d of a batch done, %v; want 1", done, err)
	attempt := check.Get(h.d.TryStart(t.Context(), "b")).Attempt
	h.table.Fail(1, ddbtest.Lost)
	check.IsA[*dedup.NotRememberedError](t, attempt.Complete(t.Context(), "value"))
	check.OK(t, attempt.Complete(t.Context(), "another"))
	check.Is(t, check.Get(h.d.Once(t.Context(), "b", never(t))).Value, "value")
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

// deaf is a table whose first swaps have no answer, after its effect or without one.
type deaf struct {
	*ddb.Memory
	before, after int
}

func (d *deaf) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if r.Name() == "swap" && d.before > 0 {
		d.before--
		return ddb.Answer{}, dedup.ErrUnavailable
	}
	a, err := d.Memory.Do(ctx, r)
	if r.Name() == "swap" && d.after > 0 {
		d.after--
		return ddb.Answer{}, dedup.ErrUnavailable
	}
	return a, err
}

// TestALateRepeatKeepsItsResult: where Complete is repeated long after the store failed, a result
// with an item of its own lives as long as its row.
func TestALateRepeatKeepsItsResult(t *testing.T) {
	for name, engine := range map[string]*deaf{
		"it was not stored":         {Memory: memory(), before: 1},
		"twice":                     {Memory: memory(), before: 2},
		"it was, without an answer": {Memory: memory(), after: 1},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			d := check.Get(dedup.New(on(t, engine), "p", &dedup.Options[string, []byte]{
				Lease: 20 * time.Hour, TTL: 10 * time.Hour, CompressOver: -1, Now: func() time.Time {
					return now
				},
			}))
			start := check.Get(d.TryStart(t.Context(), "x"))
			value, another := bytes.Repeat([]byte{1}, 5000), bytes.Repeat([]byte{2}, 5000)
			for err := start.Attempt.Complete(t.Context(),
				value); err != nil; err = start.Attempt.Complete(t.Context(), another) {
				check.IsA[*dedup.NotRememberedError](t, err)
				now = now.Add(2 * time.Hour)
			}
			entry := check.Get(d.Status(t.Context(), "x"))
			now = entry.Row.ValidUntil.Add(-time.Second)
			engine.Expire(now)
			again, err := d.TryStart(t.Context(), "x")
			check.That(t, err == nil && bytes.Equal(again.Duplicate.Value, value),
				"%v: not the first result, at the end of its row's time", err)
		})
	}
}

// TestNothingFollowsAFail: the id is given back, and another may have it.
func TestNothingFollowsAFail(t *testing.T) {
	d := check.Get(dedup.New[string, int](dedup.NewMemory(), "p", nil))
	start := check.Get(d.TryStart(t.Context(), "y", []byte("payload")))
	for range 2 {
		check.OK(t, start.Attempt.Fail(t.Context(), errors.New("no luck")))
	}
	check.Fails(t, start.Attempt.Complete(t.Context(), 1), dedup.ErrEnded)
	check.Fails(t, start.Attempt.Extend(t.Context(), time.Hour), dedup.ErrEnded)
	next, err := d.TryStart(t.Context(), "y", []byte("payload"))
	check.That(t, err == nil && next.Attempt != nil, "%v, %v; want another attempt", next, err)
}

// TestAnExtensionInDoubt: an attempt whose extension was stored without an answer goes on with its
// row as it stands, in each way.
func TestAnExtensionInDoubt(t *testing.T) {
	for name, ends := range map[string]func(*dedup.Attempt[string, string]) error{
		"complete": func(a *dedup.Attempt[string, string]) error { return a.Complete(t.Context(), "x") },
		"fail":     func(a *dedup.Attempt[string, string]) error { return a.Fail(t.Context(), errDown) },
		"extend":   func(a *dedup.Attempt[string, string]) error { return a.Extend(t.Context(), 3*time.Hour) },
	} {
		d := process(t, on(t, &deaf{Memory: memory(), after: 1}), nil)
		attempt := check.Get(d.TryStart(t.Context(), "a")).Attempt
		check.Fails(t, attempt.Extend(t.Context(), 2*time.Hour), dedup.ErrUnavailable)
		check.Is(t, ends(attempt), nil, name)
	}
}

// behind is a Deduplicator on tables of which reads that are not strong show what stood there
// before; only some of them, where only is not nil.
func behind(t *testing.T, opts *options,
	only func(ddb.Request) bool) (*dedup.Deduplicator[string, string], dedup.Store) {
	t.Helper()
	store := on(t, ddbtest.NewStale(memory(), only))
	return check.Get(dedup.New[string, string](store, "p", opts)), store
}

func answers(value string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, nil }
}

// TestAResultThatWasJustStored: a process that learns that an id is completed finds its result.
func TestAResultThatWasJustStored(t *testing.T) {
	d, _ := behind(t, nil, func(r ddb.Request) bool { return r.Name() == "get result" })
	want := incompressible(10_000)
	for range 2 {
		out, err := d.Once(t.Context(), "a", answers(want))
		check.That(t, err == nil && out.Value == want, "%.20q, %v; want the result", out.Value, err)
	}
}

// TestAResultThatWasJustForgotten: a look may show an id as completed that was another process
// invalidated a moment ago, and whose result is gone. That is no loss: the effect runs.
func TestAResultThatWasJustForgotten(t *testing.T) {
	other, store := behind(t, nil, func(r ddb.Request) bool { return r.Name() == "read" })
	d := check.Get(dedup.New[string, string](store, "p", nil))
	check.Get(other.Once(t.Context(), "a", answers(incompressible(10_000))))
	row := check.Get(other.Status(t.Context(), "a")).Row
	check.Get(other.Invalidate(t.Context(), "a"))
	check.OK(t, store.PutResult(t.Context(),
		dedup.StoredResult{Key: row.Key, Token: row.Token, ExpiresOn: row.ExpiresOn}))
	if out, err := d.Once(t.Context(), "a", answers("anew")); err != nil || out.Value != "anew" {
		t.Errorf("%.20q, %v; want the effect to run anew", out.Value, err)
	}
}

// held is a table of which one request waits, after it was answered or before.
type held struct {
	ddb.Engine
	after, before string
	answered      chan struct{}
	release       chan struct{}
}

func newHeld() *held {
	return &held{Engine: memory(), answered: make(chan struct{}), release: make(chan struct{})}
}

// hold waits where this request is the one to wait.
func (h *held) hold(which *string, r ddb.Request) {
	if *which == r.Name() {
		*which = ""
		close(h.answered)
		<-h.release
	}
}

func (h *held) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	h.hold(&h.before, r)
	defer h.hold(&h.after, r)
	return h.Engine.Do(ctx, r)
}

// TestCacheAfterInvalidate: a call that was under way while this process invalidated the id does
// not bring the old result back into the cache.
func TestCacheAfterInvalidate(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		during  func(*dedup.Deduplicator[string, string]) error
	}{
		"a duplicate claims": {"claim", func(d *dedup.Deduplicator[string, string]) error {
			return check.Err(d.Once(context.Background(), "a", old))
		}},
		"an attempt completes": {"swap", func(d *dedup.Deduplicator[string, string]) error {
			start, err := d.TryStart(context.Background(), "a")
			if err != nil {
				return err
			}
			return start.Attempt.Complete(context.Background(), "old")
		}},
		"an effect completes": {"swap", func(d *dedup.Deduplicator[string, string]) error {
			return check.Err(d.Once(context.Background(), "a", old))
		}},
	} {
		for _, others := range []int{1, 2000} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHeld()
					if c.request == "claim" {
						check.Get(process(t, on(t, h), nil).Once(t.Context(), "a", old))
					}
					d := process(t, on(t, h), &options{CacheSize: 10})
					if c.request == "claim" {
						meetsNew(t, d)
					}
					h.after = c.request
					done := make(chan error)
					go func() { done <- c.during(d) }()
					<-h.answered
					check.That(t, check.Get(d.Invalidate(t.Context(), "a")), "nothing was invalidated")
					// More than there is room for, or not.
					for i := range others {
						other := time.Duration(i).String()
						check.Get(d.Once(t.Context(), other, old))
						check.Get(d.Invalidate(t.Context(), other))
					}
					close(h.release)
					check.OK(t, <-done)
					var ran atomic.Int64
					out := check.Get(d.Once(t.Context(), "a", returns("new", &ran)))
					check.That(t, out.Value == "new" && ran.Load() == 1,
						"%+v: the old result is in the cache", out)
				})
			})
		}
	}
}

func old(context.Context) (string, error) { return "old", nil }
