package strictjson

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// paired is a valid JSON string in which each surrogate has its other half: encoding/json reads one
// without it, and what is no UTF-8, as U+FFFD.
var paired = regexp.MustCompile(
	`(?is)^(?:[^\\]|\\[^u]|\\u(?:[^d]...|d[0-7]..|d[89ab]..\\ud[c-f]..))*$`)

// Text reads a JSON string. One that has no UTF-8 is refused: it would be taken for another string.
func Text(raw json.RawMessage) (string, error) {
	if inner, plain := plainText(raw); plain {
		return string(inner), nil
	}
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil {
		return "", malformed("must be a string")
	}
	switch {
	case !utf8.Valid(raw):
		return *text, malformed("is not valid UTF-8")
	case strings.ContainsRune(*text, utf8.RuneError) && !paired.Match(raw):
		return *text,
			malformed("has a surrogate without its other half, so it is not valid UTF-8")
	}
	return *text, nil
}

// plainText is what is in a string of JSON without escapes, which needs no decoder.
func plainText(raw []byte) (inner []byte, plain bool) {
	last := len(raw) - 1
	if last < 1 || raw[0] != '"' || raw[last] != '"' {
		return nil, false
	}
	for _, c := range raw[1:last] {
		if c < ' ' || c == '"' || c == '\\' {
			return nil, false
		}
	}
	return raw[1:last], utf8.Valid(raw)
}
