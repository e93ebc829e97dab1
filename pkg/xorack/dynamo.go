package xorack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// Dynamo is the [Store] on a DynamoDB table as [Names.Tables] defines it.
type Dynamo struct {
	client *dynamodb.Client
	names  Names
}

var _ Store = (*Dynamo)(nil)

// NewDynamo returns the Store on this table. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) (*Dynamo, error) {
	if err := names.Validate(); err != nil {
		return nil, err
	}
	return &Dynamo{client: client, names: names.withDefaults()}, nil
}

// Parts of conditions. Their names and values are set by the functions of the
// same names. Comparisons with an attribute that is missing are false, but for
// <>, which is true.
const (
	isSame    = "(attribute_not_exists(#inc) OR #inc = :inc)"
	isThis    = "#inc = :inc"
	isCreated = "attribute_exists(#created)"
	isOpen    = "attribute_not_exists(#st) AND (attribute_not_exists(#created) OR #n <> :zero)"
	isEnded   = "(attribute_exists(#st) OR attribute_exists(#created) AND #n = :zero)"
	isKnown   = "(attribute_not_exists(#v) OR #v <= :v)"
	hasEdges  = "attribute_not_exists(#stampLen)"
	hasStamps = "attribute_exists(#stampLen)"
	isThere   = "attribute_exists(#tag)"
	setKnown  = "#v = if_not_exists(#v, :v)"
)

// expression starts an expression on chains: with what isSame or isThis,
// isCreated, isOpen or isEnded, and isKnown ask for, as far as they are used.
func (s *Dynamo) expression(inc *Incarnation, states bool) *dynamo.Expression {
	e := dynamo.NewExpression().Use(attrVersion).Value("v", dynamo.Number(layout))
	if inc != nil {
		e.Use(attrIncarnation).Value("inc", dynamo.Blob(inc[:]))
	}
	if states {
		e.Use(attrRecorded, attrCreated, attrSum).Value("zero", dynamo.Number(0))
	}
	return e
}

func and(conditions ...string) string { return strings.Join(conditions, " AND ") }

// update is one conditional UpdateItem. It returns the chain that stands there
// afterwards and whether the condition held.
func (s *Dynamo) update(ctx context.Context, tag, update, condition string, e *dynamo.Expression) (Chain, bool, error) {
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &s.names.Chains,
		Key:                                 item{s.names.TagKey: dynamo.Text(tag)},
		UpdateExpression:                    &update,
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            e.Names,
		ExpressionAttributeValues:           e.Values(),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		c, err := decodeChain(there, s.names)
		return c, false, err
	}
	if err != nil {
		return Chain{}, false, dynamo.Translate(err)
	}
	c, err := decodeChain(out.Attributes, s.names)
	return c, err == nil, err
}

// Create implements [Store]: one UpdateItem, ALL_NEW; 1 write unit, and 1 of
// the index.
func (s *Dynamo) Create(ctx context.Context, c Chain) (Chain, bool, error) {
	e := s.expression(&c.Incarnation, false).
		Use(attrCreated, attrRecorded, attrDeadline, attrDue, attrDueShard, attrSeen, attrExpiresOn, attrStampLen).
		Value(attrCreated, dynamo.Millis(c.Created)).Value(attrDeadline, dynamo.Millis(c.Deadline)).
		Value(attrDue, dynamo.Millis(c.Due)).Value(attrDueShard, dynamo.Number(dueShard(c.Tag))).
		Value(attrSeen, dynamo.Millis(c.Seen)).Value(attrExpiresOn, dynamo.Number(c.ExpiresOn.Unix()))
	set := "SET " + setKnown + ", #inc = :inc, #created = :created, #deadline = :deadline, #due = :due, #dueShard = :dueShard, " +
		"#seen = if_not_exists(#seen, :seen), #expiresOn = :expiresOn"
	condition := and("attribute_not_exists(#created)", "attribute_not_exists(#st)", isSame, isKnown)
	if c.Idle > 0 {
		e.Use(attrIdle).Value(attrIdle, dynamo.Number(c.Idle.Milliseconds()))
		set += ", #idle = :idle"
	}
	if !c.Parent.IsZero() {
		e.Use(attrParent).Value(attrParent, parentValue(c.Parent, c.Sub))
		set += ", #parent = :parent"
	}
	if c.Data != "" {
		e.Use(attrData).Value(attrData, dynamo.Text(c.Data))
		set += ", #data = :data"
	}
	if c.HasStamps() {
		e.Use(attrStamps, attrSum).Value(attrStampLen, dynamo.Number(int64(c.StampLen))).
			Value(attrStamps, &types.AttributeValueMemberBS{Value: c.Stamps})
		return s.update(ctx, c.Tag, set+", #stampLen = :stampLen ADD #stamps :stamps",
			and(condition, "attribute_not_exists(#n)", "(attribute_not_exists(#stampLen) OR #stampLen = :stampLen)"), e)
	}
	e.Use(attrSum, attrEdges, attrOptions, attrLastOp).
		Value(attrSum, sumValue(c.Sum)).Value(attrEdges, dynamo.Number(c.Edges)).
		Value(attrOptions, dynamo.Blob(c.Options[:])).Value(attrLastOp, dynamo.Blob(c.LastOp[:]))
	return s.update(ctx, c.Tag, set+", #cd = :cd, #lastOp = :lastOp ADD #n :n, #edges :edges", and(condition, hasEdges), e)
}

