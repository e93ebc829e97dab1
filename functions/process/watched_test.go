package main

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// TestAWatchedQueueIsLogged: what is delivered of the queue, and of no other.
func TestAWatchedQueueIsLogged(t *testing.T) {
	var logs bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&logs, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	seen := &observer{emitter: emf.New(io.Discard, emf.Names{}), log: calllog.Log{Queue: "q", Until: time.Now().Add(time.Hour)}}
	seen.begin()
	for _, queue := range []string{"q", "other"} {
		seen.delivery(handoff.Delivery{Queue: queue, Consumer: "billing", Batches: 1, Messages: 3})
	}
	if text := logs.String(); !strings.Contains(text, `"msg":"delivered","queue":"q","consumer":"billing"`) || !strings.Contains(text, `"messages":3`) || strings.Contains(text, "other") {
		t.Errorf("logged: %s", text)
	}
}
