package source

import (
	"encoding/json"
	"strings"

	"github.com/streamsort/streamsort/internal/xray"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// traced is where records have a trace context: the message attributes of SQS and SNS, SQS's own
// attribute of X-Ray, Kafka's headers, whose bytes are numbers, and the detail of an event as our
// own sink writes it.
type traced struct {
	MessageAttributes map[string]struct{ StringValue, Value string }
	Attributes        struct{ AWSTraceHeader string }
	Headers           []map[string][]int16
	Detail            struct{ Traceparent, Tracestate string }
}

// traceOf is the trace context that a record came with: none where none is right, since no record
// is refused for it.
func traceOf(raw json.RawMessage) cursor.Trace {
	var r traced
	_ = json.Unmarshal(raw, &r) // what has other types is passed over
	parent, state := r.Detail.Traceparent, r.Detail.Tracestate
	for name, value := range r.MessageAttributes {
		switch strings.ToLower(name) {
		case "traceparent":
			parent = value.StringValue + value.Value
		case "tracestate":
			state = value.StringValue + value.Value
		}
	}
	for _, header := range r.Headers {
		for name, value := range header {
			switch strings.ToLower(name) {
			case "traceparent":
				parent = textOf(value)
			case "tracestate":
				state = textOf(value)
			}
		}
	}
	if t := cursor.TraceOf(parent, state); t.Parent != "" {
		return t
	}
	return xray.Trace(r.Attributes.AWSTraceHeader)
}

// textOf is the text of bytes, of which Lambda has those over 127 as negative numbers.
func textOf(bytes []int16) string {
	text := make([]byte, len(bytes))
	for i, b := range bytes {
		text[i] = byte(b)
	}
	return string(text)
}
