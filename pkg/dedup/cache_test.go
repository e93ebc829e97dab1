package dedup_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

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

// TestCacheAfterInvalidate: a call that was under way while this process
// invalidated the id does not bring the old result back into the cache.
func TestCacheAfterInvalidate(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		during  func(*dedup.Deduplicator[string, string]) error
	}{
		"a duplicate claims": {"claim", func(d *dedup.Deduplicator[string, string]) error {
			_, err := d.Once(context.Background(), "a", old)
			return err
		}},
		"an attempt completes": {"swap", func(d *dedup.Deduplicator[string, string]) error {
			start, err := d.TryStart(context.Background(), "a")
			if err != nil {
				return err
			}
			return start.Attempt.Complete(context.Background(), "old")
		}},
		"an effect completes": {"swap", func(d *dedup.Deduplicator[string, string]) error {
			_, err := d.Once(context.Background(), "a", old)
			return err
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

// TestCacheWhileInvalidating: a call that reads between the start of an
// invalidation and its write may have the old result, and does not keep it.
func TestCacheWhileInvalidating(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		d := process(t, on(t, h), &options{CacheSize: 10})
		check.Get(d.Once(t.Context(), "a", old))
		h.before = "swap"
		done := make(chan error)
		go func() {
			_, err := d.Invalidate(t.Context(), "a")
			done <- err
		}()
		<-h.answered
		out := check.Get(d.Once(t.Context(), "a", old))
		check.That(t, out.Replayed, "%+v", out)
		close(h.release)
		check.OK(t, <-done)
		var ran atomic.Int64
		check.Is(t, check.Get(d.Once(t.Context(), "a", returns("new", &ran))).Value, "new")
	})
}
