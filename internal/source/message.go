package source

import (
	"cmp"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/mapping"
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
