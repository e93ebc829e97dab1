package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Message is the message that a request brings, with its queue, its seq where
// the source is numbered, its key where it is keyed, and the sender's id. The request's signature must have
// been checked. The error names the field and its bound.
func (s *Source) Message(r *httpapi.Request) (cursor.Keyed, error) {
	m := cursor.Keyed{KeyType: s.KeyType, Message: cursor.Message{Body: r.Body, Trace: r.Trace()}}
	if len(r.Body) > s.MaxBody {
		return m, TooLarge(s.MaxBody)
	}
	var err error
	if m.ContentType, err = s.contentType(r); err != nil {
		return m, err
	}
	if m.Queue, err = s.queue(r); err != nil {
		return m, invalid.Named("queue", err)
	}
	if m.ID, err = s.id(r); err != nil {
		return m, invalid.Named("id", err)
	}
	if s.Numbered() {
		seq, err := s.Seq.Find(r.Body)
		if err == nil {
			m.Seq, err = jsonseq.Read(seq)
		}
		if err != nil {
			return m, invalid.Named("seq", err)
		}
	}
	if s.Keyed() {
		if m.Key, err = s.KeyPaths.Find(r.Body); err != nil {
			return m, invalid.Named("key", err)
		}
	}
	if m.Prev, err = message.Prev(s.Prev, r.Body); err != nil {
		return m, invalid.Named("prev", err)
	}
	for name, from := range s.Attributes {
		if value, ok := r.Headers[from]; ok {
			if m.Attributes == nil {
				m.Attributes = map[string]string{}
			}
			m.Attributes[name] = value
		}
	}
	return m, nil
}

// TooLarge is the error of a body that has more bytes than it may.
func TooLarge(most int) error {
	return &invalid.Error{Field: "body", Code: invalid.TooLarge, Problem: fmt.Sprintf("has more than %d bytes", most), Most: most}
}

// contentType is the body's, empty where it is that of a message that names
// none; a body that is JSON by it must be JSON.
func (s *Source) contentType(r *httpapi.Request) (string, error) {
	given := r.Headers["content-type"]
	if given != "" && !strictjson.IsJSON(given) {
		if s.Queue.Path != nil || s.ID.Path != nil || s.Numbered() || s.Keyed() {
			return "", httpapi.NotJSON()
		}
		return given, nil
	}
	switch {
	case !utf8.Valid(r.Body):
		return "", invalid.New(invalid.Malformed, "body", "is not valid UTF-8")
	case !json.Valid(r.Body):
		return "", invalid.New(invalid.Malformed, "body", "is not JSON")
	}
	if media, _, err := mime.ParseMediaType(given); given == "" || err == nil && media == cursor.DefaultContentType {
		return "", nil
	}
	return given, nil
}

// errEmpty: there is a value, and nothing in it.
var errEmpty = errors.New("is empty")

func empty(problem string) error {
	return &invalid.Error{Code: invalid.Missing, Problem: problem, Err: errEmpty}
}

// queue is the queue's name.
func (s *Source) queue(r *httpapi.Request) (string, error) {
	if s.Queue.Fixed != "" {
		return s.Queue.Fixed, nil
	}
	name, err := s.Queue.find(r)
	switch {
	case err == nil && s.Prefix == "" && strings.HasPrefix(name, "@"):
		return "", invalid.New(invalid.Misplaced, "", "begins with '@', as the queues of tenants do: a source without a prefix may name none")
	case err == nil:
		return s.Prefix + name, nil
	case s.Default != "" && (errors.Is(err, errEmpty) || errors.Is(err, strictjson.ErrNoField)):
		return s.Prefix + s.Default, nil
	}
	return "", err
}

// id is the sender's own name for the delivery; empty where the source has none.
func (s *Source) id(r *httpapi.Request) (string, error) {
	if s.ID.none() {
		return "", nil
	}
	id, err := s.ID.find(r)
	if err == nil && len(id) > cursor.MaxID {
		err = invalid.New(invalid.TooLarge, "", fmt.Sprintf("has %d bytes: at most %d are taken", len(id), cursor.MaxID))
	}
	return id, err
}

// find is the value of a place, which is not empty.
func (p Place) find(r *httpapi.Request) (value string, err error) {
	switch {
	case p.Digest:
		sum := sha256.Sum256(r.Body)
		return hex.EncodeToString(sum[:]), nil
	case p.Header != "":
		value = strings.TrimSpace(r.Headers[p.Header])
		if strings.Contains(value, ",") {
			return "", fmt.Errorf("must stand once in the header %s, without a comma", p.Header)
		}
		if value == "" {
			return "", empty("is empty: the header " + p.Header + " is missing")
		}
		return value, nil
	}
	raw, err := p.Path.Find(r.Body)
	if err != nil {
		return "", err
	}
	if string(raw) == "null" {
		return "", empty("is empty: the field is null")
	}
	if value, err = message.Name(raw); err == nil && value == "" {
		err = empty("is empty")
	}
	return value, err
}
