package cursor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// Dynamo is the [Store] on DynamoDB tables as [Names.Tables] defines them.
type Dynamo struct {
	client *dynamodb.Client
	names  Names
}

var _ Store = (*Dynamo)(nil)

// NewDynamo returns the Store on these tables. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) (*Dynamo, error) {
	if err := names.Validate(); err != nil {
		return nil, err
	}
	return &Dynamo{client: client, names: names.withDefaults()}, nil
}

// notThere is the condition that an item does not exist.
func (s *Dynamo) notThere() *dynamo.Expression {
	return dynamo.NewExpression().Key("#queue", s.names.QueueKey)
}

const (
	notThere = "attribute_not_exists(#queue)"
	isThere  = "attribute_exists(#queue)"
)

// CreateCursor implements [Store]: one PutItem; 1 write unit.
func (s *Dynamo) CreateCursor(ctx context.Context, c Cursor) (Cursor, error) {
	there, err := s.put(ctx, s.names.Cursors, encodeCursor(c, s.names))
	if err != nil || there == nil {
		return c, err
	}
	return decodeCursor(there, s.names)
}

// put stores an item where none is, and returns the item that is there
// already, if so.
func (s *Dynamo) put(ctx context.Context, table string, new item) (item, error) {
	e := s.notThere()
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &table,
		Item:                                new,
		ConditionExpression:                 aws.String(notThere),
		ExpressionAttributeNames:            e.Names,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		return there, nil
	}
	return nil, dynamo.Translate(err)
}

// Cursor implements [Store]: one GetItem; 1 read unit strong, half a unit
// otherwise.
func (s *Dynamo) Cursor(ctx context.Context, queue string, strong bool) (Cursor, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.names.Cursors,
		Key:            item{s.names.QueueKey: dynamo.Text(queue)},
		ConsistentRead: &strong,
	})
	if err != nil {
		return Cursor{}, dynamo.Translate(err)
	}
	return decodeCursor(out.Item, s.names)
}

// update is one conditional UpdateItem on a cursor. It returns the cursor that
// stands there afterwards and whether the condition held.
func (s *Dynamo) update(ctx context.Context, queue, update, condition string, e *dynamo.Expression) (Cursor, bool, error) {
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &s.names.Cursors,
		Key:                                 item{s.names.QueueKey: dynamo.Text(queue)},
		UpdateExpression:                    &update,
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            e.Names,
		ExpressionAttributeValues:           e.Values(),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		c, err := decodeCursor(there, s.names)
		return c, false, err
	}
	if err != nil {
		return Cursor{}, false, dynamo.Translate(err)
	}
	c, err := decodeCursor(out.Attributes, s.names)
	return c, true, err
}

// Move implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Move(ctx context.Context, queue string, from, to int64, now time.Time) (Cursor, bool, error) {
	e := dynamo.NewExpression().Use(attrPosition, attrGapSince, attrChange, attrTailFrom).
		Value("from", dynamo.Number(from)).Value("to", dynamo.Number(to)).
		Value("now", dynamo.Millis(now)).Value("advance", dynamo.Text(changeAdvance))
	return s.update(ctx, queue,
		"SET #position = :to, #gapSince = :now, #change = :advance",
		"#position = :from AND attribute_not_exists(#tailFrom)", e)
}

// OpenGap implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) OpenGap(ctx context.Context, queue string, seq int64, now time.Time) (Cursor, error) {
	e := dynamo.NewExpression().Use(attrPosition, attrParked, attrGapSince, attrChange, attrTailFrom).
		Value("seq", dynamo.Number(seq)).Value("before", dynamo.Number(seq-1)).
		Value("now", dynamo.Millis(now)).Value("park", dynamo.Text(changePark))
	c, _, err := s.update(ctx, queue,
		"SET #parked = :seq, #gapSince = :now, #change = :park",
		"#position < :before AND #parked <= #position AND #parked < :seq AND attribute_not_exists(#tailFrom)", e)
	return c, err
}

