package dedup

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Claim implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *rowTable) Claim(ctx context.Context, c Claim) (Row, bool, error) {
	var attempts, payload ddb.Cond
	if c.MaxAttempts > 0 {
		attempts = attrAttempt.Lt(ddb.Int(c.MaxAttempts))
	}
	do := append(make([]ddb.Action, 0, 10),
		attrVersion.Set(ddb.Int(layout)),
		attrFence.PlusFrom(ddb.Millis(c.Now), 1),
		attrAttempt.PlusFrom(ddb.Int(0), 1),
		attrToken.Set(ddb.Blob(c.Token[:])),
		attrStartedAt.Set(ddb.Millis(c.Now)),
		attrLeaseUntil.Set(ddb.Millis(c.LeaseUntil)),
		attrValidUntil.Set(ddb.Millis(c.ValidUntil)),
		attrExpiresOn.Set(ddb.Seconds(c.ExpiresOn)),
		attrError.Remove())
	if c.Payload != nil {
		payload = ddb.Or(attrPayloadHash.Missing(), attrPayloadHash.Eq(ddb.Blob(c.Payload)))
		do = append(do, attrPayloadHash.Set(ddb.Blob(c.Payload)))
	}
	return t.update(ctx, "claim", c.Key,
		ddb.Or(attrID.Missing(), ddb.And(isKnown(),
			attrValidUntil.Gt(ddb.Millis(c.Now)),
			attrCompletedAt.Missing(),
			attrLeaseUntil.Le(ddb.Millis(c.Now.Add(-c.Margin))),
			attempts, payload)), do...)
}

// Swap implements [Store]: one UpdateItem, ALL_NEW; 1 write unit, or 1 for each KB of the larger
// row. An attribute that only later versions know stays.
func (t *rowTable) Swap(ctx context.Context, seen, next Row) (Row, bool, error) {
	ended := attrCompletedAt.Missing()
	if seen.completed() {
		ended = attrCompletedAt.Eq(ddb.Millis(seen.CompletedAt))
	}
	do := []ddb.Action{attrVersion.Set(ddb.Int(layout))}
	for name, value := range rows.All(&next) {
		do = append(do, name.Set(value))
	}
	return t.update(ctx, "swap", seen.Key, ddb.And(isKnown(),
		attrToken.Eq(ddb.Blob(seen.Token[:])),
		attrFence.Eq(ddb.Int(seen.Fence)),
		attrLeaseUntil.Eq(ddb.Millis(seen.LeaseUntil)), ended), do...)
}

// PutResult implements [Store]: one PutItem; 1 write unit for each KB, of what was there where that
// was larger.
func (t *rowTable) PutResult(ctx context.Context, p StoredResult) error {
	fields := ddb.Fields{
		attrVersion:   ddb.Int(layout),
		attrResultOf:  ddb.Text(p.Processor),
		attrExpiresOn: ddb.Seconds(p.ExpiresOn),
	}
	if len(p.Body) > 0 {
		fields[attrResult] = ddb.Blob(p.Body)
	}
	_, err := t.engine.Do(ctx, ddb.Put{
		Op: t.op("put result"), Item: resultItem(p.Key, p.Token).Merge(fields.Item()),
	})
	return err
}
