package margin_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/margin"
)

func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ time, want time.Duration }{
			{time.Minute, 55 * time.Second}, {10 * time.Second, 8 * time.Second}, {-time.Second, -time.Second},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), c.time)
			kept, end := margin.Keep(ctx, 5*time.Second)
			if deadline, _ := kept.Deadline(); time.Until(deadline) > c.want {
				t.Errorf("of %v the work has %v, want %v", c.time, time.Until(deadline), c.want)
			}
			end()
			cancel()
		}
		kept, end := margin.Keep(t.Context(), time.Second)
		if _, ends := kept.Deadline(); ends || kept.Err() != nil {
			t.Error("what has no end got one")
		}
		end()
	})
}

func TestHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		goOn := margin.Half(ctx)
		bubble.Sleep(29 * time.Second)
		if !goOn() {
			t.Error("it ends before half of the time")
		}
		bubble.Sleep(2 * time.Second)
		if goOn() || !margin.Half(t.Context())() {
			t.Error("it goes on after half of the time, or ends where there is no end")
		}
	})
}