// Replace implements [Store]: one PutItem; 1 write unit for each KB of the
// larger one, and 1 or 2 of the index.
func (s *Dynamo) Replace(ctx context.Context, c Chain, seen Chain) (Chain, bool, error) {
	e := s.expression(&seen.Incarnation, false).Use(attrCreated, attrExpiresOn).Value("now", dynamo.Number(c.Created.Unix()))
	condition := and(isThis, isKnown, "(attribute_not_exists(#created) OR #expiresOn <= :now)")
	if seen.Recorded == Deleted {
		e = s.expression(nil, false).Use(attrRecorded, attrLastOp, attrDue).
			Value("deleted", dynamo.Text(string(Deleted))).Value("op", dynamo.Blob(seen.LastOp[:]))
		condition = and("#st = :deleted", "#lastOp = :op", "attribute_not_exists(#due)", isKnown)
	}
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &s.names.Chains,
		Item:                                encodeChain(c, s.names),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            e.Names,
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		found, err := decodeChain(there, s.names)
		return found, false, err
	}
	if err != nil {
		return Chain{}, false, dynamo.Translate(err)
	}
	return c, true, nil
}

// Apply implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each KB
// of the item, which has about 100 operations in the first.
func (s *Dynamo) Apply(ctx context.Context, w Work) (Chain, bool, error) {
	e := s.expression(&w.Incarnation, true).
		Use(attrSeen, attrLastOp, attrExpiresOn, attrEdges, attrOps, attrStampLen).
		Value("now", dynamo.Millis(w.Now)).Value("last", dynamo.Blob(w.Ops[len(w.Ops)-1][:])).
		Value("orphan", dynamo.Number(w.Orphan.Unix())).Value("delta", sumValue(w.Delta)).
		Value("edges", dynamo.Number(w.Edges)).Value("ops", opsValue(w.Ops)).
		Value("room", dynamo.Number(int64(w.Room)))
	// One NOT around all: a hundred of them would be more operators than an
	// expression may have.
	var contains []string
	for i, op := range slices.Concat(w.Ops, w.Before) {
		name := fmt.Sprint("i", i)
		e.Value(name, dynamo.Blob(op[:]))
		contains = append(contains, "contains(#ops, :"+name+")")
	}
	splits := ""
	if len(w.Splits) > 0 {
		splits = ", #kids :kids"
		e.Use(attrSplits).Value(attrSplits, splitsValue(w.Splits))
	}
	return s.update(ctx, w.Tag,
		"SET "+setKnown+", #inc = :inc, #seen = :now, #lastOp = :last, #expiresOn = if_not_exists(#expiresOn, :orphan) "+
			"ADD #n :delta, #edges :edges, #ops :ops"+splits,
		and(isOpen, isSame, hasEdges, isKnown, "NOT ("+strings.Join(contains, " OR ")+")",
			"(attribute_not_exists(#ops) OR size(#ops) <= :room)"), e)
}

// Fail implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each KB,
// and up to 2 of the index.
func (s *Dynamo) Fail(ctx context.Context, f Failure) (Chain, bool, error) {
	e := s.expression(&f.Incarnation, true).
		Use(attrReason, attrLastOp, attrDue, attrDueShard, attrExpiresOn, attrEndedAt, attrOps, attrStampLen).
		Value("failed", dynamo.Text(string(Failed))).Value("reason", dynamo.Text(f.Reason)).Value("op", dynamo.Blob(f.Op[:])).
		Value("now", dynamo.Millis(f.Now)).Value("shard", dynamo.Number(dueShard(f.Tag))).Value("never", dynamo.Number(Never.Unix()))
	return s.update(ctx, f.Tag,
		"SET "+setKnown+", #inc = :inc, #st = :failed, #reason = :reason, #lastOp = :op, #endedAt = :now, #due = :now, #dueShard = :shard, #expiresOn = :never",
		and(isOpen, isSame, hasEdges, isKnown, "NOT contains(#ops, :op)"), e)
}

