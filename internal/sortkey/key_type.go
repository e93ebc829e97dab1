package sortkey

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// MaxKeyParts is the most parts of a key.
const MaxKeyParts = 3

// KeyType is what the keys of a queue are: one to three parts with commas between, each
//
//	number        a decimal number of at most 38 digits: a version, a log position
//	time          a time as RFC 3339 writes it, of any zone, or Unix seconds, as a number
//	              or a text of 9 to 12 digits, or milliseconds in 13; to the nanosecond
//	utc           a time, where one without a zone is in UTC
//	lsn           a position in PostgreSQL's log: 0/A0000010
//	ulid          26 characters, in capitals or small letters
//	semver        1 to 16 numbers with dots between, and what SemVer has behind them: 1.10.2-rc.1
//	hex           1 to 64 hexadecimal digits, by value
//	text          0 to 64 bytes of UTF-8, in the order of their bytes
//	rank(P|P|…)   a text of any length, sorted by which of 1 to 16 patterns it matches
//
// At most one of them is a rank. Keys of several parts sort by the first part in which they differ.
// The empty KeyType is invalid.
//
// A pattern is any text of printable ASCII but spaces and the characters , | ( and ); a
// * in it stands for any run of characters, also for none. A text has the rank of the
// first pattern that it matches, whereby a pattern * is asked last, wherever it stands:
// rank(*.created|*|*.deleted) puts whatever was created first, and what was deleted behind
// everything else. The patterns have at most 200 bytes, with what is between them.
type KeyType string

// ParseKeyType reads a KeyType and writes it as it is stored: without spaces. An error is an
// [invalid.Error] of field "keyType".
func ParseKeyType(text string) (KeyType, error) {
	parts, err := parseKeyType(text)
	if err != nil {
		return "", invalid.Named("keyType", err)
	}
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = part.String()
	}
	return KeyType(strings.Join(names, ",")), nil
}

type keyPart struct {
	kind *keyKind
	// patterns are those of a rank.
	patterns ranks
}

func (p keyPart) String() string {
	if p.isRank() {
		return p.kind.name + "(" + p.patterns.String() + ")"
	}
	return p.kind.name
}

func parseKeyType(text string) ([]keyPart, error) {
	if strings.TrimSpace(text) == "" {
		return nil, invalid.New(invalid.Missing, "", "is missing: it must be one of "+keyKindNames()+
			", or up to 3 of them and a rank, with commas between")
	}
	// Patterns have no commas, so each comma is between parts.
	names := strings.Split(text, ",")
	if len(names) > MaxKeyParts {
		return nil, invalid.New(invalid.OutOfRange, "",
			fmt.Sprintf("has %d parts: at most %d are taken", len(names), MaxKeyParts))
	}
	parts := make([]keyPart, len(names))
	for i, name := range names {
		part, err := parseKeyPart(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if part.isRank() && slices.ContainsFunc(parts[:i], keyPart.isRank) {
			return nil, invalid.New(invalid.Clash, "", "has two ranks: at most one is taken")
		}
		parts[i] = part
	}
	return parts, nil
}

func (p keyPart) isRank() bool { return p.kind == rankKind }

func parseKeyPart(text string) (keyPart, error) {
	for _, kind := range keyKinds {
		if text == kind.name {
			return keyPart{kind: kind}, nil
		}
	}
	patterns, isRank := strings.CutPrefix(text, rankKind.name+"(")
	patterns, closed := strings.CutSuffix(patterns, ")")
	if !isRank || !closed {
		return keyPart{}, invalid.New(invalid.Unknown, "",
			fmt.Sprintf("has the part %.20q: each must be %s or rank(P|P|…)", text, keyKindNames()))
	}
	of, err := parseRanks(patterns)
	return keyPart{rankKind, of}, err
}

// Timed reports whether a part of the keys is a time.
func (t KeyType) Timed() bool {
	parts, _ := parseKeyType(string(t))
	return slices.ContainsFunc(parts, func(p keyPart) bool { return p.kind.tag == tagTime })
}

// Key is the key of these parts, each an int, an int64, a uint64, a float64 or a json.Number for a
// number; one of them, a time.Time, a [Received] or a string for a time; a string for all others,
// or a number in digits. An error is an [invalid.Error] of field "key".
func (t KeyType) Key(parts ...any) (Key, error) {
	of, err := parseKeyType(string(t))
	if err != nil {
		return "", invalid.Named("keyType", err)
	}
	if len(parts) != len(of) {
		return "", invalid.New(invalid.OutOfRange, "key",
			fmt.Sprintf("has %d parts: the queue's keys have %d, %s", len(parts), len(of), t))
	}
	var key []byte
	for i, part := range parts {
		if key, err = of[i].append(key, part); err != nil {
			return "", InPart(i, len(of), err)
		}
	}
	return Key(key), nil
}

// KeyParts reads the parts of a key from JSON, of whatever type they are: a string or a number; of
// several parts, an array of them. An error is an [invalid.Error] of field "key".
func KeyParts(raw []byte) ([]any, error) {
	if !strictjson.IsArray(raw) {
		part, err := readKeyPart(raw)
		if err != nil {
			return nil, invalid.Named("key", err)
		}
		return []any{part}, nil
	}
	elements, err := strictjson.Elements(raw, MaxKeyParts)
	if err != nil {
		return nil, invalid.Named("key", err)
	}
	parts := make([]any, len(elements))
	for i, element := range elements {
		if parts[i], err = readKeyPart(element); err != nil {
			return nil, InPart(i, len(elements), err)
		}
	}
	return parts, nil
}

// InPart is an error of a part of a key: of which, where there are several.
func InPart(i, parts int, err error) error {
	wrong := invalid.Named("key", err)
	if parts > 1 {
		wrong.Problem = "part " + strconv.Itoa(i+1) + " of " + strconv.Itoa(parts) + " " + wrong.Problem
	}
	return wrong
}
