package message

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Read reads a message's document, and whether it has a seq; one for a keyed queue has a
// Key. The error is an [invalid.Error].
func Read(members []strictjson.Member) (m cursor.Keyed, numbered bool, err error) {
	given := map[string]bool{}
	for _, member := range members {
		given[member.Name] = true
		var err error
		switch member.Name {
		case "queue":
			m.Queue, err = strictjson.Text(member.Value)
		case "seq":
			if m.Seq, err = jsonseq.Read(member.Value); string(member.Value) == "null" {
				err = invalid.New(invalid.Malformed, "", err.Error()+" (leave it out for a queue in arrival order, or a keyed one)")
			}
		case "first":
			m.First, err = first(member.Value)
		case "key":
			m.Key, err = cursor.KeyParts(member.Value)
		case "keyType":
			m.KeyType, err = keyType(member.Value)
		case "prev":
			m.Prev, err = strictjson.Text(member.Value)
		case "id":
			m.ID, err = strictjson.Text(member.Value)
		case "contentType":
			m.ContentType, err = strictjson.Text(member.Value)
		case "attributes":
			m.Attributes, err = attributes(member.Value)
		case "traceparent":
			m.Trace.Parent, err = strictjson.Text(member.Value)
		case "tracestate":
			m.Trace.State, err = strictjson.Text(member.Value)
		case "body":
			m.Body = member.Value
		case "bodyBase64":
			m.Body, err = base64Text(member.Value)
		default:
			err = invalid.New(invalid.Unknown, "", "is not a field of a message: queue, seq, first, key, keyType, prev, id, body, bodyBase64, contentType, attributes, traceparent and tracestate are")
		}
		if err != nil {
			return m, false, invalid.Named(member.Name, err)
		}
	}
	if !given["queue"] {
		return m, false, invalid.New(invalid.Missing, "queue", "is missing")
	}
	if err := checkKeyed(given); err != nil {
		return m, false, err
	}
	if given["body"] == given["bodyBase64"] {
		code := invalid.Missing
		if given["body"] {
			code = invalid.Clash
		}
		return m, false, invalid.New(code, "body", "must be given, or bodyBase64 instead, and not both")
	}
	if m.Trace, err = cursor.ParseTrace(m.Trace.Parent, m.Trace.State); err != nil {
		return m, false, err
	}
	if given["traceparent"] && m.Trace.Parent == "" {
		return m, false, invalid.New(invalid.Malformed, "traceparent", "is empty: leave it out where there is none")
	}
	if given["bodyBase64"] && !given["contentType"] {
		m.ContentType = "application/octet-stream"
	}
	return m, given["seq"], nil
}

// first reads where a queue starts: a seq, or "here".
func first(raw json.RawMessage) (*int64, error) {
	text, err := string(raw), error(nil)
	if raw[0] == '"' {
		text, err = strictjson.Text(raw)
	}
	if err != nil {
		return nil, err
	}
	return cursor.ParseFirst(text)
}

func keyType(raw json.RawMessage) (cursor.KeyType, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return "", err
	}
	return cursor.ParseKeyType(text)
}

// checkKeyed reports which of the members of a message are not for the same kind of queue.
func checkKeyed(given map[string]bool) error {
	switch {
	case given["key"] && given["seq"]:
		return invalid.New(invalid.Clash, "key", "must not be given beside seq: a numbered queue sorts by seqs, a keyed one by keys")
	case given["first"] && !given["seq"]:
		return invalid.New(invalid.Misplaced, "first", "must not be given without a seq")
	case given["keyType"] && !given["key"]:
		return invalid.New(invalid.Misplaced, "keyType", "must not be given without a key")
	case given["prev"] && !given["key"]:
		return invalid.New(invalid.Misplaced, "prev", "must not be given without a key")
	}
	return nil
}

func attributes(raw json.RawMessage) (map[string]string, error) {
	members, err := strictjson.Members(raw)
	if err != nil {
		return nil, err
	}
	attributes := make(map[string]string, len(members))
	for _, m := range members {
		value, err := strictjson.Text(m.Value)
		if err != nil {
			return nil, invalid.New(invalid.Malformed, "", fmt.Sprintf("must have strings as values: %q %v", m.Name, err))
		}
		attributes[m.Name] = value
	}
	return attributes, nil
}

func base64Text(raw json.RawMessage) ([]byte, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return nil, err
	}
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid.New(invalid.Malformed, "", "is not base64: "+err.Error())
	}
	return body, nil
}
