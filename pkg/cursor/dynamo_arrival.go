package cursor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// PutArrival implements [Store]: one PutItem; 1 write unit for each KB.
func (s *Dynamo) PutArrival(ctx context.Context, a Arrival) (Arrival, error) {
	e := s.notThere().Use(attrExpiresOn).Value("now", dynamo.Number(a.EnqueuedAt.Unix()))
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.names.Arrivals,
		Item:      encodeArrival(a, s.names),
		// TTL deletes some time later than it may.
		ConditionExpression:                 aws.String(notThere + " OR #expiresOn <= :now"),
		ExpressionAttributeNames:            e.Names,
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		return decodeArrival(there, s.names, true)
	}
	return a.head(), dynamo.Translate(err)
}

// Ticket implements [Store]: one UpdateItem, ALL_NEW; 1 write unit, where the
// queue's name is of usual length.
func (s *Dynamo) Ticket(ctx context.Context, queue string, entries Tail, seen Range, now time.Time) (Cursor, bool, error) {
	e := dynamo.NewExpression().Use(attrPosition, attrGapSince, attrChange, attrTailFrom, attrTail, attrPrintsFrom, attrPrints).
		Value("seen", dynamo.Number(seen.From)).Value("newest", dynamo.Number(seen.To)).
		Value("count", dynamo.Number(entries.Seqs())).
		Value("last", dynamo.Number(MaxSeq-entries.Seqs())).
		Value("room", dynamo.Number(int64(MaxTail-entries.Len()))).Value("entries", encodeTail(entries)).
		Value("now", dynamo.Millis(now)).Value("advance", dynamo.Text(changeAdvance))
	inTail, inPrints := make([]string, entries.Len()), make([]string, entries.Len())
	for i := range entries.Len() {
		name, short := fmt.Sprintf("e%d", i), fmt.Sprintf("p%d", i)
		e.Value(name, encodeEntry(entries, i)).Value(short, dynamo.Text(string(printOf(entries.At(i)))))
		inTail[i], inPrints[i] = "contains(#tail, :"+name+")", "contains(#prints, :"+short+")"
	}
	// An expression may have 300 operators: two for each of these.
	noneOf := func(conditions []string) string { return "NOT (" + strings.Join(conditions, " OR ") + ")" }
	return s.update(ctx, queue,
		"SET #position = #position + :count, #tail = list_append(#tail, :entries), #gapSince = :now, #change = :advance",
		"(#tailFrom <= :seen OR (#printsFrom <= :seen AND "+noneOf(inPrints)+")) AND size(#tail) <= :room AND #position >= :newest AND #position <= :last AND "+noneOf(inTail), e)
}

// PutOrderItem implements [Store]: one PutItem; 1 write unit.
func (s *Dynamo) PutOrderItem(ctx context.Context, o OrderItem) (OrderItem, error) {
	there, err := s.put(ctx, s.names.Messages, encodeOrderItem(o, s.names))
	if err != nil || there == nil {
		return o, err
	}
	return decodeOrderItem(there, s.names)
}

// TrimTail implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
//
// The elements are removed from the last to the first: dynoxide 1.2.1 removes
// them one after the other, DynamoDB all at once.
func (s *Dynamo) TrimTail(ctx context.Context, seen Cursor) (Cursor, bool, error) {
	next := seen.trimmed()
	e := dynamo.NewExpression().Use(attrTailFrom, attrTail, attrPrintsFrom, attrPrints, attrChange).
		Value("from", dynamo.Number(seen.TailFrom)).Value("to", dynamo.Number(next.TailFrom)).
		Value("printsFrom", dynamo.Number(next.PrintsFrom)).Value("prints", dynamo.Text(string(next.Prints))).
		Value("other", dynamo.Text(changeOther))
	elements := make([]string, OrderItemEntries)
	for i := range elements {
		elements[i] = fmt.Sprintf("#tail[%d]", OrderItemEntries-1-i)
	}
	return s.update(ctx, seen.Queue,
		"SET #tailFrom = :to, #printsFrom = :printsFrom, #prints = :prints, #change = :other REMOVE "+strings.Join(elements, ", "),
		"#tailFrom = :from", e)
}

