package message

import (
	"encoding/json"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Kind reads a kind of queue.
func Kind(raw json.RawMessage) (cursor.Kind, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return "", err
	}
	return cursor.ParseKind(text)
}

// Name reads what names a thing in somebody else's document: a string, or an
// integer, which names a repository or an account as well.
func Name(raw json.RawMessage) (string, error) {
	name, err := strictjson.Text(raw)
	if err == nil {
		return name, nil
	}
	if _, notSeq := jsonseq.Read(raw); notSeq == nil {
		return string(raw), nil
	}
	return "", invalid.New(invalid.Malformed, "", "must be a string or an integer")
}
