package strictjson

import (
	"encoding/json"
	"strings"
)

// Text reads a JSON string. One with a lone surrogate is refused: it has no
// UTF-8, and would be taken for another string.
func Text(raw json.RawMessage) (string, error) {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil {
		return "", malformed("must be a string")
	}
	replaced := strings.Count(*text, "\uFFFD")
	written := strings.Count(string(raw), "\uFFFD") + strings.Count(strings.ToLower(string(raw)), `\ufffd`)
	if replaced != written {
		return "", malformed("has a surrogate without its other half, so it is not valid UTF-8")
	}
	return *text, nil
}

// Positive reads an integer of 1 or more. A null or a 0, which would silently
// mean a default, is none.
func Positive(raw json.RawMessage) (int, error) {
	var value *int
	if json.Unmarshal(raw, &value) != nil || value == nil || *value < 1 {
		return 0, malformed("must be a positive integer")
	}
	return *value, nil
}
