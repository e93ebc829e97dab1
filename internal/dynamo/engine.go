package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Engine is the [ddb.Engine] on DynamoDB: each request is rendered to one of the SDK's. Expressions
// are rendered by hand: the SDK's package for it takes seven times as long, and 46 KB of each
// function.
type Engine struct {
	client *dynamodb.Client
	// Units has DynamoDB return the consumed capacity of each request.
	Units bool
}

var _ ddb.Engine = (*Engine)(nil)

// NewEngine returns the Engine on a client. It makes no request.
func NewEngine(client *dynamodb.Client) *Engine { return &Engine{client: client} }

// Do implements [ddb.Engine]: exactly one request to DynamoDB, and those by which the SDK repeats
// it. Errors are as [Translate] says.
func (e *Engine) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	a, err := e.do(ctx, r)
	return a, Translate(ctx, err)
}

func (e *Engine) do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	switch r := r.(type) {
	case ddb.Get:
		return e.get(ctx, r)
	case ddb.Put:
		return e.put(ctx, r)
	case ddb.Update:
		return e.update(ctx, r)
	case ddb.Delete:
		return e.delete(ctx, r)
	case ddb.Query:
		return e.query(ctx, r)
	case ddb.Scan:
		return e.scan(ctx, r)
	case ddb.BatchGet:
		return e.batchGet(ctx, r)
	case ddb.BatchWrite:
		return e.batchWrite(ctx, r)
	}
	return ddb.Answer{}, fmt.Errorf("a request of type %T", r)
}

func (e *Engine) capacity() types.ReturnConsumedCapacity {
	if e.Units {
		return types.ReturnConsumedCapacityIndexes
	}
	return ""
}

// onFailure asks for the item that fails a conditional write.
func onFailure(condition ddb.Cond) types.ReturnValuesOnConditionCheckFailure {
	if condition.IsZero() {
		return ""
	}
	return types.ReturnValuesOnConditionCheckFailureAllOld
}

// refused is the answer to a write that failed: of a failed condition, the item that failed it.
func refused(err error) (ddb.Answer, error) {
	if failed, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return ddb.Answer{Item: FromSDK(failed.Item)}, nil
	}
	return ddb.Answer{}, err
}

func (e *Engine) get(ctx context.Context, r ddb.Get) (ddb.Answer, error) {
	out, err := e.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.Table.Name, Key: ToSDK(r.Key), ConsistentRead: &r.Strong,
		ReturnConsumedCapacity: e.capacity(),
	})
	if err != nil {
		return ddb.Answer{}, err
	}
	return ddb.Answer{Item: FromSDK(out.Item), Units: units(out.ConsumedCapacity, false)}, nil
}

func (e *Engine) put(ctx context.Context, r ddb.Put) (ddb.Answer, error) {
	var x expression
	condition := x.condition(r.If)
	out, err := e.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &r.Table.Name, Item: ToSDK(r.Item), ConditionExpression: condition,
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		ReturnValuesOnConditionCheckFailure: onFailure(r.If), ReturnConsumedCapacity: e.capacity(),
	})
	if err != nil {
		return refused(err)
	}
	return ddb.Answer{Held: true, Units: units(out.ConsumedCapacity, true)}, nil
}

func (e *Engine) update(ctx context.Context, r ddb.Update) (ddb.Answer, error) {
	var x expression
	in := &dynamodb.UpdateItemInput{
		TableName: &r.Table.Name, Key: ToSDK(r.Key), ReturnValues: types.ReturnValueAllNew,
		UpdateExpression: x.update(r.Do), ConditionExpression: x.condition(r.If),
		ReturnValuesOnConditionCheckFailure: onFailure(r.If), ReturnConsumedCapacity: e.capacity(),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.names, x.values
	if r.Quiet {
		in.ReturnValues = ""
	}
	out, err := e.client.UpdateItem(ctx, in)
	if err != nil {
		return refused(err)
	}
	return ddb.Answer{Held: true, Item: FromSDK(out.Attributes),
		Units: units(out.ConsumedCapacity, true)}, nil
}

func (e *Engine) delete(ctx context.Context, r ddb.Delete) (ddb.Answer, error) {
	var x expression
	condition := x.condition(r.If)
	out, err := e.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &r.Table.Name, Key: ToSDK(r.Key), ConditionExpression: condition,
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		ReturnValuesOnConditionCheckFailure: onFailure(r.If), ReturnConsumedCapacity: e.capacity(),
	})
	if err != nil {
		return refused(err)
	}
	return ddb.Answer{Held: true, Units: units(out.ConsumedCapacity, true)}, nil
}

// limit is the limit of a page; nil if absent.
func limit(n int) *int32 {
	if n == 0 {
		return nil
	}
	return aws.Int32(int32(n))
}

