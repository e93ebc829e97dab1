package cursor

import (
	"encoding/base64"
	"strings"
	"testing"
)

// TestEras: each is greater than the one before, whatever the keys are, is read back, and is let
// through by the stream's filter for keyed queues.
func TestEras(t *testing.T) {
	before := SortKey("")
	for _, era := range []Era{"", Era("").next(), Era("").next().next(), lastEra} {
		first, last := era.sortKey("\x00", "a"), era.sortKey(Key(rune(tagHex))+"\xff", "b")
		for _, key := range []SortKey{first, last} {
			if key.Era() != era || !strings.HasPrefix(base64.StdEncoding.EncodeToString([]byte(key)), "AQ") {
				t.Errorf("era %x: %x is of %x", string(era), string(key), string(key.Era()))
			}
		}
		if first <= before || last >= EverySortKey || era != "" && era.begin() <= before {
			t.Errorf("era %x: from %x to %x, behind %x",
				string(era), string(first), string(last), string(before))
		}
		before = last
	}
}