// WidenGap implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) WidenGap(ctx context.Context, queue string, seq int64) (Cursor, error) {
	e := dynamo.NewExpression().Use(attrPosition, attrParked, attrChange, attrTailFrom).
		Value("seq", dynamo.Number(seq)).Value("before", dynamo.Number(seq-1)).Value("park", dynamo.Text(changePark))
	c, _, err := s.update(ctx, queue,
		"SET #parked = :seq, #change = :park",
		"#position < :before AND #parked > #position AND #parked < :seq AND attribute_not_exists(#tailFrom)", e)
	return c, err
}

// Configure implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Configure(ctx context.Context, queue string, change Change) (Cursor, bool, error) {
	e := dynamo.NewExpression().Use(attrChange).Key("#queue", s.names.QueueKey).Value("other", dynamo.Text(changeOther))
	set, condition := []string{"#change = :other"}, isThere
	add := func(attribute string, value types.AttributeValue) {
		e.Use(attribute).Value(attribute, value)
		set = append(set, "#"+attribute+" = :"+attribute)
	}
	if change.First != nil {
		e.Use(attrFirst).Value(attrFirst, dynamo.Number(*change.First))
		condition += " AND #first = :first"
	}
	if change.Kind != nil {
		e.Use(attrTailFrom)
		there := " AND attribute_not_exists(#tailFrom)"
		if *change.Kind == KindArrival {
			there = " AND attribute_exists(#tailFrom)"
		}
		condition += there
	}
	if change.Policy != nil {
		add(attrPolicy, dynamo.Text(string(*change.Policy)))
	}
	if change.GapAfter != nil {
		add(attrGapAfter, dynamo.Number(change.GapAfter.Milliseconds()))
	}
	if change.MaxAhead != nil {
		add(attrMaxAhead, dynamo.Number(*change.MaxAhead))
	}
	if change.Mode != nil {
		add(attrMode, dynamo.Text(string(*change.Mode)))
	}
	return s.update(ctx, queue, "SET "+strings.Join(set, ", "), condition, e)
}

// Announce implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Announce(ctx context.Context, queue string, was, seq int64) (bool, error) {
	e := dynamo.NewExpression().Use(attrAnnounced, attrChange).Key("#queue", s.names.QueueKey).Value("other", dynamo.Text(changeOther))
	condition := isThere + " AND attribute_not_exists(#announced)"
	if was != noneAnnounced {
		e.Value("was", dynamo.Number(was))
		condition = isThere + " AND #announced = :was"
	}
	update := "SET #change = :other REMOVE #announced"
	if seq != noneAnnounced {
		e.Value("seq", dynamo.Number(seq))
		update = "SET #change = :other, #announced = :seq"
	}
	c, _, err := s.update(ctx, queue, update, condition, e)
	return c.Exists() && c.Announced == seq, err
}

// Nudge implements [Store]: one UpdateItem; 1 write unit.
func (s *Dynamo) Nudge(ctx context.Context, queue string, now time.Time) error {
	e := dynamo.NewExpression().Use(attrNudged, attrChange).Key("#queue", s.names.QueueKey).
		Value("now", dynamo.Millis(now)).Value("advance", dynamo.Text(changeAdvance))
	_, _, err := s.update(ctx, queue, "SET #nudged = :now, #change = :advance", isThere, e)
	return err
}

// RaiseFloor implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) RaiseFloor(ctx context.Context, queue string, floor int64, now time.Time) (Cursor, error) {
	e := dynamo.NewExpression().Use(attrFloor, attrFloorAt, attrPosition, attrChange).
		Value("floor", dynamo.Number(floor)).Value("now", dynamo.Millis(now)).Value("other", dynamo.Text(changeOther))
	c, _, err := s.update(ctx, queue, "SET #floor = :floor, #floorSince = :now, #change = :other",
		"#position >= :floor AND (attribute_not_exists(#floor) OR #floor < :floor)", e)
	return c, err
}

