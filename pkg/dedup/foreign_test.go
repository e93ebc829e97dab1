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
	"github.com/streamsort/streamsort/pkg/dedup"
)

// foreign are errors of another Deduplicator, as an effect returns them that
// uses one.
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

// TestErrorsOfAnotherDeduplicator: an effect that uses one and returns its error
// has failed, and nothing is taken for an error of this one.
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

// TestErrorsOfTheHook, which may use a Deduplicator as well.
func TestErrorsOfTheHook(t *testing.T) {
	for name, foreign := range foreign() {
		t.Run(name, func(t *testing.T) {
			hook := func(_ context.Context, out dedup.Outcome[string]) (dedup.Outcome[string], error) { return out, foreign }
			d := process(t, dedup.NewMemory(), &options{OnReplay: hook})
			var ran atomic.Int64
			check.Get(d.Once(t.Context(), "a", returns("x", &ran)))
			out, err := d.Once(t.Context(), "a", never(t))
			check.That(t, out.Attempt == 0 && out.Replayed && errors.Is(err, foreign), "%+v, %v", out, err)
		})
	}
}

// TestForeignErrorIsNotShared: those who wait in the process for an effect that
// fails run it themselves, whatever it fails with.
func TestForeignErrorIsNotShared(t *testing.T) {
	for name, foreign := range foreign() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := process(t, dedup.NewMemory(), nil)
				release := make(chan struct{})
				go func() {
					_, _ = d.Once(t.Context(), "a", func(context.Context) (string, error) { <-release; return "", foreign })
				}()
				synctest.Wait()
				answers := make(chan error, 1)
				go func() {
					_, err := d.Once(t.Context(), "a", func(context.Context) (string, error) { return "mine", nil })
					answers <- err
				}()
				synctest.Wait()
				close(release)
				err := <-answers
				check.That(t, err == nil, "the one who waited: %v", err)
			})
		})
	}
}

// full is an overflow store that fails with an error of its own.
type full struct{ err error }

func (f full) Put(context.Context, string, []byte) error { return f.err }

func (f full) Get(context.Context, string) ([]byte, error) { return nil, f.err }

// TestOverflowObjectThatIsGone: calls fail and nothing runs, until the id is
// invalidated.
func TestOverflowObjectThatIsGone(t *testing.T) {
	store, gone := dedup.NewMemory(), errors.New("no such key")
	o := &options{CompressOver: -1, Overflow: bucket{}}
	large := func(context.Context) (string, error) { return incompressible(500 << 10), nil }
	check.Get(process(t, store, o).Once(t.Context(), "a", large))
	d := process(t, store, &options{Overflow: full{gone}})
	for range 2 {
		check.Fails(t, check.Err(d.Once(t.Context(), "a", never(t))), gone)
	}
	check.That(t, check.Get(d.Invalidate(t.Context(), "a")), "not invalidated")
	var ran atomic.Int64
	out := check.Get(d.Once(t.Context(), "a", returns("small", &ran)))
	check.That(t, out.Value == "small" && !out.Replayed, "%+v", out)
}

// TestNoTime: half a second and the shortest lease must be left, also for a
// duplicate, unless a look finds it; not where the lease is set.
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
		if ran.Load() != 1 {
			t.Errorf("ran %d times", ran.Load())
		}
	})
}

// TestErrorsOfTheOverflowStore: a result that could not be put there is not
// remembered.
func TestErrorsOfTheOverflowStore(t *testing.T) {
	for name, foreign := range foreign() {
		t.Run(name, func(t *testing.T) {
			store := dedup.NewMemory()
			d := process(t, store, &options{CompressOver: -1, Overflow: full{foreign}})
			large := func(context.Context) (string, error) { return incompressible(500 << 10), nil }
			_, err := d.Once(t.Context(), "a", large)
			isA[*dedup.NotRememberedError](t, err)
			check.Is(t, check.Get(d.Status(t.Context(), "a")).Status, dedup.Running)
		})
	}
}
