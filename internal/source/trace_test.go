package source

import (
	"encoding/json"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestTraces: each kind's place of a trace context; a malformed one is no trace.
func TestTraces(t *testing.T) {
	const parent, xray = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	var bytes []int16
	for _, b := range []byte(parent) {
		bytes = append(bytes, int16(b))
	}
	header := check.Get(json.Marshal(bytes))
	both := cursor.Trace{Parent: parent, State: "a=1"}
	for raw, want := range map[string]cursor.Trace{
		`{"messageAttributes":{"traceparent":{"stringValue":"` + parent + `","stringListValues":[],"dataType":"String"},"tracestate":{"stringValue":"a=1"}},"attributes":{"AWSTraceHeader":"` + xray + `"}}`: both,
		`{"messageAttributes":{},"attributes":{"AWSTraceHeader":"` + xray + `","SentTimestamp":"1"}}`:                                                                                                        {Parent: "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"},
		`{"Type":"Notification","MessageAttributes":{"traceparent":{"Type":"String","Value":"` + parent + `"},"tracestate":{"Type":"String","Value":"a=1"}}}`:                                                both,
		`{"topic":"t","headers":[{"x":[118,-36,0]},{"traceparent":` + string(header) + `},{"tracestate":[97,61,49]}]}`:                                                                                       both,
		`{"detail-type":"x","detail":{"traceparent":"` + parent + `","tracestate":"a=1"}}`:                                                                                                                   both,
		`{"detail":[1],"messageAttributes":"none","headers":{}}`:                                                                                                                                             {},
		`{"messageAttributes":{"traceparent":{"stringValue":"00-x"}},"attributes":{"AWSTraceHeader":"Root=1"}}`:                                                                                              {},
		`1`: {},
	} {
		check.Is(t, traceOf(json.RawMessage(raw)), want, raw)
	}
}