// Cursors implements [Store]: one Scan, eventually consistent; half a unit
// for each 4 KB that are looked at, about 35 cursors.
func (s *Dynamo) Cursors(ctx context.Context, scan CursorScan) (CursorPage, error) {
	in := &dynamodb.ScanInput{
		TableName:     &s.names.Cursors,
		Segment:       aws.Int32(int32(scan.Segment)),
		TotalSegments: aws.Int32(int32(scan.Segments)),
		Limit:         aws.Int32(int32(scan.Limit)),
	}
	e := dynamo.NewExpression()
	var conditions []string
	if scan.Only.Gaps {
		e.Use(attrParked, attrPosition, attrAnnounced)
		conditions = append(conditions, "(#parked > #position OR attribute_exists(#announced))")
	}
	if since := scan.Only.MovedSince; !since.IsZero() {
		e.Use(attrGapSince, attrNudged).Value("since", dynamo.Millis(since))
		conditions = append(conditions, "(#gapSince >= :since OR #nudged >= :since)")
	}
	if len(conditions) > 0 {
		in.FilterExpression = aws.String(strings.Join(conditions, " AND "))
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.Names, e.Values()
	}
	if scan.After != "" {
		in.ExclusiveStartKey = item{s.names.QueueKey: dynamo.Text(scan.After)}
	}
	out, err := s.client.Scan(ctx, in)
	if err != nil {
		return CursorPage{}, dynamo.Translate(err)
	}
	var page CursorPage
	for _, it := range out.Items {
		c, err := decodeCursor(it, s.names)
		if err != nil {
			return CursorPage{}, err
		}
		page.Cursors = append(page.Cursors, c)
	}
	if len(out.LastEvaluatedKey) > 0 {
		d := dynamo.Decoder{Item: out.LastEvaluatedKey}
		page.Next = d.Text(s.names.QueueKey)
		return page, d.Err
	}
	return page, nil
}

// PutMessage implements [Store]: one PutItem; 1 write unit for each KB.
func (s *Dynamo) PutMessage(ctx context.Context, m Message) (Message, error) {
	there, err := s.put(ctx, s.names.Messages, encodeMessage(m, s.names))
	if err != nil || there == nil {
		return m, err
	}
	return s.decodeMessage(there)
}

func (s *Dynamo) decodeMessage(it item) (Message, error) {
	m, err := decodeMessage(it, s.names)
	if err != nil {
		return Message{}, fmt.Errorf("message: %w", err)
	}
	return m, nil
}

// Message implements [Store]: one strong GetItem; 1 read unit for each 4 KB,
// and 1 where there is none.
func (s *Dynamo) Message(ctx context.Context, queue string, seq int64) (Message, bool, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.names.Messages,
		Key:            item{s.names.QueueKey: dynamo.Text(queue), s.names.SeqKey: dynamo.Number(seq)},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil || len(out.Item) == 0 {
		return Message{}, false, dynamo.Translate(err)
	}
	m, err := s.decodeMessage(out.Item)
	return m, err == nil, err
}

// rangeQuery asks the messages table for a range.
func (s *Dynamo) rangeQuery(query Query) *dynamodb.QueryInput {
	e := dynamo.NewExpression().Key("#queue", s.names.QueueKey).Key("#seq", s.names.SeqKey).
		Value("queue", dynamo.Text(query.Queue)).Value("first", dynamo.Number(query.First)).Value("last", dynamo.Number(query.Last))
	in := &dynamodb.QueryInput{
		TableName:                 &s.names.Messages,
		KeyConditionExpression:    aws.String("#queue = :queue AND #seq BETWEEN :first AND :last"),
		ExpressionAttributeNames:  e.Names,
		ExpressionAttributeValues: e.Values(),
		ConsistentRead:            &query.Strong,
		ScanIndexForward:          aws.Bool(!query.Backwards),
	}
	if query.Limit > 0 {
		in.Limit = aws.Int32(int32(query.Limit))
	}
	return in
}

// Messages implements [Store]: one Query of at most 1 MB; 1 read unit for each
// 4 KB strong, half a unit otherwise.
func (s *Dynamo) Messages(ctx context.Context, query Query) (Page, error) {
	in := s.rangeQuery(query)
	if query.HeadsOnly {
		e := dynamo.Expression{Names: in.ExpressionAttributeNames}
		e.Use(attrVersion, attrExpiresOn, attrTombstone, attrEntries)
		in.ProjectionExpression = aws.String("#queue, #seq, #v, #expiresOn, #tombstone, #entries")
	}
	out, err := s.client.Query(ctx, in)
	if err != nil {
		return Page{}, dynamo.Translate(err)
	}
	page := Page{Messages: make([]Message, 0, len(out.Items)), More: len(out.LastEvaluatedKey) > 0}
	for _, it := range out.Items {
		if isOrderItem(it) {
			continue
		}
		m, err := s.decodeMessage(it)
		if err != nil {
			return Page{}, err
		}
		page.Messages = append(page.Messages, m)
	}
	return page, nil
}

