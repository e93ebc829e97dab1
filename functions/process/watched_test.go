package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// watching is an observer that logs calls about the queue "q", and its log.
func watching(t *testing.T) (*observer, *bytes.Buffer) {
	var logs bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&logs, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &observer{log: calllog.Log{Queue: "q", Until: time.Now().Add(time.Hour)}}, &logs
}

// TestAWatchedQueueIsLogged: what is delivered of the queue, and of no other.
func TestAWatchedQueueIsLogged(t *testing.T) {
	seen, logs := watching(t)
	seen.metrics.Store(emf.New(io.Discard, emf.Names{}).Begin())
	for _, queue := range []string{"q", "other"} {
		seen.delivery(delivery.Delivery{Queue: queue, Consumer: "billing", Batches: 1, Messages: 3})
	}
	if text := logs.String(); !strings.Contains(text, `"msg":"delivered","queue":"q","consumer":"billing"`) || !strings.Contains(text, `"messages":3`) || strings.Contains(text, "other") {
		t.Errorf("logged: %s", text)
	}
}

// TestSampledMessagesAreLogged: whose producer records their traces, in whatever queue they are;
// and all of a queue that is watched.
func TestSampledMessagesAreLogged(t *testing.T) {
	seen, logs := watching(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		queue, flags string
		messages     int
		want         []string
	}{
		{"other", "00", 3, nil},
		{"other", "01", 3, []string{`"queue":"other","consumer":"c","from":1,"to":3,`, `"claimedAt":"2026-01-02T03:04:05Z"`, `"committedAt":`, `"traces":["0af7651916cd43dd8448eb211c800000","0af7651916cd43dd8448eb211c800001","0af7651916cd43dd8448eb211c800002"]`}},
		{"other", "01", 100, []string{`0013"]`}},
		{"q", "00", 1, []string{`"queue":"q"`}},
	} {
		logs.Reset()
		b := delivery.Batch{Queue: c.queue, Consumer: "c", To: int64(c.messages), Attempt: 1}
		for i := range c.messages {
			b.Messages = append(b.Messages, cursor.Message{Trace: cursor.TraceOf(fmt.Sprintf("00-0af7651916cd43dd8448eb211c80%04x-b7ad6b7169203331-%s", i, c.flags), "")})
		}
		seen.handed(delivery.Handed{Batch: b, Claimed: at, Returned: at, Committed: at})
		text := logs.String()
		check.That(t, (c.want != nil || text == "") && len(text) <= 2000, "%+v: logged %s", c, text)
		for _, part := range c.want {
			check.That(t, strings.Contains(logs.String(), part), "no %s in %s", part, logs.String())
		}
	}
}
