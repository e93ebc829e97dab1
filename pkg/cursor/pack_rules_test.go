package cursor_test

import (
	"errors"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestABatchBeyondAGapIsStoredSingly: a packed run is stored right behind the position, or not at all.
func TestABatchBeyondAGapIsStoredSingly(t *testing.T) {
	b, options := packing(t)
	_, err := b.sorter.Configure(t.Context(), "q", cursor.Change{})
	check(t, err)
	b.engine = &bounded{b.tables, 20}
	b.want("beyond a gap", b.group(b.process(options), "", 3, 5), "parked")
	b.want("items", b.items(), "[3 4 5]")
	b.want("a gap is open", b.group(b.sorter, "", 1, 2), "advanced")
	b.want("items", b.items(), "[1 2 3 4 5]")
}

// TestTheSweepGoesOnBehindAPackedRun: two writers died, each before the move, and no record brought the handler.
func TestTheSweepGoesOnBehindAPackedRun(t *testing.T) {
	b, _ := packing(t)
	_, err := b.sorter.Configure(t.Context(), "q", cursor.Change{})
	check(t, err)
	put(t, b.memory, storedPack("q", 1, 2), wholeMessage("q", 3), wholeMessage("q", 5))
	if advance, err := b.sorter.Recheck(t.Context(), "q"); err != nil || advance.Cursor.Position != 3 || !advance.Cursor.GapOpen() {
		t.Errorf("%+v, %v; want the position at 3, and a gap", advance, err)
	}
}

// older is a queue whose cursor was restored to 1, from before two packed runs, of which that of 4 to 6 is there; gap has 9 be
// parked beyond them.
func older(t *testing.T, gap bool) (*bench, cursor.Options) {
	t.Helper()
	from, options := packing(t)
	from.group(from.sorter, "", 1, 3)
	from.group(from.sorter, "", 4, 6)
	page, err := from.memory.Messages(t.Context(), cursor.Query{Queue: "q", First: 4, Last: cursor.MaxSeq, Strong: true})
	check(t, err)
	b, _ := packing(t)
	b.group(b.sorter, "", 1, 1)
	if gap {
		b.group(b.sorter, "", 9, 9)
	}
	put(t, b.memory, page.Messages...)
	return b, options
}

// TestAnOlderCursorCostsNoPackedRun: the cursor was restored from before several packed runs, and is not moved on
// yet. Who sends a message that is the first of one hears that, and in time; nothing is overwritten.
func TestAnOlderCursorCostsNoPackedRun(t *testing.T) {
	for _, gap := range []bool{false, true} {
		b, options := older(t, gap)
		b.engine = &bounded{b.tables, 50}
		message := body(4)
		result, err := b.process(options).Put(t.Context(), message)
		if err == nil || errors.Is(err, errOver) {
			t.Errorf("gap %v: answered %s, %v; want an error at once", gap, result.Outcome, err)
		}
		there, _, err := b.memory.Message(t.Context(), "q", 4)
		check(t, err)
		same(t, "what is stored", len(there.Packed), 3)
	}
}

// TestAnOlderCursorIsNotSkippedOver: nor does a skip take a packed run that its cursor is too old for as a hole.
func TestAnOlderCursorIsNotSkippedOver(t *testing.T) {
	b, options := older(t, true)
	s := b.process(options)
	for range 3 {
		if skipped, advance, err := s.SkipGap(t.Context(), "q", "policy", 0, 100); err == nil || len(skipped) > 0 || advance.Cursor.Position != 1 {
			t.Errorf("skipped %v, position %d, %v; want an error", skipped, advance.Cursor.Position, err)
		}
	}
	b.want("items", b.items(), "[1 4 9]")
}
