package httpsink_test

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestAnEndpointDefersItsBatch: by a header beside 2xx, where the batch is one request.
func TestAnEndpointDefersItsBatch(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		header, mode string
		ended        delivery.Outcome
		cause        string
	}{
		"a message":               {202, "Streamsort-Defer-Seconds: 900", "", delivery.Deferred, ""},
		"a batch":                 {200, "Streamsort-Defer-Seconds: 2592000", `,"mode":"batch"`, delivery.Deferred, ""},
		"not deferred":            {202, "", "", delivery.Empty, ""},
		"refused":                 {400, "Streamsort-Defer-Seconds: 900", "", delivery.Wait, "answered 400"},
		"too short":               {202, "Streamsort-Defer-Seconds: 0", "", delivery.Wait, "defer is 0s: it must be from 1s to 720h0m0s"},
		"too long":                {202, "Streamsort-Defer-Seconds: 2592001", "", delivery.Wait, "defer is 720h0m1s: it must be from 1s to 720h0m0s"},
		"no number":               {202, "Streamsort-Defer-Seconds: soon", "", delivery.Wait, `for "soon": it must be a whole number of seconds`},
		"no whole number":         {202, "Streamsort-Defer-Seconds: 1.5", "", delivery.Wait, `for "1.5": it must be a whole number of seconds`},
		"far too long":            {202, "Streamsort-Defer-Seconds: 99999999999999999999", "", delivery.Wait, "it must be a whole number of seconds"},
		"one of several requests": {202, "Streamsort-Defer-Seconds: 900", "several", delivery.Wait, "to one of 2 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, says(c.status, c.header, ""))
			to := e.open(t, strings.TrimPrefix(c.mode, "several"))
			messages := 1
			if c.mode != "" {
				messages = 2
			}
			sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
			for seq := range messages {
				check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: int64(seq) + 1, Body: []byte("1")})[0].Err)
			}
			d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
			done := d.Deliver(t.Context(), "q", delivery.Reader{Name: "c", Handle: to.Send}, -1)
			check.That(t, done.Err == nil && done.Outcome == c.ended && (c.cause == "" || strings.Contains(done.Cause.Error(), c.cause)),
				"it ended as %s (%v, %v), want %s, %s", done.Outcome, done.Cause, done.Err, c.ended, c.cause)
			check.That(t, len(e.asked) == 1, "%d requests, want 1", len(e.asked))
		})
	}
}
