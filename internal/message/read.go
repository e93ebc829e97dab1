package message

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// put is a message's document as a caller writes it.
type put struct {
	Queue       string            `json:"queue" required:"true"`
	Seq         seq               `json:"seq"`
	First       *first            `json:"first"`
	Key         key               `json:"key"`
	KeyType     keyType           `json:"keyType"`
	Kind        string            `json:"kind" one:"arrival"`
	Prev        string            `json:"prev"`
	ID          string            `json:"id"`
	Body        json.RawMessage   `json:"body"`
	BodyBase64  data              `json:"bodyBase64"`
	ContentType string            `json:"contentType"`
	Attributes  map[string]string `json:"attributes"`
	Traceparent string            `json:"traceparent"`
	Tracestate  string            `json:"tracestate"`
	Given       strictjson.Given
}

type (
	seq     int64
	first   int64
	key     []any
	keyType sortkey.KeyType
	data    []byte
)

func (s *seq) UnmarshalJSON(raw []byte) error {
	n, err := jsonseq.Read(raw)
	if *s = seq(n); string(raw) == "null" {
		return errors.New(err.Error() + " (leave it out for a queue in arrival order, or a keyed one)")
	}
	return err
}

// UnmarshalJSON implements json.Unmarshaler: it reads a seq, or "here".
func (f *first) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if strictjson.First(raw) == '"' {
		var err error
		if text, err = strictjson.Text(raw); err != nil {
			return err
		}
	}
	at, err := jsonseq.First(text)
	if err != nil {
		return invalid.Named("", err)
	}
	*f = first(*at)
	return nil
}

func (k *key) UnmarshalJSON(raw []byte) error {
	parts, err := sortkey.KeyParts(raw)
	if *k = parts; err != nil {
		return invalid.Named("", err)
	}
	return nil
}

func (k *keyType) UnmarshalText(text []byte) error {
	parsed, err := sortkey.ParseKeyType(string(text))
	*k = keyType(parsed)
	return err
}

func (d *data) UnmarshalText(text []byte) (err error) {
	if *d, err = base64.StdEncoding.DecodeString(string(text)); err != nil {
		return errors.New("is not base64: " + err.Error())
	}
	return nil
}

// Read reads a message's document. The error is an [invalid.Error].
func Read(members []strictjson.Member) (m cursor.Message, err error) {
	var p put
	if err := strictjson.DecodeMembers(members, &p); err != nil {
		return m, err
	}
	m = cursor.Message{
		Queue: p.Queue, Seq: int64(p.Seq), First: (*int64)(p.First), ID: p.ID, Body: p.Body,
		ContentType: p.ContentType, Attributes: p.Attributes, Kind: cursor.Kind(p.Kind),
		KeyParts: p.Key, KeyType: sortkey.KeyType(p.KeyType), Prev: p.Prev,
	}
	if !p.Given["seq"] {
		m.Seq = cursor.NoSeq
	}
	if p.Given["bodyBase64"] {
		if m.Body = p.BodyBase64; !p.Given["contentType"] {
			m.ContentType = "application/octet-stream"
		}
	}
	m.Trace, err = cursor.ParseTrace(p.Traceparent, p.Tracestate)
	return m, err
}

// Check is called by the decoder: it reports which members do not belong together.
func (p *put) Check() error {
	given := p.Given
	switch {
	case given["key"] && given["seq"]:
		return invalid.New(invalid.Clash, "key", "must not be given beside seq: a numbered queue sorts by seqs, a keyed one by keys")
	case given["first"] && !given["seq"]:
		return invalid.New(invalid.Misplaced, "first", "must not be given without a seq")
	case given["keyType"] && !given["key"]:
		return invalid.New(invalid.Misplaced, "keyType", "must not be given without a key")
	case given["prev"] && !given["key"]:
		return invalid.New(invalid.Misplaced, "prev", "must not be given without a key")
	case given["kind"] && given["key"]:
		return invalid.New(invalid.Clash, "kind",
			"must not be given beside a key: that of a first message makes a keyed queue")
	case given["body"] && given["bodyBase64"]:
		return invalid.New(invalid.Clash, "body",
			"must be given, or bodyBase64 instead, and not both")
	case !given["body"] && !given["bodyBase64"]:
		return invalid.New(invalid.Missing, "body",
			"must be given, or bodyBase64 instead, and not both")
	case given["traceparent"] && p.Traceparent == "":
		return invalid.New(invalid.Malformed, "traceparent",
			"is empty: leave it out")
	}
	return nil
}
