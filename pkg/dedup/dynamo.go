package dedup

import (
	"context"
	"errors"
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
	if client == nil {
		return nil, missing("client")
	}
	if err := names.Validate(); err != nil {
		return nil, err
	}
	return &Dynamo{client: client, names: names.withDefaults()}, nil
}

// change is an update: what it sets and removes, and under which condition.
type change struct {
	*dynamo.Expression
	names     Names
	set       []string
	remove    []string
	condition string
}

func (s *Dynamo) change(condition string, uses ...string) *change {
	c := &change{Expression: dynamo.NewExpression(), names: s.names, condition: condition}
	c.use(uses...)
	return c
}

// use names attributes.
func (c *change) use(attributes ...string) {
	for _, name := range attributes {
		c.Key("#"+name, c.names.attribute(name))
	}
}

// to sets an attribute.
func (c *change) to(attribute string, value types.AttributeValue) {
	c.use(attribute)
	c.Value(attribute, value)
	c.set = append(c.set, "#"+attribute+" = :"+attribute)
}

// without removes attributes.
func (c *change) without(attributes ...string) {
	c.use(attributes...)
	for _, name := range attributes {
		c.remove = append(c.remove, "#"+name)
	}
}

// expires sets when the row expires, by its own account and by TTL's.
func (c *change) expires(validUntil, expiresOn time.Time) {
	c.to(attrValidUntil, dynamo.Millis(validUntil))
	if expiresOn.IsZero() {
		c.without(attrExpiresOn)
		return
	}
	c.to(attrExpiresOn, dynamo.Number(expiresOn.Unix()))
}

// update is one conditional UpdateItem. It returns the row that stands there
// afterwards, and whether the condition held.
func (s *Dynamo) update(ctx context.Context, k Key, c *change) (Row, bool, error) {
	expression := "SET " + strings.Join(c.set, ", ")
	if len(c.remove) > 0 {
		expression += " REMOVE " + strings.Join(c.remove, ", ")
	}
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &s.names.Table,
		Key:                                 s.names.key(k),
		UpdateExpression:                    &expression,
		ConditionExpression:                 &c.condition,
		ExpressionAttributeNames:            c.Names,
		ExpressionAttributeValues:           c.Values(),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		r, err := decodeRow(there, s.names)
		return r, false, err
	}
	if err != nil {
		return Row{}, false, dynamo.Translate(err)
	}
	r, err := decodeRow(out.Attributes, s.names)
	return r, err == nil, err
}

// claimed sets what every claim sets.
func (c *change) claimed(claim Claim) {
	c.Value("one", dynamo.Number(1))
	c.to(attrVersion, dynamo.Number(layout))
	c.to(attrToken, dynamo.Blob(claim.Token[:]))
	c.to(attrStartedAt, dynamo.Millis(claim.Now))
	c.to(attrLeaseUntil, dynamo.Millis(claim.LeaseUntil))
	c.expires(claim.ValidUntil, claim.ExpiresOn)
	if claim.Payload != nil {
		c.to(attrPayloadHash, dynamo.Blob(claim.Payload))
	}
}

// Claim implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Claim(ctx context.Context, claim Claim) (Row, bool, error) {
	condition := "attribute_not_exists(#id) OR #v <= :v AND #validUntil > :now AND attribute_not_exists(#completedAt) AND #leaseUntil <= :over"
	if claim.MaxAttempts > 0 {
		condition += " AND #attempt < :max"
	}
	if claim.Payload != nil {
		condition += " AND (attribute_not_exists(#payloadHash) OR #payloadHash = :payloadHash)"
	}
	c := s.change(condition, attrCompletedAt, attrFence, attrAttempt)
	c.Key("#id", s.names.IDKey)
	c.claimed(claim)
	c.without(attrError)
	c.set = append(c.set, "#fence = if_not_exists(#fence, :now) + :one", "#attempt = if_not_exists(#attempt, :zero) + :one")
	c.Value("now", dynamo.Millis(claim.Now)).Value("over", dynamo.Millis(claim.Now.Add(-claim.Margin))).Value("zero", dynamo.Number(0))
	if claim.MaxAttempts > 0 {
		c.Value("max", dynamo.Number(claim.MaxAttempts))
	}
	return s.update(ctx, claim.Key, c)
}

