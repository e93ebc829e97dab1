package cursor

import (
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/table"
)

// TestOlderVersionsRefusePackedRuns: a packed run, and the cursor of a queue that has
// such, are of a layout that they do not know.
func TestOlderVersionsRefusePackedRuns(t *testing.T) {
	names := Names{}.withDefaults()
	settings := DefaultSettings()
	settings.Packs = PacksOn
	for name, it := range map[string]ddb.Item{
		"cursor":     encodeCursor(newCursor("q", settings, time.Now()), names),
		"packed run": encodeMessage(packed([]Message{{Queue: "q", Seq: 1}, {Queue: "q", Seq: 2}}), names),
	} {
		d := ddb.Decoder{Item: it}
		d.Layout(attrVersion, layoutKeyed)
		if !errors.Is(d.Err, table.ErrNewerLayout) {
			t.Errorf("%s: error %v, want ErrNewerLayout", name, d.Err)
		}
	}
}

// TestAPackedRunThatInflatesTooFar: who stores one that is larger than any that is written
// makes no reader run out of memory.
func TestAPackedRunThatInflatesTooFar(t *testing.T) {
	run := make([]Message, 2)
	for i := range run {
		run[i].Body = make([]byte, maxPackBytes/2)
	}
	names := Names{}.withDefaults()
	if _, err := decodeMessage(encodeMessage(packed(run), names), names, false); err == nil {
		t.Error("it was read")
	}
}
