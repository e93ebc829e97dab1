package dedup_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// TestEventsLogAndSpans: those of a key's whole life.
func TestEventsLogAndSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var observed, spans []string
		var log bytes.Buffer
		o := &options{
			Lease: time.Second, MaxAttempts: 2, Wait: 300 * time.Millisecond,
			Random: func() float64 { return 0 },
			Observe: func(_ context.Context, e dedup.Event) {
				observed = append(observed, fmt.Sprintf("%s %d", e.Kind, e.Attempt))
			},
			Trace: func(ctx context.Context, operation string, k dedup.Key) (context.Context, func(error)) {
				spans = append(spans, operation+" "+k.ID)
				return ctx, func(err error) {
					spans = append(spans, fmt.Sprintf("end of %s: %v", operation, err != nil))
				}
			},
			Logger: slog.New(slog.NewTextHandler(&log,
				&slog.HandlerOptions{Level: slog.LevelDebug,
					ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
						if a.Key == slog.TimeKey {
							return slog.Attr{}
						}
						return a
					}})),
		}
		store := dedup.NewMemory()
		d := process(t, store, o)
		expect := func(what string, want ...string) {
			t.Helper()
			check.Is(t, cmp.Diff(want, observed), "", what)
			observed = nil
		}
		var ran atomic.Int64
		_, _ = d.Once(t.Context(), "a", returns("x", &ran))
		expect("new", "new 1", "completed 1")
		_, _ = d.Once(t.Context(), "a", returns("x", &ran))
		expect("duplicate", "duplicate 1")
		_, _ = d.Invalidate(t.Context(), "a")
		expect("invalidate", "invalidated 1")
		_, _ = d.Once(t.Context(), "b", failsWith(errDown))
		expect("fails", "new 1", "failed 1")
		zombie := check.Get(d.TryStart(t.Context(), "b")).Attempt
		expect("taken over", "taken over 2", "new 2")
		_, err := process(t, store, o).Once(t.Context(), "b", never(t))
		check.IsA[*dedup.StillRunningError](t, err)
		expect("held", "looked 2", "looked 2", "still running 2")
		bubble.Sleep(time.Minute)
		_, _ = d.Once(t.Context(), "b", never(t))
		expect("quarantined", "quarantined 2")
		_, _ = d.Release(t.Context(), "b", dedup.Audit{By: "ada", Reason: "fixed"})
		expect("released", "released 0")
		_ = zombie.Complete(t.Context(), "x")
		expect("lost", "lost 2")

		want := []string{"once a", "end of once: false"}
		check.That(t, cmp.Equal(spans[:2], want), "spans %q, want %q first", spans, want)
		for _, want := range []string{"try_start b", "invalidate a", "poll b", "end of poll: true",
			"end of try_start: false"} {
			check.That(t, strings.Contains(strings.Join(spans, "\n"), want), "no span %q in %q", want, spans)
		}
		for _, want := range []string{
			"level=DEBUG msg=once id=a processor=payments",
			"level=INFO msg=new id=a processor=payments attempt=1",
			"level=INFO msg=completed id=a processor=payments attempt=1",
			"level=INFO msg=duplicate id=a",
			"level=INFO msg=invalidated id=a",
			"level=WARN msg=failed id=b processor=payments attempt=1 error=down",
			`level=WARN msg="taken over" id=b`,
			"level=DEBUG msg=looked id=b",
			`level=WARN msg="still running" id=b`,
			"level=WARN msg=quarantined id=b",
			"level=WARN msg=released id=b processor=payments attempt=0 by=ada reason=fixed",
			"level=WARN msg=lost id=b",
		} {
			check.That(t, strings.Contains(log.String(), want), "not logged: %s", want)
		}
		if t.Failed() {
			t.Log(log.String())
		}
		check.That(t, !strings.Contains(log.String(), `"x"`), "a result went to the log")
	})
}

// TestTraceWithoutEnd: a trace may have no end.
func TestTraceWithoutEnd(t *testing.T) {
	d := process(t, dedup.NewMemory(), &options{
		Trace: func(ctx context.Context, _ string, _ dedup.Key) (context.Context, func(error)) {
			return ctx, nil
		},
	})
	check.Is(t, check.Get(d.Once(t.Context(), "a", answers("x"))).Value, "x")
}
