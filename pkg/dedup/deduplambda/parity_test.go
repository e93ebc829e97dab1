package deduplambda_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduplambda"
)

// The cases that Powertools for AWS Lambda runs end to end for its idempotency utility. Each is a
// handler as lambda.Start would run it, in processes of their own on one table.

// functions returns a way to invoke a function in a fresh process, and counts how often its effect
// runs.
func functions(t *testing.T, o options, h *deduplambda.HandlerOptions[payment], takes time.Duration) (func(context.Context, payment) (string, error), *atomic.Int64) {
	store, ran := dedup.NewMemory(), &atomic.Int64{}
	key := check.Get(deduplambda.Field[payment]("id"))
	return func(ctx context.Context, event payment) (string, error) {
		d := process(t, store, &o)
		return deduplambda.Handler(d, key, func(ctx context.Context, p payment) (string, error) {
			n := ran.Add(1)
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			return fmt.Sprintf("run %d for %d", n, p.Amount), nil
		}, h)(ctx, event)
	}, ran
}

func TestParity(t *testing.T) {
	event := payment{ID: "a", Amount: 1}
	invoked := func(t *testing.T, got string, err error, want string) {
		t.Helper()
		check.That(t, err == nil && got == want, "%q, %v; want %q", got, err, want)
	}
	for name, test := range map[string]func(*testing.T){
		"an id that has expired runs again": func(t *testing.T) {
			invoke, _ := functions(t, options{TTL: 5 * time.Second}, nil, 0)
			for _, want := range []string{"run 1 for 1", "run 1 for 1"} {
				got, err := invoke(t.Context(), event)
				invoked(t, got, err, want)
			}
			bubble.Sleep(5 * time.Second)
			got, err := invoke(t.Context(), event)
			invoked(t, got, err, "run 2 for 1")
		},
		"a function that timed out runs again": func(t *testing.T) {
			invoke, ran := functions(t, options{Lease: 2 * time.Second}, nil, 3*time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			check.That(t, check.Err(invoke(ctx, event)) != nil, "it timed out, and there is no error")
			// The process ended by its deadline, and gave the key back.
			if _, err := invoke(t.Context(), event); err == nil || ran.Load() != 2 {
				t.Errorf("%v after %d runs; want its lease to end the second one", err, ran.Load())
			}
		},
		"parallel invocations run once": func(t *testing.T) {
			invoke, ran := functions(t, options{}, nil, 3*time.Second)
			var wait sync.WaitGroup
			for range 10 {
				wait.Go(func() {
					got, err := invoke(t.Context(), event)
					invoked(t, got, err, "run 1 for 1")
				})
			}
			wait.Wait()
			check.That(t, ran.Load() == 1, "ran %d times", ran.Load())
		},
		"parallel invocations that do not wait get an error": func(t *testing.T) {
			invoke, ran := functions(t, options{Wait: dedup.NoWait}, nil, 3*time.Second)
			go func() { _, _ = invoke(t.Context(), event) }()
			synctest.Wait()
			_, err := invoke(t.Context(), event)
			if isA[*dedup.StillRunningError](t, err); ran.Load() != 1 {
				t.Errorf("ran %d times", ran.Load())
			}
			bubble.Sleep(time.Minute)
		},
		"a missing key is refused": func(t *testing.T) {
			invoke, ran := functions(t, options{}, nil, 0)
			_, err := invoke(t.Context(), payment{Amount: 1})
			if isA[*dedup.InvalidError](t, err); ran.Load() != 0 {
				t.Errorf("ran %d times", ran.Load())
			}
		},
		"a missing key runs unprotected where that is asked for": func(t *testing.T) {
			invoke, _ := functions(t, options{}, &deduplambda.HandlerOptions[payment]{MissingKey: deduplambda.RunUnprotected}, 0)
			for _, want := range []string{"run 1 for 1", "run 2 for 1"} {
				got, err := invoke(t.Context(), payment{Amount: 1})
				invoked(t, got, err, want)
			}
		},
		"a payload that was tampered with is refused": func(t *testing.T) {
			payload := check.Get(deduplambda.Fields[payment]("amount"))
			invoke, _ := functions(t, options{}, &deduplambda.HandlerOptions[payment]{Payload: payload}, 0)
			got, err := invoke(t.Context(), event)
			invoked(t, got, err, "run 1 for 1")
			_, err = invoke(t.Context(), payment{ID: "a", Amount: 1000})
			isA[*dedup.PayloadMismatchError](t, err)
			got, err = invoke(t.Context(), payment{ID: "a", Amount: 1, Note: "no part of it"})
			invoked(t, got, err, "run 1 for 1")
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
