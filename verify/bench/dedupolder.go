package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// mnemosyne is the algorithm of Mnemosyne and of mnemosyne-rs, after their
// descriptions. A start is an unconditional update that keeps an older
// startedAt, and reads what was there before; a completion is an unconditional
// update. Mnemosyne's waiters start again and again, after 50 ms × 1.5ⁿ, and it
// remembers no result. mnemosyne-rs remembers it in the row, and its waiters
// look after 100 ms × 2ⁿ; its description does not say that a look writes, so
// here it is a strong read.
type mnemosyne struct {
	client    *dynamodb.Client
	table     string
	remembers bool
}

func (m *mnemosyne) key(id string) dynamo.Item {
	return dynamo.Item{"id": dynamo.Text(id), "processorId": dynamo.Text("bench")}
}

// start returns what was there before.
func (m *mnemosyne) start(ctx context.Context, id string) (dynamo.Item, error) {
	out, err := m.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &m.table, Key: m.key(id), ReturnValues: types.ReturnValueAllOld,
		UpdateExpression:          aws.String("SET startedAt = if_not_exists(startedAt, :now)"),
		ExpressionAttributeValues: dynamo.Item{":now": dynamo.Millis(time.Now())},
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

func (m *mnemosyne) begin(ctx context.Context, id string) error {
	_, err := m.start(ctx, id)
	return err
}

func (m *mnemosyne) once(ctx context.Context, id string, work effect) (string, error) {
	before, err := m.start(ctx, id)
	for look := 0; err == nil; look++ {
		d := ddb.Decoder{Item: dynamo.FromSDK(before)}
		switch {
		case len(before) == 0, d.MillisOr("startedAt").Add(longestRun).Before(time.Now()) && d.MillisOr("completedAt").IsZero():
			return m.run(ctx, id, work)
		case !d.MillisOr("completedAt").IsZero():
			return d.TextOr("memoized", ""), nil
		}
		if !m.remembers {
			time.Sleep(time.Duration(50*math.Pow(1.5, float64(look))) * time.Millisecond)
			before, err = m.start(ctx, id)
			continue
		}
		time.Sleep(100 * time.Millisecond << look)
		var out *dynamodb.GetItemOutput
		if out, err = m.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &m.table, Key: m.key(id), ConsistentRead: aws.Bool(true)}); err == nil {
			before = out.Item
		}
	}
	return "", err
}

func (m *mnemosyne) run(ctx context.Context, id string, work effect) (string, error) {
	value, err := work(ctx)
	if err != nil {
		return "", err
	}
	update := "SET completedAt = :now, expiresOn = :end"
	values := dynamo.Item{":now": dynamo.Millis(time.Now()), ":end": dynamo.Number(time.Now().Add(keepFor).Unix())}
	if m.remembers {
		update += ", memoized = :value"
		values[":value"] = dynamo.Text(value)
	}
	_, err = m.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &m.table, Key: m.key(id), UpdateExpression: &update, ExpressionAttributeValues: values,
		ReturnValues: types.ReturnValueAllNew, // so that the meter sees the item's size
	})
	return value, err
}

// powertools is the algorithm of Powertools' idempotency utility, after its
// documentation: a conditional put of an item in progress, an update that
// stores the response in it, and no wait: a call that meets one in progress gets an
// error, and comes again; here after 100 ms × 2ⁿ.
type powertools struct {
	client *dynamodb.Client
	table  string
}

// put tries to put the item in progress. It returns what stands in its way.
func (p *powertools) put(ctx context.Context, id string) (dynamo.Item, error) {
	now := time.Now()
	_, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &p.table,
		Item: dynamo.Item{
			"id": dynamo.Text(id), "status": dynamo.Text("INPROGRESS"), "expiration": dynamo.Number(now.Add(keepFor).Unix()),
			"in_progress_expiration": dynamo.Millis(now.Add(longestRun)),
		},
		ConditionExpression: aws.String("attribute_not_exists(#id) OR #expiration < :now OR " +
			"(#status = :inProgress AND attribute_exists(#until) AND #until < :ms)"),
		ExpressionAttributeNames:  map[string]string{"#id": "id", "#expiration": "expiration", "#status": "status", "#until": "in_progress_expiration"},
		ExpressionAttributeValues: dynamo.Item{":now": dynamo.Number(now.Unix()), ":ms": dynamo.Millis(now), ":inProgress": dynamo.Text("INPROGRESS")},

		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := dynamo.ConditionFailed(err); failed {
		return there, nil
	}
	return nil, err
}

func (p *powertools) begin(ctx context.Context, id string) error {
	_, err := p.put(ctx, id)
	return err
}

func (p *powertools) once(ctx context.Context, id string, work effect) (string, error) {
	for try := 0; try < 12; try++ {
		there, err := p.put(ctx, id)
		if err != nil {
			return "", err
		}
		d := ddb.Decoder{Item: dynamo.FromSDK(there)}
		switch {
		case there == nil:
			return p.run(ctx, id, work)
		case d.TextOr("status", "") == "COMPLETED":
			return d.TextOr("data", ""), nil
		}
		time.Sleep(100 * time.Millisecond << try)
	}
	return "", errors.New("still in progress")
}

func (p *powertools) run(ctx context.Context, id string, work effect) (string, error) {
	value, err := work(ctx)
	if err != nil {
		return "", err
	}
	_, err = p.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &p.table, Key: dynamo.Item{"id": dynamo.Text(id)},
		UpdateExpression:         aws.String("SET #data = :data, #expiration = :end, #status = :done"),
		ExpressionAttributeNames: map[string]string{"#data": "data", "#expiration": "expiration", "#status": "status"},
		ExpressionAttributeValues: dynamo.Item{
			":data": dynamo.Text(value), ":end": dynamo.Number(time.Now().Add(keepFor).Unix()), ":done": dynamo.Text("COMPLETED"),
		},
		ReturnValues: types.ReturnValueAllNew, // so that the meter sees the item's size
	})
	return value, err
}
