package view

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// Message is a message as people see it: all but what was asked for its work.
type Message struct {
	Seq             jsonseq.Seq
	ID, ContentType printable.Name
	Key             json.RawMessage
	// Body is a JSON body; BodyBase64 any other one, and one whose white space is kept.
	Body                    json.RawMessage
	BodyBase64, Tombstone   string
	Late, Unlinked          bool
	Attributes              map[printable.Name]printable.Name
	Traceparent, Tracestate string
	EnqueuedAt              time.Time
}

// Text is a body for people: JSON, also where its white space has it come in base64, or another
// text; empty where it is neither.
func (m Message) Text() string {
	if len(m.Body) > 0 {
		return string(m.Body)
	}
	text, err := base64.StdEncoding.DecodeString(m.BodyBase64)
	odd := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }
	if err != nil || !utf8.Valid(text) || strings.ContainsFunc(string(text), odd) {
		return ""
	}
	return string(text)
}
