package cursor

import (
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// encodeKeyed writes what only the cursor of a keyed queue has.
func encodeKeyed(it ddb.Fields, c Cursor) {
	it[attrKeyType] = ddb.Text(string(c.Settings.KeyType))
	it[attrSettle] = ddb.Int(c.Settings.Settle.Milliseconds())
	it[attrLate] = ddb.Text(string(c.Settings.Late))
	it[attrHigh] = ddb.Blob([]byte(c.High))
	it[attrLow] = ddb.Blob([]byte(c.Low))
	for name, n := range map[ddb.Path]int64{
		attrLateSoFar: c.LateSoFar, attrLateTold: c.LateTold, attrLateSeq: c.LateSeq, attrLateInRow: c.LateInRow,
		attrClockAhead: c.Settings.ClockAhead.Milliseconds(),
	} {
		if n != 0 {
			it[name] = ddb.Int(n)
		}
	}
	it[attrRestart] = blob([]byte(c.Restart))
}

func decodeKeyed(d *ddb.Decoder, c *Cursor) {
	c.Settings.Kind, c.Settings.KeyType = KindKeyed, KeyType(d.Text(attrKeyType))
	c.Settings.Settle = time.Duration(d.Number(attrSettle)) * time.Millisecond
	c.Settings.Late = LatePolicy(d.Text(attrLate))
	c.High, c.Low = SortKey(d.BytesOr(attrHigh)), SortKey(d.BytesOr(attrLow))
	c.LateSoFar, c.LateTold, c.LateSeq = d.NumberOr(attrLateSoFar, 0), d.NumberOr(attrLateTold, 0), d.NumberOr(attrLateSeq, 0)
	c.LateInRow, c.Restart = d.NumberOr(attrLateInRow, 0), string(d.BytesOr(attrRestart))
	c.Settings.ClockAhead = time.Duration(d.NumberOr(attrClockAhead, 0)) * time.Millisecond
	if c.Low == "" || c.Low > c.High {
		d.Fail(attrLow, "is none, or greater than high")
	}
}