// Replace implements [Store]: one UpdateItem, ALL_NEW; 1 write unit, or 1 for
// each KB of the row that it replaces.
func (s *Dynamo) Replace(ctx context.Context, claim Claim, seen int64) (Row, bool, error) {
	c := s.change("#v <= :v AND #fence = :seen AND #validUntil <= :now", attrFence)
	c.claimed(claim)
	c.without(ofOneLife...)
	if claim.Payload == nil {
		c.without(attrPayloadHash)
	}
	c.to(attrAttempt, dynamo.Number(1))
	c.set = append(c.set, "#fence = #fence + :one")
	c.Value("seen", dynamo.Number(seen)).Value("now", dynamo.Millis(claim.Now))
	return s.update(ctx, claim.Key, c)
}

const isOwner = "#token = :token AND #fence = :fence AND attribute_not_exists(#completedAt)"

// owned is a change that only the owner of a row that is not completed can
// make.
func (s *Dynamo) owned(o Owner, condition string) *change {
	c := s.change(condition, attrToken, attrFence, attrCompletedAt)
	c.Value("token", dynamo.Blob(o.Token[:])).Value("fence", dynamo.Number(o.Fence))
	return c
}

// completed sets how the effect ended.
func (c *change) completed(done Completion) {
	c.to(attrCompletedAt, dynamo.Millis(done.At))
	c.expires(done.ValidUntil, done.ExpiresOn)
	if done.Failed {
		c.to(attrFailed, dynamo.Number(1))
		c.to(attrError, dynamo.Text(done.Error))
		return
	}
	c.without(attrError)
	c.to(attrCodec, dynamo.Text(done.Result.Codec))
	if len(done.Result.Bytes) > 0 {
		c.to(attrResult, dynamo.Blob(done.Result.Bytes))
	}
	if done.Result.Place != InRow {
		c.to(attrResultIn, dynamo.Text(string(done.Result.Place)))
	}
	if !done.Result.Until.IsZero() {
		c.to(attrResultUntil, dynamo.Millis(done.Result.Until))
	}
}

// Complete implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Complete(ctx context.Context, o Owner, done Completion) (Row, bool, error) {
	c := s.owned(o, isOwner)
	c.completed(done)
	return s.update(ctx, o.Key, c)
}

// Fail implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Fail(ctx context.Context, o Owner, why string) (Row, bool, error) {
	c := s.owned(o, isOwner)
	c.to(attrLeaseUntil, dynamo.Millis(longAgo))
	c.to(attrError, dynamo.Text(why))
	c.without(attrPayloadHash)
	return s.update(ctx, o.Key, c)
}

// Extend implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Extend(ctx context.Context, o Owner, e Extension) (Row, bool, error) {
	c := s.owned(o, isOwner+" AND #leaseUntil < :leaseUntil")
	c.to(attrLeaseUntil, dynamo.Millis(e.LeaseUntil))
	c.expires(e.ValidUntil, e.ExpiresOn)
	return s.update(ctx, o.Key, c)
}

// Invalidate implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Invalidate(ctx context.Context, k Key, seen int64, expiresOn time.Time) (Row, bool, error) {
	c := s.change("#fence = :seen AND attribute_exists(#completedAt)", attrFence, attrCompletedAt)
	c.Value("seen", dynamo.Number(seen))
	c.expires(longAgo, expiresOn)
	return s.update(ctx, k, c)
}

// Mend implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Mend(ctx context.Context, m Mending) (Row, bool, error) {
	c := s.change("#fence = :seen AND attribute_not_exists(#completedAt)", attrFence, attrCompletedAt)
	c.Value("seen", dynamo.Number(m.Seen)).Value("one", dynamo.Number(1))
	c.set = append(c.set, "#fence = #fence + :one")
	c.to(attrToken, dynamo.Blob(m.Token[:]))
	c.to(attrRepair, dynamo.Text(string(m.Repair.Kind)))
	c.to(attrRepairedBy, dynamo.Text(m.Repair.By))
	c.to(attrReason, dynamo.Text(m.Repair.Reason))
	c.to(attrRepairedAt, dynamo.Millis(m.Repair.At))
	if m.Completion != nil {
		c.completed(*m.Completion)
		return s.update(ctx, m.Key, c)
	}
	c.to(attrLeaseUntil, dynamo.Millis(longAgo))
	c.to(attrAttempt, dynamo.Number(0))
	c.without(attrPayloadHash)
	return s.update(ctx, m.Key, c)
}

// Row implements [Store]: one GetItem; 1 read unit strong, half a unit
// otherwise.
func (s *Dynamo) Row(ctx context.Context, k Key, strong bool) (Row, bool, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.names.Table, Key: s.names.key(k), ConsistentRead: &strong,
	})
	if err != nil || len(out.Item) == 0 {
		return Row{}, false, dynamo.Translate(err)
	}
	r, err := decodeRow(out.Item, s.names)
	return r, err == nil, err
}

