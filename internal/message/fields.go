package message

import (
	"encoding/json"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Kind reads a kind of queue.
func Kind(raw json.RawMessage) (cursor.Kind, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return "", err
	}
	return cursor.ParseKind(text)
}