// Extend implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each KB.
func (s *Dynamo) Extend(ctx context.Context, tag string, inc Incarnation, deadline time.Time) (Chain, bool, error) {
	e := s.expression(&inc, true).Use(attrDeadline).Value("deadline", dynamo.Millis(deadline))
	return s.update(ctx, tag, "SET #deadline = :deadline",
		and(isThis, isCreated, isOpen, isKnown, "#deadline < :deadline"), e)
}

// TimeOut implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each
// KB.
func (s *Dynamo) TimeOut(ctx context.Context, t Overdue) (Chain, bool, error) {
	e := s.expression(&t.Incarnation, true).Use(attrReason, attrEndedAt).
		Value("timedOut", dynamo.Text(string(TimedOut))).Value("reason", dynamo.Text(t.Reason)).Value("now", dynamo.Millis(t.Now))
	overdue := "#deadline <= :now"
	if t.Seen.IsZero() {
		e.Use(attrDeadline)
	} else {
		e.Use(attrSeen).Value("seen", dynamo.Millis(t.Seen))
		overdue = "#seen = :seen"
	}
	return s.update(ctx, t.Tag, "SET #st = :timedOut, #reason = :reason, #endedAt = :now",
		and(isThis, isCreated, isOpen, isKnown, overdue), e)
}

// Abandon implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each
// KB, and up to 2 of the index.
func (s *Dynamo) Abandon(ctx context.Context, o Overdue) (Chain, bool, error) {
	e := s.expression(&o.Incarnation, true).
		Use(attrReason, attrDue, attrDueShard, attrExpiresOn, attrEndedAt, attrDeadline, attrStampLen).
		Value("timedOut", dynamo.Text(string(TimedOut))).Value("reason", dynamo.Text(o.Reason)).
		Value("now", dynamo.Millis(o.Now)).Value("shard", dynamo.Number(dueShard(o.Tag))).Value("never", dynamo.Number(Never.Unix()))
	set := "SET " + setKnown + ", #inc = :inc, #st = :timedOut, #reason = :reason, #endedAt = :now, #due = :now, #dueShard = :shard, #expiresOn = :never"
	if o.Data != "" {
		e.Use(attrData).Value(attrData, dynamo.Text(o.Data))
		set += ", #data = :data"
	}
	return s.update(ctx, o.Tag, set,
		and(isOpen, isSame, hasEdges, isKnown, "(attribute_not_exists(#created) OR #deadline <= :now)"), e)
}

// Postpone implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each
// KB, and 2 of the index.
func (s *Dynamo) Postpone(ctx context.Context, tag string, inc Incarnation, from, to time.Time) (Chain, bool, error) {
	e := s.expression(&inc, true).Use(attrDue).Value("from", dynamo.Millis(from)).Value("to", dynamo.Millis(to))
	return s.update(ctx, tag, "SET #due = :to", and(isThis, isOpen, isKnown, "#due = :from"), e)
}

// Delete implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each
// KB, and up to 2 of the index.
func (s *Dynamo) Delete(ctx context.Context, tag string, op Op, now time.Time) (Chain, bool, error) {
	e := s.expression(nil, true).Key("#tag", s.names.TagKey).
		Use(attrLastOp, attrDue, attrDueShard, attrExpiresOn, attrEndedAt, attrStampLen).
		Value("deleted", dynamo.Text(string(Deleted))).Value("op", dynamo.Blob(op[:])).Value("now", dynamo.Millis(now)).
		Value("shard", dynamo.Number(dueShard(tag))).Value("never", dynamo.Number(Never.Unix()))
	return s.update(ctx, tag,
		"SET "+setKnown+", #st = :deleted, #lastOp = :op, #endedAt = :now, #due = :now, #dueShard = :shard, #expiresOn = :never",
		and(isThere, isOpen, hasEdges, isKnown), e)
}

// Seal implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each KB,
// and 1 of the index.
func (s *Dynamo) Seal(ctx context.Context, tag string, inc Incarnation, ended, expires time.Time) (Chain, bool, error) {
	e := s.expression(&inc, true).Use(attrDue, attrDueShard, attrEndedAt, attrExpiresOn).
		Value("done", dynamo.Text(string(Done))).Value("ended", dynamo.Millis(ended)).Value("expires", dynamo.Number(expires.Unix()))
	return s.update(ctx, tag,
		"SET #st = if_not_exists(#st, :done), #endedAt = if_not_exists(#endedAt, :ended), #expiresOn = :expires REMOVE #due, #dueShard",
		and(isThis, "attribute_exists(#due)", isEnded, isKnown), e)
}

