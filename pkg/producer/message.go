package producer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Message is one message for a queue. With a Seq it is for a numbered queue, or for exactly that
// seq of one in arrival order, with a Key for a keyed one, without both for one in arrival order.
type Message struct {
	// Queue is the queue's name: 1 to 1,024 bytes of UTF-8.
	Queue string
	// Seq is the message's place in its queue, 0 or more: new(int64(7)). Kind is arrival where the
	// first message makes a queue in arrival order: see the package's comment.
	Seq  *int64
	Kind string
	// Key is what a keyed queue sorts by, as JSON: a number, a text, or a list of up to three.
	// KeyType is the queue's, where the first message makes it. Prev is the id of the message that
	// should stand before this one.
	Key     json.RawMessage
	KeyType string
	Prev    string
	// ID is the producer's name for the message: at most 1,024 bytes of UTF-8. By it a repeat is
	// known in arrival order, where one is made if it is empty, and in a keyed queue, which needs
	// one.
	ID string
	// Body is delivered exactly as it came: at most 350 KB. It may be changed when Send has
	// returned.
	Body []byte
	// ContentType is the body's media type, at most 256 bytes. Where it is empty, it is
	// application/json for a body that is JSON, and application/octet-stream for another.
	ContentType string
	// Attributes are the sender's own: at most 16 KB in all.
	Attributes map[string]string
	// Traceparent and Tracestate are the trace that the message is of, as the W3C writes them;
	// empty where it is of none.
	Traceparent, Tracestate string
}

// check reports the first field that is out of its bounds, as an [invalid.Error]. What a key and
// its type may be, the API says.
func (m *Message) check() error {
	stored := cursor.Message{Queue: m.Queue, ID: m.ID, Body: m.Body, ContentType: m.ContentType,
		Attributes: m.Attributes}
	if m.Seq != nil {
		stored.Seq, stored.Kind = *m.Seq, cursor.Kind(m.Kind)
		if stored.Seq < 0 { // NoSeq, too: it is given
			_, err := cursor.ParseSeq(strconv.FormatInt(stored.Seq, 10))
			return err
		}
	}
	if err := stored.Validate(); err != nil {
		return err
	}
	if _, err := cursor.ParseTrace(m.Traceparent, m.Tracestate); err != nil {
		return err
	}
	switch {
	case m.Kind != "" && m.Seq == nil:
		return invalid.New(invalid.Misplaced, "kind", "must not be given without a seq")
	case m.Key != nil && m.Seq != nil:
		return invalid.New(invalid.Clash, "key", "must not be given beside seq: a numbered queue sorts by seqs, a keyed one by keys")
	case m.Key == nil && m.KeyType != "":
		return invalid.New(invalid.Misplaced, "keyType", "must not be given without a key")
	case m.Key == nil && m.Prev != "":
		return invalid.New(invalid.Misplaced, "prev", "must not be given without a key")
	case m.Key == nil:
		return nil
	case m.ID == "":
		return invalid.New(invalid.Missing, "id",
			"is missing: a message of a keyed queue is known by its key and its id")
	case len(m.Key) > maxKey:
		return &invalid.Error{Field: "key", Code: invalid.TooLarge,
			Problem: fmt.Sprintf("has %d bytes: at most %d are taken", len(m.Key), maxKey),
			Size:    len(m.Key), Most: maxKey}
	case !json.Valid(m.Key) || !utf8.Valid(m.Key):
		return invalid.New(invalid.Malformed, "key",
			"is not JSON: it must be a number, a text, or a list of such")
	case !utf8.ValidString(m.KeyType) || !utf8.ValidString(m.Prev):
		return invalid.New(invalid.Malformed, "key", "has a type or a prev that is not valid UTF-8")
	case len(m.KeyType) > cursor.MaxID || len(m.Prev) > cursor.MaxID:
		return invalid.New(invalid.TooLarge, "key",
			fmt.Sprintf("has a type or a prev of more than %d bytes", cursor.MaxID))
	}
	return nil
}

// maxKey bounds a key as JSON, in bytes: more than any key type takes.
const maxKey = 8 << 10

// arrives reports whether the message is for a queue in arrival order.
func (m *Message) arrives() bool { return m.Seq == nil && m.Key == nil }

// maxDepth is how deep a body may be nested that stands in the document as it is: readers of JSON
// have bounds. A deeper one travels in base64.
const maxDepth = 1000

// appendTo appends the message's document, as docs/openapi.yaml describes it. made is the id that
// is made for it where it needs one: a prefix, and a number.
func (m *Message) appendTo(to []byte, prefix string, number uint64) []byte {
	to = appendText(append(to, `{"queue":`...), m.Queue)
	if m.Seq != nil {
		// Beyond 2^53 it is a text, which every reader of JSON takes exactly.
		quote := `"`
		if *m.Seq <= 1<<53 {
			quote = ""
		}
		to = append(append(to, `,"seq":`...), quote...)
		to = append(strconv.AppendInt(to, *m.Seq, 10), quote...)
		to = appendMember(to, "kind", m.Kind)
	}
	if m.Key != nil {
		to = append(append(to, `,"key":`...), m.Key...)
		to = appendMember(to, "keyType", m.KeyType)
		to = appendMember(to, "prev", m.Prev)
	}
	if m.ID == "" && m.arrives() {
		to = append(append(to, `,"id":"`...), prefix...)
		to = append(strconv.AppendUint(append(to, '-'), number, 36), '"')
	}
	to = appendMember(to, "id", m.ID)
	to = appendMember(to, "contentType", m.ContentType)
	to = appendMember(to, "traceparent", m.Traceparent)
	to = appendMember(to, "tracestate", m.Tracestate)
	if len(m.Attributes) > 0 {
		separator := `,"attributes":{`
		for name, value := range m.Attributes {
			to = append(appendText(append(to, separator...), name), ':')
			to = appendText(to, value)
			separator = ","
		}
		to = append(to, '}')
	}
	if m.asJSON() {
		to = append(append(to, `,"body":`...), m.Body...)
		return append(to, '}')
	}
	to = base64.StdEncoding.AppendEncode(append(to, `,"bodyBase64":"`...), m.Body)
	return append(to, `"}`...)
}

// asJSON reports whether the body stands in the document as it is.
func (m *Message) asJSON() bool {
	last := len(m.Body) - 1
	// The first byte shows most of what is no JSON, which costs nothing.
	return last >= 0 && (m.ContentType == "" || strictjson.IsJSON(m.ContentType)) &&
		strings.IndexByte(`{["-0123456789tfn`, m.Body[0]) >= 0 && !isSpace(m.Body[last]) &&
		json.Valid(m.Body) && utf8.Valid(m.Body) &&
		(last < 2*maxDepth || bytes.Count(m.Body, []byte{'['})+
			bytes.Count(m.Body, []byte{'{'}) <= maxDepth)
}

// isSpace reports whether JSON has the byte between its values, where it would not be kept.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// appendMember appends a member with a text, unless that is empty.
func appendMember(to []byte, name, text string) []byte {
	if text == "" {
		return to
	}
	to = append(append(append(to, `,"`...), name...), `":`...)
	return appendText(to, text)
}

// appendText appends a text, which is valid UTF-8, as JSON.
func appendText(to []byte, text string) []byte {
	to = append(to, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c < ' ':
			const hex = "0123456789abcdef"
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}