// Rows implements [Store]: one Scan, eventually consistent; half a unit for
// each 4 KB that are looked at, about 15 rows; results count with them.
func (s *Dynamo) Rows(ctx context.Context, scan RowScan) (RowPage, error) {
	e := dynamo.NewExpression().Key("#resultOf", s.names.attribute(attrResultOf))
	filter := "attribute_not_exists(#resultOf)"
	if scan.Open {
		e.Key("#completedAt", s.names.attribute(attrCompletedAt))
		filter += " AND attribute_not_exists(#completedAt)"
	}
	if scan.Processor != "" && !s.names.OneKey {
		e.Key("#processor", s.names.ProcessorKey).Value("processor", dynamo.Text(scan.Processor))
		filter += " AND #processor = :processor"
	}
	in := &dynamodb.ScanInput{
		TableName: &s.names.Table, Limit: aws.Int32(int32(scan.Limit)), FilterExpression: &filter,
		ExpressionAttributeNames: e.Names, ExpressionAttributeValues: e.Values(),
	}
	if scan.After != "" {
		if in.ExclusiveStartKey = s.names.place(scan.After); in.ExclusiveStartKey == nil {
			return RowPage{}, &InvalidError{Field: "after", Problem: "is not where a page ended"}
		}
	}
	out, err := s.client.Scan(ctx, in)
	if err != nil {
		return RowPage{}, dynamo.Translate(err)
	}
	var page RowPage
	for _, it := range out.Items {
		r, err := decodeRow(it, s.names)
		var broken *RowError
		switch {
		case errors.As(err, &broken) && scan.Processor != "" && broken.Key.Processor != "" && broken.Key.Processor != scan.Processor:
			// Another processor's, in a table with one key.
		case errors.As(err, &broken):
			page.Broken = append(page.Broken, *broken)
		case scan.Processor == "" || scan.Processor == r.Processor:
			page.Rows = append(page.Rows, r)
		}
	}
	page.Next, err = s.names.placeText(out.LastEvaluatedKey)
	return page, err
}

// placeText is the place of an item as a text: the joined key of a table with
// two keys, the key itself of one with one.
func (n Names) placeText(key item) (string, error) {
	if len(key) == 0 {
		return "", nil
	}
	d := dynamo.Decoder{Item: key}
	first := d.Text(n.IDKey)
	if n.OneKey {
		return first, d.Err
	}
	return Key{ID: first, Processor: d.Text(n.ProcessorKey)}.joined(), d.Err
}

// place is the reverse of placeText; nil where the text is none.
func (n Names) place(text string) item {
	if n.OneKey {
		return item{n.IDKey: dynamo.Text(text)}
	}
	k, ok := splitKey(text)
	if !ok {
		return nil
	}
	return n.key(k)
}

// PutResult implements [Store]: one PutItem; 1 write unit for each KB.
func (s *Dynamo) PutResult(ctx context.Context, p StoredResult) error {
	it := s.names.resultItemKey(p.Key, p.Token)
	it[s.names.attribute(attrVersion)] = dynamo.Number(layout)
	it[s.names.attribute(attrResultOf)] = dynamo.Text(p.Processor)
	it[s.names.attribute(attrResult)] = dynamo.Blob(p.Body)
	if !p.ExpiresOn.IsZero() {
		it[s.names.attribute(attrExpiresOn)] = dynamo.Number(p.ExpiresOn.Unix())
	}
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.names.Table, Item: it})
	return dynamo.Translate(err)
}

// Result implements [Store]: one GetItem; 1 read unit for each 4 KB strong,
// half a unit otherwise.
func (s *Dynamo) Result(ctx context.Context, k Key, t Token, strong bool) ([]byte, bool, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.names.Table, Key: s.names.resultItemKey(k, t), ConsistentRead: &strong,
	})
	if err != nil || len(out.Item) == 0 {
		return nil, false, dynamo.Translate(err)
	}
	d := dynamo.Decoder{Item: s.names.plain(out.Item)}
	d.Layout(attrVersion, layout, ErrNewerLayout)
	body := d.BytesOr(attrResult)
	if d.Err != nil {
		return nil, false, &RowError{Key: k, Field: d.Failed, Err: d.Err}
	}
	return body, true, nil
}

// DeleteResult implements [Store]: one DeleteItem; 1 write unit for each KB.
func (s *Dynamo) DeleteResult(ctx context.Context, k Key, t Token) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.names.Table, Key: s.names.resultItemKey(k, t),
	})
	return dynamo.Translate(err)
}
