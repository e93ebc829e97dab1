package httpsink_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestTraceHeaders: a single message's trace is that of its request.
func TestTraceHeaders(t *testing.T) {
	e := newEndpoint(t, nil)
	b := sinktest.Batch("q", "1", "2")
	b.Messages[0].Trace = cursor.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1"}
	check.OK(t, e.open(t, "").Send(t.Context(), b))
	first, second := e.asked[0], e.asked[1]
	check.That(t, first.Get("Traceparent") == b.Messages[0].Trace.Parent && first.Get("Tracestate") == "a=1" && second.Get("Traceparent")+second.Get("Tracestate") == "",
		"asked %+v", e.asked)
}

// TestCloudEvents: CloudEvents' own SDK reads what comes, one by one and in batches.
func TestCloudEvents(t *testing.T) {
	e := newEndpoint(t, nil)
	b := sinktest.Batch("q", `{"n": 1}`, strings.Repeat("x", 500), strings.Repeat("y", 500))
	for mode, want := range map[string]struct {
		contentType string
		requests    int
	}{"single": {"application/cloudevents+json", 3}, "batch": {"application/cloudevents-batch+json", 2}} {
		e.asked = nil
		to := e.open(t, `,"format":"cloudevents","maxBytes":1500,"mode":"`+mode+`"`)
		check.OK(t, to.Send(t.Context(), b))
		var ids, bodies string
		for _, r := range e.asked {
			body := r.body
			if mode == "single" {
				body = "[" + body + "]"
			}
			var events []event.Event
			if err := json.Unmarshal([]byte(body), &events); err != nil || len(r.body) > 1500 {
				t.Fatalf("%s: %v", body, err)
			}
			for _, it := range events {
				check.OK(t, it.Validate())
				ids, bodies = ids+it.ID(), bodies+string(it.Data())
			}
			check.That(t, r.Get("Content-Type") == want.contentType && r.Get("Streamsort-Queue") == "q",
				"%+v", r.Header)
		}
		check.That(t, len(e.asked) == want.requests && ids == "123" && bodies == `{"n": 1}`+strings.Repeat("x", 500)+strings.Repeat("y", 500),
			"%s: %d requests of %s", mode, len(e.asked), ids)
		if err := e.open(t, `,"format":"cloudevents","maxBytes":1024,"mode":"`+mode+`"`).Send(t.Context(), sinktest.Batch("q", strings.Repeat("x", 1000))); err == nil {
			t.Errorf("%s: one that is too large was sent", mode)
		}
	}
	if _, err := settings(`{"url":"https://example.com/","format":"xml"}`); err == nil || !strings.HasPrefix(err.Error(), `format must be cloudevents: it is "xml"`) {
		t.Errorf("another format: %v", err)
	}
}
