// Package errtext groups the texts of errors: two that differ only in what names one request,
// message or machine have one group.
//
//	errtext.Group("order 17 failed: timeout after 3000 ms") // "order # failed: timeout after # ms"
//
// It is a heuristic for people: a list of failures becomes a list of causes. No decision of the
// engine depends on it.
package errtext

import (
	"cmp"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Max is how many bytes a group has at most: shorter than what is stored of an error, so that where
// the error was cut shows rarely.
const Max = 160

const longest = 2 << 10

// What stands in a group in the place of what varies.
const (
	something = "#"
	quoted    = `"#"`
)

// varies finds what varies, the longest kind of it first. Its groups: a quoted text, a URL's
// beginning, its rest, an ARN, the words before an HTTP status, the status, and a word.
var varies = regexp.MustCompile(`("(?:\\.|[^"\\\n])*"|` + "`[^`\n]*`" +
	`|“[^”\n]*”|\B'(?:\\.|[^'\\\n])*')` +
	`|\b([A-Za-z][A-Za-z0-9+.-]*://[^\s/?"'<>)\]}]+)([^\s"'<>)\]}]*)` +
	`|\b(arn:[a-z0-9-]+:[^\s"'<>)\]},;]+)` +
	`|((?i:\b(?:HTTP|status|status ?code|answered|code)[:= ]{1,2}))([1-5][0-9][0-9])\b` +
	`|([\pL\pM\pN_#][\pL\pM\pN_#@.:+/-]*)`)

// The groups of varies, as pairs of indexes.
const (
	inQuotes = 2 * (1 + iota)
	urlHead
	urlRest
	anARN
	beforeStatus
	status
	word
)

// parenthesised finds values that databases quote by parentheses, such as those of (id)=(7).
var parenthesised = regexp.MustCompile(`=\([^()\n]*\)`)

// Group returns the group of an error's text: without the ids, numbers, ARNs, hexadecimal digits,
// quoted values and variable parts of URLs in it. The HTTP status behind words such as "status"
// stays, because 404 and 500 have different causes. A group is its own group.
func Group(text string) string {
	if len(text) > longest {
		text = text[:longest]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	for range most {
		group := once(text)
		if group == text {
			break
		}
		text = group
	}
	return text
}

// most is how often a text is looked through: what is replaced may bring two parts together.
const most = 8

func once(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = parenthesised.ReplaceAllString(text, "=("+something+")")
	var b strings.Builder
	last := 0
	for _, at := range varies.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[last:at[0]])
		last = at[1]
		part := func(i int) string { return text[at[i]:at[i+1]] }
		switch {
		case at[inQuotes] >= 0:
			b.WriteString(quoted)
		case at[urlHead] >= 0:
			b.WriteString(urlOf(part(urlHead), part(urlRest)))
		case at[anARN] >= 0:
			b.WriteString("ARN")
		case at[status] >= 0:
			b.WriteString(part(beforeStatus) + part(status))
		default:
			b.WriteString(wordOf(part(word)))
		}
	}
	b.WriteString(text[last:])
	return shorten(b.String())
}

// urlOf keeps what is the same in the URLs of one endpoint: scheme, host and the segments that are
// words.
func urlOf(head, rest string) string {
	head, endOfHead := cutEnd(head)
	rest, end := cutEnd(rest)
	rest, _, _ = strings.Cut(rest, "?")
	segments := strings.Split(rest, "/")
	for i, segment := range segments {
		if strings.ContainsAny(segment, "0123456789%#") || opaque(segment) {
			segments[i] = something
		}
	}
	return wordOf(head) + endOfHead + strings.Join(segments, "/") + end
}

func cutEnd(text string) (before, end string) {
	before = strings.TrimRight(text, ".,:;!")
	return before, text[len(before):]
}

var (
	// uuid, email and when are words that vary as a whole.
	uuid  = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	email = regexp.MustCompile(`^[^@/:]+@[^@/:]+\.[A-Za-z]{2,}$`)
	// pieces are what separators part a word into.
	pieces = regexp.MustCompile(`[\pL\pM\pN#]+`)
	digits = regexp.MustCompile(`[\pN#]+`)
	// many are numbers with separators, such as a time or an address.
	many = regexp.MustCompile(`#(?:[-.:+/_TZ]{1,2}#)+Z?`)
)

func wordOf(w string) string {
	if !strings.ContainsAny(w, "0123456789#@") && !digits.MatchString(w) && !opaque(w) {
		return w
	}
	if email.MatchString(w) {
		return something
	}
	w = uuid.ReplaceAllString(w, something)
	w = pieces.ReplaceAllStringFunc(w, func(piece string) string {
		if opaque(piece) {
			return something
		}
		return digits.ReplaceAllString(piece, something)
	})
	return many.ReplaceAllString(w, something)
}

// minOpaque is how long an id of letters and digits is at least, minHex how long one of hexadecimal
// letters alone.
const minOpaque, minHex = 8, 12

// opaque reports whether a piece of a word looks like an id: long, with digits among its letters,
// or hexadecimal.
func opaque(piece string) bool {
	letters, numbers, hex := 0, 0, 0
	for _, r := range piece {
		switch {
		case r >= '0' && r <= '9':
			numbers++
		case r >= 'a' && r <= 'f', r >= 'A' && r <= 'F':
			hex++
		default:
			letters++
		}
	}
	all := letters + numbers + hex
	switch {
	case letters == 0 && all >= minHex, letters == 0 && numbers > 0 && all >= minOpaque:
		return true
	case strings.HasPrefix(piece, "0x") && letters == 1 && all > 2:
		return true
	}
	return all >= minOpaque && numbers > 1 && letters+hex > 0 && numbers*4 >= all
}

func shorten(group string) string {
	if len(group) <= Max {
		return group
	}
	cut := Max
	for !utf8.RuneStart(group[cut]) {
		cut--
	}
	group = group[:cut]
	if space := strings.LastIndexByte(group, ' '); space > Max/2 {
		group = group[:space]
	}
	return strings.TrimRight(group, " ")
}

// Shown is what a queue's tenant may read of an error: its first bytes, or all where shown is 0.
func Shown(text string, shown int) string {
	return text[:min(cmp.Or(max(shown, 0), len(text)), len(text))]
}
