package sortkey

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

type keyKind struct {
	// name is its name in a [KeyType], tag what its values are stored behind.
	name string
	tag  keyTag
	// number is the number by which a value sorts; nil where that is code.
	number func(value any) (decimal, error)
	// code are the bytes by which a text sorts: two texts of one meaning have one code, none of
	// which has a byte over 0xF4. text is a code's text, as readers get it.
	code func(text string) (string, error)
	text func(code string) string
}

// keyKinds are all, but for ranks. An error may name the first that takes what another refuses.
var keyKinds = []*keyKind{
	{name: "number", tag: tagNumber, number: decimalOf},
	{name: "time", tag: tagTime, number: secondsBy(parseTime)},
	{name: "utc", tag: tagTime, number: secondsBy(parseUTC)},
	{name: "lsn", tag: tagLSN, code: lsnCode, text: lsnText},
	{name: "ulid", tag: tagULID, code: ulidCode, text: same},
	{name: "semver", tag: tagSemver, code: semverCode, text: semverText},
	{name: "hex", tag: TagHex, code: hexCode, text: hexText},
	{name: "text", tag: tagText, code: textCode, text: same},
}

// rankKind is that of ranks, which have patterns besides.
var rankKind = &keyKind{name: "rank", tag: tagRank}

func keyKindNames() string {
	names := make([]string, len(keyKinds))
	for i, kind := range keyKinds {
		names[i] = kind.name
	}
	return strings.Join(names, ", ")
}

// kindOf is the kind of texts that are stored behind a tag; nil for any other tag.
func kindOf(tag keyTag) *keyKind {
	for _, kind := range keyKinds {
		if kind.tag == tag && kind.code != nil {
			return kind
		}
	}
	return nil
}

func same(text string) string { return text }

func textCode(text string) (string, error) {
	if len(text) > MaxKeyText {
		return "", &invalid.Error{
			Code: invalid.TooLarge, Problem: fmt.Sprintf("has %d bytes: a text in a key has 0 to %d",
				len(text), MaxKeyText), Size: len(text), Most: MaxKeyText,
		}
	}
	return text, nil
}

func malformedKey(problem string) error { return invalid.New(invalid.Malformed, "", problem) }

// Positions in logs, ULIDs, versions and digits as they are written.
var (
	lsnForm    = regexp.MustCompile(`^([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})$`)
	ulidForm   = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
	hexForm    = regexp.MustCompile(`^(0[xX])?([0-9A-Fa-f]{1,64})$`)
	semverForm = regexp.MustCompile(`^v?([0-9]+(?:\.[0-9]+){0,15})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$`)
)

// hexCode is how many digits there are, then the digits, without zeros before them.
func hexCode(text string) (string, error) {
	found := hexForm.FindStringSubmatch(text)
	if found == nil {
		return "", malformedKey("must be 1 to 64 hexadecimal digits, such as 00a0ff")
	}
	return counted(strings.ToLower(found[2])), nil
}

func hexText(code string) string {
	if len(code) < 2 {
		return "0"
	}
	return code[1:]
}

// counted is a number's digits without zeros before them, behind how many those are.
func counted(digits string) string {
	digits = strings.TrimLeft(digits, "0")
	return string([]byte{byte(len(digits))}) + digits
}

func lsnCode(text string) (string, error) {
	found := lsnForm.FindStringSubmatch(text)
	if found == nil {
		return "", malformedKey("must be a position in PostgreSQL's log, such as 0/A0000010")
	}
	return counted(strings.ToLower(found[1] + strings.Repeat("0", 8-len(found[2])) + found[2])), nil
}

func lsnText(code string) string {
	n, _ := strconv.ParseUint(hexText(code), 16, 64) // a bad code becomes another one
	return fmt.Sprintf("%X/%X", n>>32, n&0xFFFFFFFF)
}

func ulidCode(text string) (string, error) {
	if text = strings.ToUpper(text); !ulidForm.MatchString(text) {
		return "", malformedKey("must be a ULID, such as 01ARZ3NDEKTSV4RRFFQ69G5FAV: 26 of the digits and letters but I, L, O and U, the first at most 7")
	}
	return text, nil
}

// Marks in a version's code. The shorter of two versions with equal parts is less, and so is a
// pre-release than its release, and in that a number than a word.
const (
	semverEnd     = "\x01"
	semverNumber  = "\x02"
	semverWord    = "\x03"
	semverRelease = "\x04"
)

// semverCode is each number behind its mark and its count of digits, and their end; then the mark
// of a release, or the identifiers of a pre-release, a number as before, a word up to its 0, and
// their end.
func semverCode(text string) (string, error) {
	found := semverForm.FindStringSubmatch(text)
	if found == nil || len(text) > MaxKeyText {
		return "", malformedKey(fmt.Sprintf("must be 1 to 16 numbers with dots between, such as 1.10.2 or 1.10.2-rc.1, in at most %d bytes", MaxKeyText))
	}
	var code strings.Builder
	for number := range strings.SplitSeq(found[1], ".") {
		code.WriteString(semverNumber + counted(number))
	}
	if found[2] == "" {
		return code.String() + semverEnd + semverRelease, nil
	}
	code.WriteString(semverEnd)
	for word := range strings.SplitSeq(found[2], ".") {
		if strings.Trim(word, "0123456789") == "" {
			code.WriteString(semverNumber + counted(word))
			continue
		}
		code.WriteString(semverWord + word + "\x00")
	}
	return code.String() + semverEnd, nil
}

// semverText reads a code. A bad one becomes a text with another code, or without one.
func semverText(code string) string {
	var text strings.Builder
	before, digits := "", ""
	for len(code) > 1 {
		mark, count := code[:1], int(code[1])
		code = code[1:]
		switch mark {
		case semverEnd:
			before = "-"
			continue
		case semverNumber:
			end := min(1+count, len(code))
			digits, code = cmp.Or(code[1:end], "0"), code[end:]
		default:
			digits, code, _ = strings.Cut(code, "\x00")
		}
		text.WriteString(before + digits)
		before = "."
	}
	return text.String()
}
