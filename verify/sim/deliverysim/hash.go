package deliverysim

import (
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// record is a record of the cursors' stream; older is the zero Cursor where the write made it.
type record struct {
	older, newer cursor.Cursor
	// tries is how often it was handed out in vain.
	tries int
}

func (r record) hash(d *sim.Digest) {
	sim.Feed(d, r.newer.Queue, r.newer.Position, r.tries)
}

// event is the records as Lambda hands them out, with their indexes for their sequence numbers.
func event(records []record) table.StreamEvent {
	var e table.StreamEvent
	for i, r := range records {
		e.Records = append(e.Records, simdb.Record(i, r.older, r.newer))
	}
	return e
}
