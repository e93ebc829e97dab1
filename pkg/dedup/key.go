package dedup

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Bounds of a key.
const (
	maxID        = 1024 // bytes
	maxProcessor = 255  // bytes
)

// Key is what is done once: an id, and the kind of work that is done for it. The same id under
// another processor is independent.
type Key struct {
	ID        string
	Processor string
}

// resultPrefix begins the keys of results that have an item of their own. No processor begins with
// it.
const resultPrefix = "#"

// validate reports an id that is not 1 to 1,024 bytes of UTF-8, or a processor that is not 1 to 255
// bytes of UTF-8 or begins with '#'.
func (k Key) validate() error {
	if err := checkName("id", k.ID, maxID); err != nil {
		return err
	}
	if err := checkName("processor", k.Processor, maxProcessor); err != nil {
		return err
	}
	if strings.HasPrefix(k.Processor, resultPrefix) {
		return invalid.New(invalid.Misplaced, "processor", "must not begin with "+resultPrefix)
	}
	return nil
}

func checkName(field, name string, longest int) error {
	problem := ""
	switch {
	case name == "":
		problem = "must not be empty"
	case len(name) > longest:
		problem = "must have at most " + strconv.Itoa(longest) + " bytes"
	case !utf8.ValidString(name):
		problem = "must be valid UTF-8"
	default:
		return nil
	}
	return invalid.New(invalid.TextCode(name, longest), field, problem)
}

// joined is the key as one text: where a page of rows ends. The length keeps two keys apart whose
// parts joined look alike.
func (k Key) joined() string {
	return strconv.Itoa(len(k.Processor)) + ":" + k.Processor + ":" + k.ID
}

func splitKey(joined string) (Key, bool) {
	digits, rest, found := strings.Cut(joined, ":")
	length, err := strconv.Atoi(digits)
	if !found || err != nil || length < 0 || length >= len(rest) || rest[length] != ':' {
		return Key{}, false
	}
	k := Key{ID: rest[length+1:], Processor: rest[:length]}
	return k, k.joined() == joined
}

// Token is what an owner shows to complete, fail or extend its claim: 16 bytes that no other claim
// has.
type Token [16]byte

// String is the token in hexadecimal digits.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// resultKey is the key of a result that has an item of its own. It bears the token of the claim, so
// that no two claims write the same item.
func resultKey(t Token) string { return resultPrefix + t.String() }
