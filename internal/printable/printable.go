// Package printable shows texts that others wrote. A name, an id or an attribute may have any
// character: one that orders a terminal about, that ends a line, or that turns the direction of
// what follows.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Name is a text that a sender chose. It prints as [Text] shows it; string(name) is the text
// itself.
type Name string

func (n Name) String() string { return Text(string(n)) }

// Text escapes what is not graphic, line ends among it.
func Text(text string) string { return escaped(text, "") }

// Lines is Text for what has lines and columns: it leaves line feeds and tabs.
func Lines(text string) string { return escaped(text, "\n\t") }

func escaped(text, but string) string {
	var b strings.Builder
	for _, r := range text { // bytes that are no UTF-8 are U+FFFD
		if unicode.IsGraphic(r) || strings.ContainsRune(but, r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}

// JSON escapes what is not graphic in the strings of a document, which stays equal: JSON itself
// escapes the control characters below U+0020 there.
func JSON(document []byte) []byte {
	out := make([]byte, 0, len(document))
	for len(document) > 0 {
		r, size := utf8.DecodeRune(document)
		switch {
		case r < 0x7f, unicode.IsGraphic(r) && (r != utf8.RuneError || size > 1):
			out = append(out, document[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendEscape(appendEscape(out, high), low)
		default: // bytes that are no UTF-8 are U+FFFD to every reader
			out = appendEscape(out, r)
		}
		document = document[size:]
	}
	return out
}

// appendEscape appends \uXXXX.
func appendEscape(out []byte, r rune) []byte {
	return append(out, `\u`+strconv.FormatInt(0x10000+int64(r), 16)[1:]...)
}
