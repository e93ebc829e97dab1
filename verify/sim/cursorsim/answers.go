package cursorsim

import (
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// standing is the item that a request found, stored, or was refused for.
func standing(r ddb.Request, a ddb.Answer) ddb.Item {
	if put, ok := r.(ddb.Put); ok && a.Held {
		return put.Item
	}
	return a.Item
}

// hash feeds all of an answer that a process can act on.
func hash(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	switch r.Name() {
	case "get cursor", "create cursor", "open gap":
		hashCursor(d, standing(r, a))
	case "move", "move and park":
		hashCursor(d, a.Item)
		d.Bool(a.Held)
	case "get message", "put message":
		// For a put, it matters whether it is the very one that was put. It does not matter whose
		// other one it is: it is the same to have read it.
		put, _ := r.(ddb.Put)
		d.Bool(a.Held || put.Item.Exists() && a.Item.Get("op").Equal(put.Item.Get("op")))
		simdb.HashOf(d, standing(r, a), "seq", "body", "tombstone")
	case "query messages":
		d.Int(int64(len(a.Items)))
		for _, it := range a.Items {
			simdb.HashOf(d, it, "seq", "body", "tombstone", "enqueuedAt", "expiresOn")
		}
		d.Bool(a.Next.Exists())
	case "keep message":
		d.Bool(a.Held || a.Item.Exists())
	case "scan cursors":
		for _, it := range a.Items {
			d.Text(it.Get("queue").Str())
			hashCursor(d, it)
		}
		d.Digest(a.Next.Digest())
	case "announce":
		simdb.HashOf(d, a.Item, "announced")
	case "mark erased", "end erase":
		hashCursor(d, a.Item)
	case "query seqs", "query arrivals":
		for _, it := range a.Items {
			simdb.HashOf(d, it, "seq")
		}
		d.Bool(a.Next.Exists())
	case "delete messages":
		d.Int(int64(len(a.Left)))
	case "get sweep progress":
		simdb.HashOf(d, a.Item, "after", "began", "finished")
	}
}

// hashCursor feeds what can differ in a queue's cursor within a scenario.
func hashCursor(d *sim.Digest, it ddb.Item) {
	simdb.HashOf(d, it, "position", "parked", "gapSince", "announced", "maxAhead", "mode", "erased",
		"emptied")
}

// state is a cursor as it stood, and its item.
type state struct {
	cursor.Cursor
	item ddb.Item
}

// remembered is what a process remembers of a queue's cursor.
type remembered struct {
	item ddb.Item
	read time.Time
}

// positionOf is the position in a cursor's item.
func positionOf(it ddb.Item) int64 {
	position, _ := it.Get("position").Int64()
	return position
}
