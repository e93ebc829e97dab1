package sortkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// MaxKeyText is the most bytes of a text in a key.
const MaxKeyText = 64

// Each part of a key begins with its tag. Behind it stands
//
//	number  see [decimal]
//	time    its Unix seconds with their fraction, as a number
//	rank    one byte
//	others  the bytes that its kind sorts by, each plus one, and 0: none is over 0xF4
//
// A part ends where it says itself, so parts, and what follows a key, just stand one behind the
// other.
type keyTag byte

const (
	tagNumber keyTag = 1 + iota
	tagTime
	tagText
	tagRank
	tagLSN
	tagULID
	tagSemver
	TagHex
)

// readKeyPart reads a string or a number.
func readKeyPart(raw []byte) (any, error) {
	var number json.Number
	switch raw = []byte(strings.TrimSpace(string(raw))); {
	case len(raw) == 0 || string(raw) == "null":
		return nil, invalid.New(invalid.Missing, "", "is missing: it must be a string or a number")
	case raw[0] == '"':
		return strictjson.Text(raw)
	case json.Unmarshal(raw, &number) != nil:
		return nil, malformedKey("must be a string or a number")
	}
	return number, nil
}

// append writes a value of this part's type. The error names the type that would take it; not hex
// and text, which take what was meant as another, and none for a rank, which takes what it matches.
func (p keyPart) append(to []byte, value any) ([]byte, error) {
	stored, err := p.encode(to, value)
	wrong, ok := errors.AsType[*invalid.Error](err)
	if !ok || p.isRank() {
		return stored, err
	}
	for _, kind := range keyKinds {
		if kind == p.kind || kind.tag == TagHex || kind.tag == tagText {
			continue
		}
		if _, err := (keyPart{kind: kind}).encode(nil, value); err == nil {
			wrong.Problem += "; the type " + kind.name + " takes it"
			break
		}
	}
	return stored, err
}

// encode is append without a look at the other types.
func (p keyPart) encode(to []byte, value any) ([]byte, error) {
	to = append(to, byte(p.kind.tag))
	if p.kind.number != nil {
		d, err := p.kind.number(value)
		return d.append(to), err
	}
	text, isText := value.(string)
	switch {
	case !isText:
		return nil, malformedKey("must be a string: a " + p.kind.name + " is one")
	case !utf8.ValidString(text):
		return nil, malformedKey("is not valid UTF-8")
	case p.kind.tag != tagRank:
		code, err := p.kind.code(text)
		if err != nil {
			return nil, err
		}
		for _, b := range []byte(code) {
			to = append(to, b+1)
		}
		return append(to, 0), nil
	}
	rank, found := p.patterns.of(text)
	if !found {
		return nil,
			invalid.New(invalid.Unknown, "", fmt.Sprintf(
				"has no rank: it is %.40q, and must match one of %s; the pattern * matches every text",
				text, p.patterns))
	}
	return append(to, byte(rank)), nil
}

func decimalOf(value any) (decimal, error) {
	switch v := value.(type) {
	case json.Number:
		return parseDecimal(v.String())
	case string:
		return parseDecimal(v)
	case int:
		return parseDecimal(strconv.Itoa(v))
	case int64:
		return parseDecimal(strconv.FormatInt(v, 10))
	case uint64:
		return parseDecimal(strconv.FormatUint(v, 10))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return decimal{}, invalid.New(invalid.OutOfRange, "", "is not a finite number")
		}
		return parseDecimal(strconv.FormatFloat(v, 'e', -1, 64))
	}
	return decimal{}, malformedKey("must be a number")
}

// keyValue is a part of a key that was read from its stored form.
type keyValue struct {
	tag    keyTag
	number decimal // of a number and a time
	text   string
	rank   int
}

var errKey = errors.New("the key cannot be read")

// readKey reads the stored form of a key. It takes only parts as append writes them.
func readKey(stored string) ([]keyValue, error) {
	var parts []keyValue
	for stored != "" {
		value, rest, ok := readKeyValue(stored)
		if !ok || len(parts) == MaxKeyParts {
			return nil, errKey
		}
		parts, stored = append(parts, value), rest
	}
	if len(parts) == 0 {
		return nil, errKey
	}
	return parts, nil
}

func readKeyValue(stored string) (value keyValue, rest string, ok bool) {
	value.tag, stored = keyTag(stored[0]), stored[1:]
	switch value.tag {
	case tagNumber, tagTime:
		value.number, rest, ok = readDecimal(stored)
		return value, rest, ok && (value.tag == tagNumber || checkSeconds(value.number) == nil)
	case tagRank:
		if stored == "" || stored[0] >= MaxRankPatterns {
			return value, "", false
		}
		value.rank = int(stored[0])
		return value, stored[1:], true
	}
	coded, rest, ended := strings.Cut(stored, "\x00")
	kind := kindOf(value.tag)
	if !ended || kind == nil {
		return value, "", false
	}
	code := []byte(coded)
	for i := range code {
		code[i]--
	}
	value.text = kind.text(string(code))
	again, err := kind.code(value.text)
	return value, rest, err == nil && again == string(code) && utf8.ValidString(value.text)
}

// String is the value in plain words, json the value in JSON.
func (v keyValue) String() string {
	switch v.tag {
	case tagNumber:
		return v.number.String()
	case tagTime:
		return timeOf(v.number).Format(time.RFC3339Nano)
	case tagRank:
		return strconv.Itoa(v.rank)
	}
	return v.text
}

func (v keyValue) json() []byte {
	if v.tag == tagNumber || v.tag == tagRank {
		return []byte(v.String())
	}
	quoted, _ := strictjson.Marshal(v.String()) // a string never fails
	return quoted
}
