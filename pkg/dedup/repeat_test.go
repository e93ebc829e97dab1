package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// random are bytes that cannot be compressed, enough for an item of their own.
func random(seed uint64) []byte {
	source := rand.NewChaCha8([32]byte{byte(seed)})
	made := make([]byte, 5000)
	_, _ = source.Read(made)
	return made
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
			value := random(1)
			for err := start.Attempt.Complete(t.Context(),
				value); err != nil; err = start.Attempt.Complete(t.Context(), random(2)) {
				isA[*dedup.NotRememberedError](t, err)
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
		err := ends(attempt)
		check.That(t, err == nil, "%s: %v", name, err)
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
