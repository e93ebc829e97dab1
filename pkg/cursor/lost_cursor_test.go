package cursor_test

import (
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestALostCursorIsMadeAnew: a queue that has packed runs, and whose cursor was made without by a single message, is whole
// again when that cursor is deleted, and made with them before anything is put: what an operator is told to do.
func TestALostCursorIsMadeAnew(t *testing.T) {
	from, _ := packing(t)
	from.group(from.sorter, "", 1, 3)
	without := newBench(t, nil)
	without.copyMessages(from)
	without.want("a message beyond", without.put(body(6)), "parked 0→0")
	without.want("another one", without.put(body(4)), "parked 0→0")
	if result, _ := without.sorter.Put(t.Context(), body(1)); result.Err == nil {
		t.Errorf("answered %s", result.Outcome)
	}

	anew := newBench(t, nil) // which has their messages, and no cursor
	anew.copyMessages(without)
	on := cursor.PacksOn
	_, err := anew.sorter.Configure(t.Context(), "q", cursor.Change{Packs: &on})
	check(t, err)
	_, err = anew.sorter.Recheck(t.Context(), "q")
	check(t, err)
	anew.want("read", anew.bodies(anew.sorter, 0, 4), "1 2 3 body 4")
	anew.want("sent again", anew.group(anew.sorter, "", 1, 3), "duplicate")
	anew.want("what is missing", anew.put(body(5)), "advanced 4→6")
	anew.want("all", anew.bodies(anew.sorter, 0, 6), "1 2 3 body 4 body 5 body 6")
}

// TestALostCursorIsMadeAnewBehindWhatExpired: one whose first messages are not stored any more is told its first.
func TestALostCursorIsMadeAnewBehindWhatExpired(t *testing.T) {
	b := newBench(t, nil)
	put(t, b.memory, storedPack("q", 4, 2))
	on, first := cursor.PacksOn, int64(4)
	_, err := b.sorter.Configure(t.Context(), "q", cursor.Change{Packs: &on, First: &first})
	check(t, err)
	advance, err := b.sorter.Recheck(t.Context(), "q")
	if err != nil || advance.Cursor.Position != 5 {
		t.Errorf("%+v, %v; want the position 5", advance, err)
	}
}

// copyMessages stores what another has stored.
func (b *bench) copyMessages(from *bench) {
	b.t.Helper()
	page, err := from.memory.Messages(b.t.Context(), cursor.Query{Queue: "q", Last: cursor.MaxSeq, Strong: true})
	check(b.t, err)
	put(b.t, b.memory, page.Messages...)
}
