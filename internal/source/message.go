package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/xray"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Messages are the messages that a record makes, received at a time: one, or where the source has
// each, one of each element. The error is an [invalid.Error] that names the field; it stays the
// same however often the record comes.
func (s *Source) Messages(r *Record, at time.Time) ([]cursor.Message, error) {
	carried, _ := r.parts[s.kind.body].([]byte)
	events, err := s.Mapping.Split(&mapping.Event{Document: carried, Fields: r.parts, Received: at})
	if err != nil {
		return nil, err
	}
	messages, trace := make([]cursor.Message, len(events)), traceOf(r.Raw)
	for i, e := range events {
		if messages[i], err = s.Message(e); err != nil {
			return nil, err
		}
		messages[i].Trace = trace
		if err := messages[i].Validate(); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// Name is the record as an answer to AWS names it, for people.
func (r *Record) Name() string {
	switch {
	case r.item.id != "":
		return r.item.id
	case r.item.group != "":
		return fmt.Sprintf("%s@%d", r.item.group, r.item.offset)
	}
	id, _ := r.parts["id"].(string)
	of, _ := r.parts["messageId"].(string)
	return cmp.Or(id, of)
}

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
