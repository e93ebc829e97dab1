package cursor

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// TestEras: each is greater than the one before, whatever the keys are, is read back, and is let
// through by the stream's filter for keyed queues.
func TestEras(t *testing.T) {
	before := sortkey.SortKey("")
	for _, era := range []sortkey.Era{"", sortkey.Era("").Next(), sortkey.Era("").Next().Next(),
		sortkey.LastEra} {
		first, last := era.SortKey("\x00", "a"),
			era.SortKey(sortkey.Key(rune(sortkey.TagHex))+"\xff", "b")
		for _, key := range []sortkey.SortKey{first, last} {
			check.That(t, key.Era() == era &&
				strings.HasPrefix(base64.StdEncoding.EncodeToString([]byte(key)), "AQ"),
				"era %x: %x is of %x", string(era), string(key), string(key.Era()))
		}
		if first <= before || last >= sortkey.EverySortKey || era != "" && era.Begin() <= before {
			t.Errorf("era %x: from %x to %x, behind %x",
				string(era), string(first), string(last), string(before))
		}
		before = last
	}
}
