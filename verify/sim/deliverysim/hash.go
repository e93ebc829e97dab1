package deliverysim

import (
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/verify/sim"
)

// hashCursor feeds what can differ in a queue's cursor within a scenario.
func hashCursor(d *sim.Digest, c cursor.Cursor) {
	d.Text(c.Queue)
	d.Int(c.Position)
	d.Int(c.MovedAt.Unix())
	d.Int(c.Notified.Unix())
	d.Int(c.Floor)
	d.Int(c.FloorSince.Unix())
}

func hashMessages(d *sim.Digest, messages []cursor.Message) {
	d.Int(int64(len(messages)))
	for _, m := range messages {
		d.Int(m.Seq)
		d.Int(m.ExpiresOn.Unix())
	}
}

// record is a record of the cursors' stream; older is the zero Cursor where
// the write made it.
type record struct {
	older, newer cursor.Cursor
	// tries is how often it was handed out in vain.
	tries int
}

func (r record) hash(d *sim.Digest) {
	d.Text(r.newer.Queue)
	d.Int(r.newer.Position)
	d.Int(int64(r.tries))
}

// event is the records as Lambda hands them out, with their indexes for their
// sequence numbers.
func event(records []record) table.StreamEvent {
	var e table.StreamEvent
	for i, r := range records {
		e.Records = append(e.Records, r.json(i))
	}
	return e
}

func (r record) json(index int) json.RawMessage {
	if !r.older.Exists() {
		return fmt.Appendf(nil, `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","NewImage":%s}}`, index, image(r.newer))
	}
	return fmt.Appendf(nil, `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","OldImage":%s,"NewImage":%s}}`,
		index, image(r.older), image(r.newer))
}

// image is a cursor as the stream shows it.
func image(c cursor.Cursor) []byte {
	return fmt.Appendf(nil, `{"queue":{"S":%q},"v":{"N":"1"},"first":{"N":"%d"},"position":{"N":"%d"},"parked":{"N":"%d"},`+
		`"gapSince":{"N":"%d"},"change":{"S":"advance"},"policy":{"S":%q},"gapAfter":{"N":"%d"},"maxAhead":{"N":"%d"},"mode":{"S":%q}}`,
		c.Queue, c.Settings.First, c.Position, c.MaxParked, c.MovedAt.UnixMilli(), c.Settings.Policy,
		c.Settings.GapAfter.Milliseconds(), c.Settings.MaxAhead, c.Settings.Mode)
}