// AddStamp implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each
// KB.
func (s *Dynamo) AddStamp(ctx context.Context, w Stamp) (Chain, bool, error) {
	e := s.expression(nil, false).Use(attrRecorded, attrStampLen, attrStamps, attrSum, attrSeen, attrExpiresOn).
		Value("len", dynamo.Number(int64(len(w.Marked)-stampMark))).Value("now", dynamo.Millis(w.Now)).
		Value("stamps", &types.AttributeValueMemberBS{Value: [][]byte{w.Marked}}).
		Value("room", dynamo.Number(int64(w.Room))).Value("orphan", dynamo.Number(w.Orphan.Unix()))
	return s.update(ctx, w.Tag,
		"SET "+setKnown+", #stampLen = :len, #seen = :now, #expiresOn = if_not_exists(#expiresOn, :orphan) ADD #stamps :stamps",
		and("attribute_not_exists(#st)", "attribute_not_exists(#n)", isKnown,
			"(attribute_not_exists(#stampLen) OR #stampLen = :len)", "(attribute_not_exists(#stamps) OR size(#stamps) <= :room)"), e)
}

// Settle implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for each KB.
func (s *Dynamo) Settle(ctx context.Context, tag string, inc Incarnation, stamps int, now time.Time) (Chain, bool, error) {
	e := s.expression(&inc, false).Use(attrRecorded, attrCreated, attrStamps, attrEndedAt).
		Value("done", dynamo.Text(string(Done))).Value("now", dynamo.Millis(now)).Value("stamps", dynamo.Number(int64(stamps)))
	return s.update(ctx, tag, "SET #st = :done, #endedAt = :now",
		and(isThis, isCreated, "attribute_not_exists(#st)", isKnown, "size(#stamps) = :stamps"), e)
}

// DeleteStamps implements [Store]: one UpdateItem, ALL_NEW; 1 write unit for
// each KB, and 1 of the index.
func (s *Dynamo) DeleteStamps(ctx context.Context, tag string, op Op, now, expires time.Time) (Chain, bool, error) {
	e := s.expression(nil, false).Key("#tag", s.names.TagKey).
		Use(attrRecorded, attrLastOp, attrDue, attrDueShard, attrExpiresOn, attrEndedAt, attrStampLen).
		Value("deleted", dynamo.Text(string(Deleted))).Value("op", dynamo.Blob(op[:])).
		Value("now", dynamo.Millis(now)).Value("expires", dynamo.Number(expires.Unix()))
	return s.update(ctx, tag,
		"SET #st = :deleted, #lastOp = :op, #endedAt = :now, #expiresOn = :expires REMOVE #due, #dueShard",
		and(isThere, hasStamps, "(attribute_not_exists(#st) OR #st <> :deleted)", isKnown), e)
}

// Chain implements [Store]: one strong GetItem; 1 read unit for each 4 KB.
func (s *Dynamo) Chain(ctx context.Context, tag string) (Chain, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.names.Chains,
		Key:            item{s.names.TagKey: dynamo.Text(tag)},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Chain{}, dynamo.Translate(err)
	}
	return decodeChain(out.Item, s.names)
}

// Due implements [Store]: one Query of the index; half a read unit for each
// 4 KB, about 60 tags.
func (s *Dynamo) Due(ctx context.Context, q DueQuery) ([]DueChain, error) {
	e := dynamo.NewExpression().Use(attrDueShard, attrDue).
		Value("shard", dynamo.Number(int64(q.Shard))).Value("at", dynamo.Millis(q.At))
	input := &dynamodb.QueryInput{
		TableName:                 &s.names.Chains,
		IndexName:                 aws.String(dueIndex),
		KeyConditionExpression:    aws.String("#dueShard = :shard AND #due <= :at"),
		ExpressionAttributeNames:  e.Names,
		ExpressionAttributeValues: e.Values(),
		Limit:                     aws.Int32(int32(q.Limit)),
	}
	if q.After.Tag != "" {
		input.ExclusiveStartKey = item{
			s.names.TagKey: dynamo.Text(q.After.Tag),
			attrDueShard:   dynamo.Number(int64(q.Shard)),
			attrDue:        dynamo.Millis(q.After.Due),
		}
	}
	out, err := s.client.Query(ctx, input)
	if err != nil {
		return nil, dynamo.Translate(err)
	}
	due := make([]DueChain, 0, len(out.Items))
	for _, it := range out.Items {
		d := dynamo.Decoder{Item: it}
		due = append(due, DueChain{d.Text(s.names.TagKey), d.MillisOr(attrDue)})
		if d.Err != nil {
			return nil, d.Err
		}
	}
	return due, nil
}
