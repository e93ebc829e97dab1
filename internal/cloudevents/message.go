package cloudevents

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	// prefix is before an event's attributes among a message's.
	prefix = "ce-"
	// kinds is the attribute that names those which are no texts: "a=integer b=boolean".
	kinds = "cloudevents-kinds"
)

// Separator stands between an event's source and what is joined to it. No URI-reference has it, so
// that no two are joined to the same text.
const Separator = "|"

// Queue is the queue of an event: its source, and its subject where it has one.
func (e Event) Queue() string {
	return e.joined(e.Attributes["source"], e.Attributes["subject"])
}

// Identity is what an event is known by among those of all sources.
func (e Event) Identity() string { return e.joined(e.Attributes["source"], e.Attributes["id"]) }

func (Event) joined(source, rest string) string {
	if rest == "" {
		return source
	}
	return source + Separator + rest
}

// Message is the event as a message, without its queue, its seq or its key.
func (e Event) Message() (cursor.Message, error) {
	m := cursor.Message{Body: e.Data, ContentType: e.contentType(), Attributes: map[string]string{}}
	for name, value := range e.Attributes {
		if name != "traceparent" && name != "tracestate" {
			m.Attributes[prefix+name] = value
		}
	}
	var named []string
	for _, name := range slices.Sorted(maps.Keys(e.Kinds)) {
		named = append(named, name+"="+string(e.Kinds[name]))
	}
	if len(named) > 0 {
		m.Attributes[kinds] = strings.Join(named, " ")
	}
	var err error
	m.Trace, err = cursor.ParseTrace(e.Attributes["traceparent"], e.Attributes["tracestate"])
	return m, err
}

// contentType is that of the message: what the event says, or JSON, if it is.
func (e Event) contentType() string {
	media, given := e.Attributes["datacontenttype"]
	switch {
	case given && media != cursor.DefaultContentType:
		return media
	case !given && e.Data != nil && !json.Valid(e.Data):
		return "application/octet-stream"
	}
	return ""
}

// Settings are those of the queue that the event makes where the queue is new: numbered where its
// sequencetype says that its sequence is an integer; else sorted by sequence, as a text; else by
// time; else in arrival order. Only kind and key type are set.
func (e Event) Settings() cursor.Settings {
	_, ordered := e.Attributes["sequence"]
	_, timed := e.Attributes["time"]
	switch {
	case ordered && e.Attributes["sequencetype"] == "Integer":
		return cursor.Settings{Kind: cursor.KindNumbered}
	case ordered:
		return cursor.Settings{Kind: cursor.KindKeyed, KeyType: "text"}
	case timed:
		return cursor.Settings{Kind: cursor.KindKeyed, KeyType: "time"}
	}
	return cursor.Settings{Kind: cursor.KindArrival}
}

// Place puts the event into its order in a queue of these settings. The error names the attribute.
func (e Event) Place(m *cursor.Message, of cursor.Settings) (err error) {
	m.Seq = cursor.NoSeq
	switch of.Kind {
	case cursor.KindNumbered:
		sequence, given := e.Attributes["sequence"]
		if !given {
			return invalid.New(invalid.Missing, "sequence", "is missing: the queue is numbered, by it")
		}
		digits := strings.TrimLeft(sequence, "0")
		if digits == "" && sequence != "" {
			digits = "0"
		}
		if m.Seq, err = cursor.ParseSeq(digits); err != nil {
			wrong := invalid.Named("sequence", err)
			wrong.Problem += ": the queue is numbered; " +
				"one that has wrapped around goes to a queue of its own"
			return wrong
		}
	case cursor.KindKeyed:
		m.KeyType = of.KeyType
		// Patterns have no commas.
		for part := range strings.SplitSeq(string(of.KeyType), ",") {
			name := "sequence"
			switch _, timed := e.Attributes["time"]; {
			case strings.HasPrefix(part, "rank("):
				name = "type"
			case timed && (part == "time" || part == "utc"):
				name = "time"
			}
			value, given := e.Attributes[name]
			if !given {
				return invalid.New(invalid.Missing, name,
					"is missing: the queue sorts by it, with the key type "+string(of.KeyType))
			}
			if _, err := sortkey.KeyType(part).Key(value); err != nil {
				return invalid.Named(name, err)
			}
			m.KeyParts = append(m.KeyParts, value)
		}
	}
	return nil
}

// isOf reports whether a text is a value of a kind, as JSON has it.
func isOf(kind Kind, value string) bool {
	n, err := strconv.ParseInt(value, 10, 32)
	return kind == Integer && err == nil && strconv.FormatInt(n, 10) == value ||
		kind == Boolean && (value == "true" || value == "false")
}

// made is the event of a message that came as none. Attributes of the message whose names an event
// may have are the event's, too.
func made(m cursor.Message) Event {
	e := Event{Attributes: map[string]string{}, Data: m.Body}
	for name, value := range m.Attributes {
		if checkName(name) == nil && !strings.ContainsFunc(value, isForbidden) {
			e.Attributes[name] = value
		}
	}
	for _, name := range []string{"subject", "dataschema", "datacontenttype"} {
		delete(e.Attributes, name)
	}
	e.Attributes["specversion"], e.Attributes["type"] = SpecVersion, "streamsort.message"
	// What is before a colon would be a scheme, and 1 is not one.
	source := strings.ReplaceAll(url.PathEscape(m.Queue), ":", "%3A")
	e.Attributes["source"], e.Attributes["id"] = source, strconv.FormatInt(m.Seq, 10)
	e.Attributes["time"] = m.EnqueuedAt.UTC().Format(time.RFC3339Nano)
	if m.ContentType != "" && badMediaType(m.ContentType) == "" {
		e.Attributes["datacontenttype"] = m.ContentType
	}
	if m.ID != "" && !strings.ContainsFunc(m.ID, isForbidden) {
		e.Attributes["streamsortid"] = m.ID
	}
	return e
}

// Of is a message as an event. What came as no event is one of the type streamsort.message, whose
// source is the queue's name, escaped, whose id is the seq, and whose streamsortid the message's
// id.
func Of(m cursor.Message) Event {
	e := Event{Attributes: map[string]string{}, Kinds: map[string]Kind{}, Data: m.Body}
	for name, value := range m.Attributes {
		if name, is := strings.CutPrefix(name, prefix); is && checkName(name) == nil {
			e.Attributes[name] = value
		}
	}
	for named := range strings.FieldsSeq(m.Attributes[kinds]) {
		name, kind, _ := strings.Cut(named, "=")
		if value := e.Attributes[name]; isOf(Kind(kind), value) {
			e.Kinds[name] = Kind(kind)
		}
	}
	if e.check() != nil {
		e = made(m)
	}
	for name, value := range map[string]string{"traceparent": m.Trace.Parent,
		"tracestate": m.Trace.State} {
		if value != "" {
			e.Attributes[name] = value
		}
	}
	return e
}