// KeepUntil implements [Store]: one UpdateItem; 1 write unit for each KB.
func (s *Dynamo) KeepUntil(ctx context.Context, queue string, seq int64, until time.Time) (bool, error) {
	e := dynamo.NewExpression().Use(attrExpiresOn).Key("#queue", s.names.QueueKey).Value("until", dynamo.Number(until.Unix()))
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:        &s.names.Messages,
		Key:              item{s.names.QueueKey: dynamo.Text(queue), s.names.SeqKey: dynamo.Number(seq)},
		UpdateExpression: aws.String("SET #expiresOn = :until"),
		// Without the first half, a message that was deleted meanwhile would
		// come back as a hollow item.
		ConditionExpression:                 aws.String(isThere + " AND #expiresOn < :until"),
		ExpressionAttributeNames:            e.Names,
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		return len(there) > 0, nil
	}
	return err == nil, dynamo.Translate(err)
}

// maxDelete is how many items a BatchWriteItem takes.
const maxDelete = 25

// DeleteMessages implements [Store]: one BatchWriteItem; 1 write unit for each
// KB of each message.
func (s *Dynamo) DeleteMessages(ctx context.Context, queue string, seqs []int64) ([]int64, error) {
	if len(seqs) > maxDelete {
		return nil, fmt.Errorf("%d messages to delete: at most %d in a request", len(seqs), maxDelete)
	}
	requests := make([]types.WriteRequest, len(seqs))
	for i, seq := range seqs {
		key := item{s.names.QueueKey: dynamo.Text(queue), s.names.SeqKey: dynamo.Number(seq)}
		requests[i].DeleteRequest = &types.DeleteRequest{Key: key}
	}
	out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{s.names.Messages: requests},
	})
	if err != nil {
		return nil, dynamo.Translate(err)
	}
	var left []int64
	for _, request := range out.UnprocessedItems[s.names.Messages] {
		d := dynamo.Decoder{Item: request.DeleteRequest.Key}
		left = append(left, d.Number(s.names.SeqKey))
		if d.Err != nil {
			return nil, d.Err
		}
	}
	return left, nil
}

// SweepProgress implements [Store]: one strong GetItem; 1 read unit.
func (s *Dynamo) SweepProgress(ctx context.Context, name string) (Progress, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.names.Sweeps,
		Key:            item{attrSweepName: dynamo.Text(name)},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil || len(out.Item) == 0 {
		return Progress{}, dynamo.Translate(err)
	}
	d := dynamo.Decoder{Item: out.Item}
	p := Progress{
		Name:     d.Text(attrSweepName),
		After:    d.TextOr(attrAfter, ""),
		Began:    d.MillisOr(attrBegan),
		Before:   d.MillisOr(attrBefore),
		Finished: d.MillisOr(attrFinished),
	}
	if d.Err != nil {
		return Progress{}, fmt.Errorf("progress of sweep %s: %w", strconv.Quote(name), d.Err)
	}
	return p, nil
}

// SaveSweepProgress implements [Store]: one PutItem; 1 write unit.
func (s *Dynamo) SaveSweepProgress(ctx context.Context, p Progress) error {
	it := item{attrSweepName: dynamo.Text(p.Name), attrVersion: dynamo.Number(layoutOld), attrBegan: dynamo.Millis(p.Began)}
	if p.After != "" {
		it[attrAfter] = dynamo.Text(p.After)
	}
	if !p.Before.IsZero() {
		it[attrBefore] = dynamo.Millis(p.Before)
	}
	if !p.Finished.IsZero() {
		it[attrFinished] = dynamo.Millis(p.Finished)
	}
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.names.Sweeps, Item: it})
	return dynamo.Translate(err)
}