// OrderItems implements [Store]: one Query of at most 1 MB; 1 read unit for
// each 4 KB strong, half a unit otherwise. An order item has about 400 bytes.
func (s *Dynamo) OrderItems(ctx context.Context, query Query) (OrderPage, error) {
	out, err := s.client.Query(ctx, s.rangeQuery(query))
	if err != nil {
		return OrderPage{}, dynamo.Translate(err)
	}
	page := OrderPage{Items: make([]OrderItem, len(out.Items)), More: len(out.LastEvaluatedKey) > 0}
	for i, it := range out.Items {
		if page.Items[i], err = decodeOrderItem(it, s.names); err != nil {
			return OrderPage{}, err
		}
	}
	return page, nil
}

// Arrivals implements [Store]: one BatchGetItem of at most 16 MB; for each
// arrival, 1 read unit for each 4 KB strong, half a unit otherwise.
func (s *Dynamo) Arrivals(ctx context.Context, query ArrivalQuery) ([]Arrival, []Hash, error) {
	asked := types.KeysAndAttributes{ConsistentRead: &query.Strong}
	for _, key := range query.Keys {
		asked.Keys = append(asked.Keys, item{s.names.QueueKey: dynamo.Text(query.Queue), attrIDHash: dynamo.Blob(key[:])})
	}
	if query.HeadsOnly {
		e := dynamo.NewExpression().Key("#queue", s.names.QueueKey).
			Use(attrVersion, attrID, attrSeen, attrEnqueuedAt, attrExpiresOn, attrDigest, attrOp, attrCount)
		asked.ExpressionAttributeNames = e.Names
		asked.ProjectionExpression = aws.String("#queue, #v, #id, #seen, #enqueuedAt, #expiresOn, #digest, #op, #count")
	}
	out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{s.names.Arrivals: asked},
	})
	if err != nil {
		return nil, nil, dynamo.Translate(err)
	}
	found := make([]Arrival, len(out.Responses[s.names.Arrivals]))
	for i, it := range out.Responses[s.names.Arrivals] {
		if found[i], err = decodeArrival(it, s.names, query.HeadsOnly); err != nil {
			return nil, nil, err
		}
	}
	var left []Hash
	for _, key := range out.UnprocessedKeys[s.names.Arrivals].Keys {
		d := dynamo.Decoder{Item: key}
		hash := d.BytesOr(attrIDHash)
		if len(hash) != len(Hash{}) {
			d.Fail(attrIDHash, "is missing or not a key")
			return nil, nil, d.Err
		}
		left = append(left, Hash(hash))
	}
	return found, left, nil
}

// KeepArrival implements [Store]: one UpdateItem; 1 write unit for each KB.
func (s *Dynamo) KeepArrival(ctx context.Context, queue string, key Hash, seen int64, until time.Time) (bool, error) {
	e := dynamo.NewExpression().Use(attrExpiresOn, attrSeen).
		Value("until", dynamo.Number(until.Unix())).Value("seen", dynamo.Number(seen))
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &s.names.Arrivals,
		Key:                                 item{s.names.QueueKey: dynamo.Text(queue), attrIDHash: dynamo.Blob(key[:])},
		UpdateExpression:                    aws.String("SET #expiresOn = :until"),
		ConditionExpression:                 aws.String("#seen = :seen AND #expiresOn < :until"),
		ExpressionAttributeNames:            e.Names,
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		if len(there) == 0 {
			return false, nil
		}
		a, err := decodeArrival(there, s.names, true)
		return err == nil && a.Seen == seen, err
	}
	return err == nil, dynamo.Translate(err)
}
