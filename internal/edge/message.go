package edge

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Message is a message in a JSON document, as callers and consumers see it. A
// JSON body stands there as it came, any other one in base64; a tombstone has
// none.
type Message struct {
	Seq         jsonseq.Seq       `json:"seq"`
	ID          string            `json:"id,omitempty"`
	Body        json.RawMessage   `json:"body,omitempty"`
	BodyBase64  *string           `json:"bodyBase64,omitempty"`
	ContentType string            `json:"contentType,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	EnqueuedAt  time.Time         `json:"enqueuedAt"`
	Tombstone   string            `json:"tombstone,omitempty"`
}

// NewMessage writes a message. The document that it becomes a part of must be
// written with [Marshal], or the body may change.
func NewMessage(m cursor.Message) Message {
	written := Message{
		Seq: jsonseq.Seq(m.Seq), ID: m.ID, Attributes: m.Attributes, EnqueuedAt: m.EnqueuedAt, Tombstone: m.Tombstone,
	}
	if m.Tombstone != "" {
		return written
	}
	written.ContentType = m.ContentType
	if written.ContentType == "" {
		written.ContentType = cursor.DefaultContentType
	}
	// The encoder takes the white space out of a raw value, and so changes it;
	// only one that comes out as it is may stand there.
	if IsJSON(written.ContentType) && unchanged(m.Body) {
		written.Body = m.Body
		return written
	}
	text := base64.StdEncoding.EncodeToString(m.Body)
	written.BodyBase64 = &text
	return written
}

func unchanged(body []byte) bool {
	if !json.Valid(body) {
		return false
	}
	written, err := Marshal(json.RawMessage(body))
	return err == nil && string(written) == string(body)
}
