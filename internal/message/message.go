// Package message is messages in JSON documents, as callers and consumers see them. [New] writes
// one, [Document.Message] reads it, and [Read] reads one that is put.
package message

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Document is a message in a JSON document. A JSON body stands there as it came, any other one in
// base64; a tombstone has none.
type Document struct {
	// The message's place in its queue.
	Seq jsonseq.Seq `json:"seq"`
	// The message's key, in a keyed queue: a number; a text; a time in UTC as RFC 3339 has it; or,
	// of several parts, a list, in which a rank is a number from 0.
	Key json.RawMessage `json:"key,omitempty"`
	// It stands behind greater keys, for it came too late.
	Late bool `json:"late,omitempty"`
	// It stands behind another message than the one that it was said to follow.
	Unlinked bool `json:"unlinked,omitempty"`
	// As it was put, if it was.
	ID string `json:"id,omitempty"`
	// A JSON body, byte for byte as it was put.
	Body json.RawMessage `json:"body,omitempty"`
	// Any other body, and JSON that would not come out byte for byte: with white space, or nested
	// deeply.
	BodyBase64 *string `json:"bodyBase64,omitempty"`
	// The media type of the body.
	ContentType string `json:"contentType,omitempty"`
	// As they were put, if they were.
	Attributes map[string]string `json:"attributes,omitempty"`
	// The trace context that it came with, if it did, as the W3C's Trace Context has it.
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
	// When it was stored.
	EnqueuedAt time.Time `json:"enqueuedAt,omitzero"`
	// Why the seq was given up: it is no message.
	Tombstone string `json:"tombstone,omitempty"`
	// The token of the message's work, of a tracked consumer alone.
	Edge string `json:"edge,omitempty"`
}

// maxDepth is how deep a body may be nested that stands in a document as it is. JSON readers have
// bounds of their own, Go's at 10,000 levels with those around the body; a deeper one travels in
// base64, which nobody has to look into.
const maxDepth = 1000

// New writes a message. The document that it becomes a part of must be written with
// [strictjson.Marshal], or the body may change.
func New(m cursor.Message) Document {
	written := Document{
		Seq: jsonseq.Seq(m.Seq), ID: m.ID, Attributes: m.Attributes, EnqueuedAt: m.EnqueuedAt,
		Tombstone:   m.Tombstone,
		Traceparent: m.Trace.Parent, Tracestate: m.Trace.State,
	}
	if m.Key != "" {
		written.Key, written.Late, written.Unlinked = m.Key.JSON(), m.Late, m.Unlinked
	}
	if m.Tombstone != "" {
		return written
	}
	written.ContentType = cmp.Or(m.ContentType, cursor.DefaultContentType)
	// The encoder takes the white space out of a raw value, and so changes it; only one that comes
	// out as it is may stand there.
	if strictjson.IsJSON(written.ContentType) && depth(m.Body) <= maxDepth && unchanged(m.Body) {
		written.Body = m.Body
		return written
	}
	written.BodyBase64 = new(base64.StdEncoding.EncodeToString(m.Body))
	return written
}

// Message reads what [New] wrote, but for the queue, and what only a keyed queue's message has.
func (d Document) Message() (m cursor.Message, err error) {
	m = cursor.Message{
		Seq: int64(d.Seq), ID: d.ID, Body: d.Body, ContentType: d.ContentType, Attributes: d.Attributes,
		Trace:      cursor.Trace{Parent: d.Traceparent, State: d.Tracestate},
		EnqueuedAt: d.EnqueuedAt, Tombstone: d.Tombstone,
	}
	if d.BodyBase64 != nil {
		m.Body, err = base64.StdEncoding.DecodeString(*d.BodyBase64)
	}
	return m, err
}

// MaxAnswer is how many bytes the messages of an answer take at most, as [Document.Size] counts
// them: with what is around them they stay below the 6 MB (6,291,456 bytes) of a Lambda function's
// answer. Each message alone fits, whatever is in it: an item of DynamoDB has at most 400 KB.
const MaxAnswer = 6_000_000

// Size is how many bytes a message takes in the answer to an HTTP request: its document is JSON
// within a string of JSON, where each quotation mark and backslash is two bytes.
func (d Document) Size() int {
	document, err := strictjson.Marshal(d)
	if err != nil {
		return MaxAnswer // it is in no document; the writer of the answer says so
	}
	text, err := strictjson.Marshal(string(document))
	if err != nil {
		return MaxAnswer
	}
	return len(text)
}

func depth(value []byte) int {
	deepest, now, inText := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}

func unchanged(body []byte) bool {
	if !json.Valid(body) || !utf8.Valid(body) {
		return false
	}
	written, err := strictjson.Marshal(json.RawMessage(body))
	return err == nil && string(written) == string(body)
}
