package dedup

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Claim implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *rowTable) Claim(ctx context.Context, c Claim) (Row, bool, error) {
	var attempts, payload ddb.Cond
	if c.MaxAttempts > 0 {
		attempts = t.at(attrAttempt).Lt(ddb.Int(c.MaxAttempts))
	}
	do := append(make([]ddb.Action, 0, 10),
		t.at(attrVersion).Set(ddb.Int(layout)),
		t.at(attrFence).PlusFrom(ddb.Millis(c.Now), 1),
		t.at(attrAttempt).PlusFrom(ddb.Int(0), 1),
		t.at(attrToken).Set(ddb.Blob(c.Token[:])),
		t.at(attrStartedAt).Set(ddb.Millis(c.Now)),
		t.at(attrLeaseUntil).Set(ddb.Millis(c.LeaseUntil)),
		t.at(attrValidUntil).Set(ddb.Millis(c.ValidUntil)),
		t.at(attrExpiresOn).Set(seconds(c.ExpiresOn)),
		t.at(attrError).Remove())
	if c.Payload != nil {
		payload = ddb.Or(t.at(attrPayloadHash).Missing(), t.at(attrPayloadHash).Eq(ddb.Blob(c.Payload)))
		do = append(do, t.at(attrPayloadHash).Set(ddb.Blob(c.Payload)))
	}
	return t.update(ctx, "claim", c.Key,
		ddb.Or(ddb.Path(t.names.IDKey).Missing(), ddb.And(t.isKnown(),
			t.at(attrValidUntil).Gt(ddb.Millis(c.Now)),
			t.at(attrCompletedAt).Missing(),
			t.at(attrLeaseUntil).Le(ddb.Millis(c.Now.Add(-c.Margin))),
			attempts, payload)), do...)
}

// Swap implements [Store]: one UpdateItem, ALL_NEW; 1 write unit, or 1 for each KB of
// the larger row. An attribute that only later versions know stays.
func (t *rowTable) Swap(ctx context.Context, seen, next Row) (Row, bool, error) {
	ended := t.at(attrCompletedAt).Missing()
	if seen.completed() {
		ended = t.at(attrCompletedAt).Eq(ddb.Millis(seen.CompletedAt))
	}
	do := []ddb.Action{t.at(attrVersion).Set(ddb.Int(layout))}
	for name, value := range rows.All(&next) {
		do = append(do, t.at(name).Set(value))
	}
	return t.update(ctx, "swap", seen.Key, ddb.And(t.isKnown(),
		t.at(attrToken).Eq(ddb.Blob(seen.Token[:])),
		t.at(attrFence).Eq(ddb.Int(seen.Fence)),
		t.at(attrLeaseUntil).Eq(ddb.Millis(seen.LeaseUntil)), ended), do...)
}

// PutResult implements [Store]: one PutItem; 1 write unit for each KB, of what was
// there where that was larger.
func (t *rowTable) PutResult(ctx context.Context, p StoredResult) error {
	fields := ddb.Fields{
		t.at(attrVersion):   ddb.Int(layout),
		t.at(attrResultOf):  ddb.Text(p.Processor),
		t.at(attrExpiresOn): seconds(p.ExpiresOn),
	}
	if len(p.Body) > 0 {
		fields[t.at(attrResult)] = ddb.Blob(p.Body)
	}
	_, err := t.engine.Do(ctx, ddb.Put{
		Op: t.op("put result"), Item: t.names.resultItemKey(p.Key, p.Token).Merge(fields.Item()),
	})
	return err
}

// seconds is a time as TTL has it; none for the zero Time.
func seconds(at time.Time) (v ddb.Value) {
	if !at.IsZero() {
		v = ddb.Seconds(at)
	}
	return v
}
