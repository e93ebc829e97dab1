package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a JSON string. One that has no UTF-8 is refused: it would be taken for
// another string.
func Text(raw json.RawMessage) (string, error) {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil {
		return "", malformed("must be a string")
	}
	return *text, wellFormed(raw)
}

// wellFormed is an error for strings of JSON that have no UTF-8: encoding/json reads
// what is wrong in them as U+FFFD. raw is anything that is valid JSON otherwise.
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
		if i < len(raw) && raw[i] == '\\' && utf16.DecodeRune(unit, escaped(raw[i+1:])) != utf8.RuneError {
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

// Positive reads an integer of 1 or more. A null or a 0, which would silently
// mean a default, is none.
func Positive(raw json.RawMessage) (int, error) {
	var value *int
	if json.Unmarshal(raw, &value) != nil || value == nil || *value < 1 {
		return 0, malformed("must be a positive integer")
	}
	return *value, nil
}
