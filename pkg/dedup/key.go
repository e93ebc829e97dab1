package dedup

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/pkg/invalid"
)

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
	err := cmp.Or(bounds.Text("id", k.ID, 1, maxID),
		bounds.Text("processor", k.Processor, 1, maxProcessor))
	if err != nil {
		return err
	}
	if strings.HasPrefix(k.Processor, resultPrefix) {
		return invalid.New(invalid.Misplaced, "processor", "must not begin with "+resultPrefix)
	}
	return nil
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
