package dedup

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Claim implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *Table) Claim(ctx context.Context, c Claim) (Row, bool, error) {
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
func (t *Table) Swap(ctx context.Context, seen, next Row) (Row, bool, error) {
	ended := t.at(attrCompletedAt).Missing()
	if seen.completed() {
		ended = t.at(attrCompletedAt).Eq(ddb.Millis(seen.CompletedAt))
	}
	do := make([]ddb.Action, 0, len(attributes))
	for _, f := range fieldsOf(next) {
		do = append(do, t.at(f.name).Set(f.value))
	}
	return t.update(ctx, "swap", seen.Key, ddb.And(t.isKnown(),
		t.at(attrToken).Eq(ddb.Blob(seen.Token[:])),
		t.at(attrFence).Eq(ddb.Int(seen.Fence)),
		t.at(attrLeaseUntil).Eq(ddb.Millis(seen.LeaseUntil)), ended), do...)
}

// PutResult implements [Store]: one PutItem; 1 write unit for each KB, of what was
// there where that was larger.
func (t *Table) PutResult(ctx context.Context, p StoredResult) error {
	_, err := t.engine.Do(ctx, ddb.Put{Op: t.op("put result"), Item: t.names.resultItemKey(p.Key, p.Token).Merge(ddb.Fields{
		t.at(attrVersion):   ddb.Int(layout),
		t.at(attrResultOf):  ddb.Text(p.Processor),
		t.at(attrResult):    where(len(p.Body) > 0, ddb.Blob(p.Body)),
		t.at(attrExpiresOn): seconds(p.ExpiresOn),
	}.Item())})
	return err
}

// field is an attribute of a row and what it is; the zero Value where it is not there.
type field struct {
	name  ddb.Path
	value ddb.Value
}

// fieldsOf is a row as decodeRow reads it.
func fieldsOf(r Row) []field {
	return []field{
		{attrVersion, ddb.Int(layout)},
		{attrFence, ddb.Int(r.Fence)},
		{attrAttempt, ddb.Int(r.Attempt)},
		{attrToken, ddb.Blob(r.Token[:])},
		{attrStartedAt, ddb.Millis(r.StartedAt)},
		{attrLeaseUntil, ddb.Millis(r.LeaseUntil)},
		{attrValidUntil, ddb.Millis(r.ValidUntil)},
		{attrExpiresOn, seconds(r.ExpiresOn)},
		{attrPayloadHash, where(len(r.Payload) > 0, ddb.Blob(r.Payload))},
		{attrCompletedAt, where(r.completed(), ddb.Millis(r.CompletedAt))},
		{attrFailed, where(r.Failed, ddb.Int(1))},
		{attrError, where(r.Error != "", ddb.Text(r.Error))},
		{attrResult, where(len(r.Result.Bytes) > 0, ddb.Blob(r.Result.Bytes))},
		{attrCodec, where(r.Result.Codec != "", ddb.Text(r.Result.Codec))},
		{attrResultIn, where(r.Result.Place != InRow, ddb.Text(string(r.Result.Place)))},
		{attrResultUntil, where(!r.Result.Until.IsZero(), ddb.Millis(r.Result.Until))},
		{attrRepair, where(r.Repair.Kind != "", ddb.Text(string(r.Repair.Kind)))},
		{attrRepairedBy, where(r.Repair.By != "", ddb.Text(r.Repair.By))},
		{attrReason, where(r.Repair.Reason != "", ddb.Text(r.Repair.Reason))},
		{attrRepairedAt, where(!r.Repair.At.IsZero(), ddb.Millis(r.Repair.At))},
	}
}

// where is a value that an item has only where it is there.
func where(there bool, v ddb.Value) ddb.Value {
	if !there {
		return ddb.Value{}
	}
	return v
}

// seconds is a time as TTL has it; none for the zero Time.
func seconds(at time.Time) ddb.Value { return where(!at.IsZero(), ddb.Seconds(at)) }
