package dedup

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// claimed sets what every claim sets.
func (t *Table) claimed(c Claim) []ddb.Action {
	do := append(make([]ddb.Action, 0, 10),
		t.at(attrVersion).Set(ddb.Int(layout)),
		t.at(attrToken).Set(ddb.Blob(c.Token[:])),
		t.at(attrStartedAt).Set(ddb.Millis(c.Now)),
		t.at(attrLeaseUntil).Set(ddb.Millis(c.LeaseUntil)),
		t.at(attrValidUntil).Set(ddb.Millis(c.ValidUntil)),
		t.at(attrExpiresOn).Set(seconds(c.ExpiresOn)))
	if c.Payload != nil {
		do = append(do, t.at(attrPayloadHash).Set(ddb.Blob(c.Payload)))
	}
	return do
}

// Claim implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *Table) Claim(ctx context.Context, c Claim) (Row, bool, error) {
	var attempts, payload ddb.Cond
	if c.MaxAttempts > 0 {
		attempts = t.at(attrAttempt).Lt(ddb.Int(c.MaxAttempts))
	}
	if c.Payload != nil {
		payload = ddb.Or(t.at(attrPayloadHash).Missing(), t.at(attrPayloadHash).Eq(ddb.Blob(c.Payload)))
	}
	return t.update(ctx, "claim", c.Key,
		ddb.Or(ddb.Path(t.names.IDKey).Missing(), ddb.And(t.isKnown(),
			t.at(attrValidUntil).Gt(ddb.Millis(c.Now)),
			t.at(attrCompletedAt).Missing(),
			t.at(attrLeaseUntil).Le(ddb.Millis(c.Now.Add(-c.Margin))),
			attempts, payload)),
		append(t.claimed(c),
			t.at(attrFence).PlusFrom(ddb.Millis(c.Now), 1),
			t.at(attrAttempt).PlusFrom(ddb.Int(0), 1),
			t.at(attrError).Remove())...)
}

// Replace implements [Store]: one UpdateItem, ALL_NEW; 1 write unit, or 1 for
// each KB of the row that it replaces.
func (t *Table) Replace(ctx context.Context, c Claim, seen int64) (Row, bool, error) {
	do := append(t.claimed(c),
		t.at(attrFence).Plus(1),
		t.at(attrAttempt).Set(ddb.Int(1)))
	if c.Payload == nil {
		do = append(do, t.at(attrPayloadHash).Remove())
	}
	for _, attribute := range ofOneLife {
		do = append(do, t.at(attribute).Remove())
	}
	return t.update(ctx, "replace", c.Key,
		ddb.And(t.isKnown(), t.at(attrFence).Eq(ddb.Int(seen)), t.at(attrValidUntil).Le(ddb.Millis(c.Now))), do...)
}

// isOwned holds for a row that is not completed and is this owner's.
func (t *Table) isOwned(o Owner) ddb.Cond {
	return ddb.And(t.isKnown(), t.at(attrToken).Eq(ddb.Blob(o.Token[:])), t.at(attrFence).Eq(ddb.Int(o.Fence)),
		t.at(attrCompletedAt).Missing())
}

// completed sets how the effect ended.
func (t *Table) completed(c Completion) []ddb.Action {
	do := append(t.expires(c.ValidUntil, c.ExpiresOn), t.at(attrCompletedAt).Set(ddb.Millis(c.At)))
	if c.Failed {
		return append(do, t.at(attrFailed).Set(ddb.Int(1)), t.at(attrError).Set(ddb.Text(c.Error)))
	}
	do = append(do, t.at(attrError).Remove(), t.at(attrCodec).Set(ddb.Text(c.Result.Codec)))
	if len(c.Result.Bytes) > 0 {
		do = append(do, t.at(attrResult).Set(ddb.Blob(c.Result.Bytes)))
	}
	if c.Result.Place != InRow {
		do = append(do, t.at(attrResultIn).Set(ddb.Text(string(c.Result.Place))))
	}
	if !c.Result.Until.IsZero() {
		do = append(do, t.at(attrResultUntil).Set(ddb.Millis(c.Result.Until)))
	}
	return do
}

// Complete implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *Table) Complete(ctx context.Context, o Owner, c Completion) (Row, bool, error) {
	return t.update(ctx, "complete", o.Key, t.isOwned(o), t.completed(c)...)
}

// Fail implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *Table) Fail(ctx context.Context, o Owner, why string) (Row, bool, error) {
	return t.update(ctx, "fail", o.Key, t.isOwned(o),
		t.at(attrLeaseUntil).Set(ddb.Millis(longAgo)), t.at(attrError).Set(ddb.Text(why)), t.at(attrPayloadHash).Remove())
}

// Extend implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *Table) Extend(ctx context.Context, o Owner, e Extension) (Row, bool, error) {
	until := ddb.Millis(e.LeaseUntil)
	return t.update(ctx, "extend", o.Key, ddb.And(t.isOwned(o), t.at(attrLeaseUntil).Lt(until)),
		append(t.expires(e.ValidUntil, e.ExpiresOn), t.at(attrLeaseUntil).Set(until))...)
}

// Invalidate implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *Table) Invalidate(ctx context.Context, k Key, seen int64, expiresOn time.Time) (Row, bool, error) {
	return t.update(ctx, "invalidate", k,
		ddb.And(t.isKnown(), t.at(attrFence).Eq(ddb.Int(seen)), t.at(attrCompletedAt).Exists()),
		t.expires(longAgo, expiresOn)...)
}

// Override implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (t *Table) Override(ctx context.Context, o Override) (Row, bool, error) {
	do := []ddb.Action{
		t.at(attrFence).Plus(1),
		t.at(attrToken).Set(ddb.Blob(o.Token[:])),
		t.at(attrRepair).Set(ddb.Text(string(o.Repair.Kind))),
		t.at(attrRepairedBy).Set(ddb.Text(o.Repair.By)),
		t.at(attrReason).Set(ddb.Text(o.Repair.Reason)),
		t.at(attrRepairedAt).Set(ddb.Millis(o.Repair.At)),
	}
	ends := []ddb.Action{
		t.at(attrLeaseUntil).Set(ddb.Millis(longAgo)), t.at(attrAttempt).Set(ddb.Int(0)), t.at(attrPayloadHash).Remove(),
	}
	if o.Completion != nil {
		ends = t.completed(*o.Completion)
	}
	return t.update(ctx, "override", o.Key,
		ddb.And(t.isKnown(), t.at(attrFence).Eq(ddb.Int(o.Seen)), t.at(attrCompletedAt).Missing()),
		slices.Concat(do, ends)...)
}

// PutResult implements [Store]: one PutItem; 1 write unit for each KB.
func (t *Table) PutResult(ctx context.Context, p StoredResult) error {
	_, err := t.engine.Do(ctx, ddb.Put{Op: t.op("put result"), Item: t.names.resultItemKey(p.Key, p.Token).Merge(ddb.Fields{
		t.at(attrVersion):   ddb.Int(layout),
		t.at(attrResultOf):  ddb.Text(p.Processor),
		t.at(attrResult):    ddb.Blob(p.Body),
		t.at(attrExpiresOn): seconds(p.ExpiresOn),
	}.Item())})
	return err
}

// DeleteResult implements [Store]: one DeleteItem; 1 write unit for each KB.
func (t *Table) DeleteResult(ctx context.Context, k Key, token Token) error {
	_, err := t.engine.Do(ctx, ddb.Delete{Op: t.op("delete result"), Key: t.names.resultItemKey(k, token)})
	return err
}
