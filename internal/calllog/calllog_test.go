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
		if n := strings.Count(out.String(), `"msg":"answered","status":200`); n < want[0] || n > want[1] {
			t.Errorf("of 10,000 calls %d were logged with a share of %d", n, share)
		}
	}
}

// TestWatched: the watch ends by itself.
func TestWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := calllog.Log{Queue: "q", Until: time.Now().Add(10 * time.Minute)}
		for range 10 {
			if log.Watched() != "q" || (calllog.Log{Queue: "q"}).Watched() != "" {
				t.Fatal("not watched, or without an end")
			}
			bubble.Sleep(time.Minute)
		}
		if log.Watched() != "" {
			t.Error("still watched when the time is over")
		}
	})
}
