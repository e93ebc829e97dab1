package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a JSON string. One that has no UTF-8 is refused: it would be taken for another string.
func Text(raw json.RawMessage) (string, error) {
	if inner, plain := plainText(raw); plain {
		return string(inner), nil
	}
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil {
		return "", malformed("must be a string")
	}
	return *text, wellFormed(raw)
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

// wellFormed is an error for strings of JSON that have no UTF-8: encoding/json reads what is wrong
// in them as U+FFFD. raw is anything that is valid JSON otherwise.
func wellFormed(raw []byte) error {
	if !utf8.Valid(raw) {
		return malformed("is not valid UTF-8")
	}
	for i := bytes.IndexByte(raw, '\\'); i >= 0 && i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // the escaped character
		unit := escaped(raw[i:])
		if !utf16.IsSurrogate(unit) {
			continue
		}
		i += len("dc00") + 1
		if i < len(raw) && raw[i] == '\\' &&
			utf16.DecodeRune(unit, escaped(raw[i+1:])) != utf8.RuneError {
			i += len("udc00")
			continue
		}
		return malformed("has a surrogate without its other half, so it is not valid UTF-8")
	}
	return nil
}

// escaped is the code unit of an escape like u00e9, -1 where it is another one.
func escaped(raw []byte) rune {
	if len(raw) < len("u00e9") || raw[0] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(raw[1:5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
