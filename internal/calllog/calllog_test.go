package calllog_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestSuccess: none, all, and about as many as the share says.
func TestSuccess(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	for share, want := range map[int][2]int{0: {0, 0}, 10: {500, 1500}, 100: {10_000, 10_000}} {
		out.Reset()
		for range 10_000 {
			calllog.Log{Successes: share}.Success(t.Context(), "status", 200)
		}
		n := strings.Count(out.String(), `"msg":"answered","status":200`)
		check.That(t, want[0] <= n && n <= want[1], "of 10,000 calls %d are logged by %d", n, share)
	}
}

// TestWatched: the watch ends by itself.
func TestWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := calllog.Log{Queue: "q", Until: time.Now().Add(10 * time.Minute)}
		for range 10 {
			check.Is(t, log.Watched(), "q")
			bubble.Sleep(time.Minute)
		}
		check.Is(t, log.Watched(), "", "when the time is over")
		check.Is(t, (calllog.Log{Queue: "q"}).Watched(), "", "without an end")
	})
}
