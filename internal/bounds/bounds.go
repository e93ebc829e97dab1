// Package bounds has the errors of numbers, times and texts that are out of their bounds.
package bounds

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Check is nil, or an [invalid.Error] that names the field, its value and both bounds.
func Check[T cmp.Ordered](field string, value, least, most T) error {
	if value >= least && value <= most {
		return nil
	}
	return invalid.New(invalid.OutOfRange, field,
		fmt.Sprintf("is %v: it must be from %v to %v", value, least, most))
}

// Text is nil, or an [invalid.Error] of a text that is longer than most bytes, no UTF-8, or empty
// where least is not 0.
func Text(field, text string, least, most int) error {
	switch {
	case text == "" && least > 0:
		return invalid.New(invalid.Missing, field,
			fmt.Sprintf("is missing: it must have %d to %d bytes", least, most))
	case len(text) > most:
		return TooLarge(field, len(text), most)
	case !utf8.ValidString(text):
		return invalid.New(invalid.Malformed, field,
			fmt.Sprintf("is not valid UTF-8: at most %d bytes of it are taken", most))
	}
	return nil
}

// TooLarge is the [invalid.Error] of what has more bytes than are taken.
func TooLarge(field string, size, most int) error {
	problem := fmt.Sprintf("has %d bytes: at most %d are taken", size, most)
	return &invalid.Error{Field: field, Code: invalid.TooLarge, Problem: problem,
		Size: size, Most: most}
}