func (e *Engine) query(ctx context.Context, r ddb.Query) (ddb.Answer, error) {
	var x expression
	partition := r.Table.Partition.Name
	if r.OfIndex {
		partition = r.Table.Index.Partition.Name
	}
	in := &dynamodb.QueryInput{
		TableName:              &r.Table.Name,
		KeyConditionExpression: x.condition(ddb.And(ddb.Path(partition).Eq(r.Partition), r.Where)),
		ConsistentRead:         &r.Strong, ScanIndexForward: aws.Bool(!r.Backwards),
		Limit:                limit(r.Limit),
		ProjectionExpression: x.projection(r.Only), ReturnConsumedCapacity: e.capacity(),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.names, x.values
	if r.OfIndex {
		in.IndexName = &r.Table.Index.Name
	}
	if r.After.Exists() {
		in.ExclusiveStartKey = ToSDK(r.After)
	}
	out, err := e.client.Query(ctx, in)
	if err != nil {
		return ddb.Answer{}, err
	}
	return ddb.Answer{Items: each(out.Items, FromSDK), Next: FromSDK(out.LastEvaluatedKey),
		Units: units(out.ConsumedCapacity, false)}, nil
}

func (e *Engine) scan(ctx context.Context, r ddb.Scan) (ddb.Answer, error) {
	var x expression
	in := &dynamodb.ScanInput{
		TableName: &r.Table.Name, FilterExpression: x.condition(r.Filter), Limit: limit(r.Limit),
		ReturnConsumedCapacity: e.capacity(),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.names, x.values
	if r.Segments > 0 {
		in.Segment, in.TotalSegments = aws.Int32(int32(r.Segment)), aws.Int32(int32(r.Segments))
	}
	if r.After.Exists() {
		in.ExclusiveStartKey = ToSDK(r.After)
	}
	out, err := e.client.Scan(ctx, in)
	if err != nil {
		return ddb.Answer{}, err
	}
	return ddb.Answer{Items: each(out.Items, FromSDK), Next: FromSDK(out.LastEvaluatedKey),
		Units: units(out.ConsumedCapacity, false)}, nil
}

func (e *Engine) batchGet(ctx context.Context, r ddb.BatchGet) (ddb.Answer, error) {
	var x expression
	asked := types.KeysAndAttributes{ConsistentRead: &r.Strong, Keys: each(r.Keys, ToSDK),
		ProjectionExpression: x.projection(r.Only)}
	asked.ExpressionAttributeNames = x.names
	out, err := e.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems:           map[string]types.KeysAndAttributes{r.Table.Name: asked},
		ReturnConsumedCapacity: e.capacity(),
	})
	if err != nil {
		return ddb.Answer{}, err
	}
	a := ddb.Answer{Items: each(out.Responses[r.Table.Name], FromSDK),
		Left: each(out.UnprocessedKeys[r.Table.Name].Keys, FromSDK)}
	for i := range out.ConsumedCapacity {
		a.Units = a.Units.Plus(units(&out.ConsumedCapacity[i], false))
	}
	return a, nil
}

func (e *Engine) batchWrite(ctx context.Context, r ddb.BatchWrite) (ddb.Answer, error) {
	requests := make([]types.WriteRequest, 0, len(r.Puts)+len(r.Deletes))
	for _, key := range each(r.Deletes, ToSDK) {
		requests = append(requests, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
	}
	for _, it := range each(r.Puts, ToSDK) {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
	}
	out, err := e.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems:           map[string][]types.WriteRequest{r.Table.Name: requests},
		ReturnConsumedCapacity: e.capacity(),
	})
	if err != nil {
		return ddb.Answer{}, err
	}
	a := ddb.Answer{Held: true}
	for _, left := range out.UnprocessedItems[r.Table.Name] {
		if left.DeleteRequest != nil {
			a.Left = append(a.Left, FromSDK(left.DeleteRequest.Key))
			continue
		}
		a.Left = append(a.Left, ddb.KeyOf(r.Table, FromSDK(left.PutRequest.Item)))
	}
	for i := range out.ConsumedCapacity {
		a.Units = a.Units.Plus(units(&out.ConsumedCapacity[i], true))
	}
	return a, nil
}

func units(capacity *types.ConsumedCapacity, write bool) ddb.Units {
	if capacity == nil {
		return ddb.Units{}
	}
	total, index := aws.ToFloat64(capacity.CapacityUnits), 0.0
	for _, one := range capacity.GlobalSecondaryIndexes {
		index += aws.ToFloat64(one.CapacityUnits)
	}
	if !write {
		return ddb.Units{Reads: total}
	}
	return ddb.Units{Writes: total - index, Index: index}
}
