package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func TestHandleSaysWhatCameAndNotWhatWasInIt(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	defer slog.SetDefault(before)
	batch := delivery.Batch{Queue: "q", Token: delivery.Token{N: 7, Req: "r"}, From: 0, To: 2,
		Messages: []cursor.Message{{Seq: 1, ID: "a", Body: []byte("canary")}}, Skipped: []int64{2}}
	check.OK(t, handle(t.Context(), batch))
	for _, part := range []string{`"queue":"q"`, `"from":0`, `"to":2`, `"seq":1`, `"id":"a"`,
		`"sha256":"`, `"skipped":[2]`, `"token":7`} {
		check.That(t, strings.Contains(log.String(), part), "no %s in %s", part, &log)
	}
	check.That(t, !strings.Contains(log.String(), "canary") && strings.Count(log.String(), "\n") == 1,
		"the log is %s, want one line without the payload", &log)
}
