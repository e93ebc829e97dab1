package webhook

import (
	"encoding/json"
	"fmt"
	"mime"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Messages are the messages that a request brings, received at a time: one, or where the source has
// each, one of each element. The request's signature must have been checked. The error names the
// field, and what is there.
func (s *Source) Messages(r *httpapi.Request, at time.Time) ([]cursor.Message, error) {
	if len(r.Body) > s.MaxBody {
		return nil, TooLarge(s.MaxBody)
	}
	contentType, err := s.contentType(r)
	if err != nil {
		return nil, err
	}
	events, err := s.Split(&mapping.Event{Document: r.Body, Headers: r.Headers, Received: at})
	if err != nil {
		return nil, err
	}
	messages, trace := make([]cursor.Message, len(events)), r.Trace()
	for i, e := range events {
		m, err := s.Message(e)
		if err == nil && len(m.ID) > cursor.MaxID {
			err = invalid.New(invalid.TooLarge, "id",
				fmt.Sprintf("has %d bytes: at most %d are taken", len(m.ID), cursor.MaxID))
		}
		if err != nil && s.Splits() {
			err = invalid.Within("messages", i, err)
		}
		if err != nil {
			return nil, err
		}
		if s.Whole() {
			m.ContentType = contentType
		}
		m.Trace, messages[i] = trace, m
	}
	return messages, nil
}

// TooLarge is the error of a body that has more bytes than it may.
func TooLarge(most int) error {
	return &invalid.Error{Field: "body", Code: invalid.TooLarge,
		Problem: fmt.Sprintf("has more than %d bytes", most), Most: most}
}

// contentType is the body's, empty where it is that of a message that names none; a body that is
// JSON by it must be JSON.
func (s *Source) contentType(r *httpapi.Request) (string, error) {
	given := r.Headers["content-type"]
	if given != "" && !strictjson.IsJSON(given) {
		if s.InDocument() {
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
	if media, _, err := mime.ParseMediaType(given); given == "" ||
		err == nil && media == cursor.DefaultContentType {
		return "", nil
	}
	return given, nil
}
