package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable is a text of somebody else's as a terminal may be given it: what is no
// character to look at, but an order to the terminal or a new line, is escaped.
func printable(text string) string { return escaped(text, "") }

// printableLines is printable for what has lines and columns.
func printableLines(text string) string { return escaped(text, "\n\t") }

// escaped escapes what is not graphic, but for some.
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
