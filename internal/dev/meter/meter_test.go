package meter

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

type (
	attributes = map[string]types.AttributeValue
	s          = types.AttributeValueMemberS
	n          = types.AttributeValueMemberN
)

// TestCountsByTheRules makes requests of which the charge is known.
func TestCountsByTheRules(t *testing.T) {
	ddbtest.EachServer(t, func(t *testing.T, kind ddbtest.Kind) {
		m, client, name := metered(t, kind,
			table.Definition{Partition: table.Key{Name: "p", Type: table.String},
				Sort: table.Key{Name: "s", Type: table.Number}})
		key := func(sort int) attributes {
			return attributes{"p": &s{Value: "x"}, "s": &n{Value: fmt.Sprint(sort)}}
		}
		put := func(sort, size int) error {
			it := key(sort)
			it["b"] = &s{Value: strings.Repeat("x", size)}
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: &name, Item: it, ConditionExpression: aws.String("attribute_not_exists(p)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); failed {
				return nil
			}
			return err
		}
		get := func(sort int, strong bool) error {
			_, err := client.GetItem(t.Context(),
				&dynamodb.GetItemInput{TableName: &name, Key: key(sort), ConsistentRead: &strong})
			return err
		}
		query := func(projection *string) error {
			_, err := client.Query(t.Context(), &dynamodb.QueryInput{
				TableName: &name, KeyConditionExpression: aws.String("p = :p"),
				ProjectionExpression:      projection,
				ExpressionAttributeValues: attributes{":p": &s{Value: "x"}}, ConsistentRead: aws.Bool(true),
			})
			return err
		}
		batch := func(strong bool) error {
			_, err := client.BatchGetItem(t.Context(),
				&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
					name: {Keys: []attributes{key(1), key(2), key(9)}, ConsistentRead: &strong},
				}})
			return err
		}
		update := func() error {
			_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &name, Key: key(2), UpdateExpression: aws.String("SET c = :c"),
				ExpressionAttributeValues: attributes{":c": &n{Value: "1"}},
				ReturnValues:              types.ReturnValueAllNew,
			})
			return err
		}
		for _, step := range []step{
			{"small put", func() error { return put(1, 10) }, Count{1, 1, 0}},
			{"large put", func() error { return put(2, 5000) }, Count{1, 5, 0}},
			{"failed put over the small one", func() error { return put(1, 5000) }, Count{1, 1, 0}},
			{"failed put over the large one", func() error { return put(2, 10) }, Count{1, 5, 0}},
			{"update of the large one", update, Count{1, 5, 0}},
			{"strong get", func() error { return get(2, true) }, Count{1, 0, 2}},
			{"weak get", func() error { return get(2, false) }, Count{1, 0, 1}},
			{"weak get of nothing", func() error { return get(9, false) }, Count{1, 0, 0.5}},
			{"strong get of three, one of them not there", func() error { return batch(true) }, Count{1, 0, 4}},
			{"weak get of the three", func() error { return batch(false) }, Count{1, 0, 2}},
			{"query", func() error { return query(nil) }, Count{1, 0, 2}},
			{"query of a part", func() error { return query(aws.String("p, s")) }, Count{1, 0, 2}},
		} {
			step.take(t, m)
		}
	})
}

// step is a request of which the charge is known.
type step struct {
	what string
	do   func() error
	want Count
}

func (s step) take(t *testing.T, m *Meter) {
	t.Helper()
	before := m.Count()
	err := s.do()
	check.Need(t, err == nil, "%s: %v", s.what, err)
	check.Is(t, m.Count().Sub(before), s.want, s.what)
}

// TestCountsAnIndex: an item that takes a place in an index of keys, moves in it, stays and leaves.
func TestCountsAnIndex(t *testing.T) {
	ddbtest.EachServer(t, countAnIndex)
}

func countAnIndex(t *testing.T, kind ddbtest.Kind) {
	m, client, name := metered(t, kind, table.Definition{
		Partition: table.Key{Name: "p", Type: table.String},
		Index: table.Index{
			Name: "due", Partition: table.Key{Name: "part", Type: table.Number},
			Sort: table.Key{Name: "at", Type: table.Number},
		},
	})
	update := func(expression string, values attributes) func() error {
		return func() error {
			_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &name, Key: attributes{"p": &s{Value: "x"}}, UpdateExpression: &expression,
				ExpressionAttributeNames: map[string]string{"#at": "at"}, ExpressionAttributeValues: values,
				ReturnValues: types.ReturnValueAllNew,
			})
			return err
		}
	}
	at := func(n2 string) attributes { return attributes{":a": &n{Value: n2}} }
	for _, step := range []step{
		{"one key of two", update("SET #at = :a", at("1")), Count{1, 1, 0}},
		{"takes a place", update("SET part = :a, #at = :a", at("1")), Count{1, 2, 0}},
		{"stays", update("SET part = :a, #at = :a", at("1")), Count{1, 1, 0}},
		{"moves", update("SET #at = :a", at("2")), Count{1, 3, 0}},
		{"query", func() error {
			_, err := client.Query(t.Context(), &dynamodb.QueryInput{
				TableName: &name, IndexName: aws.String("due"), KeyConditionExpression: aws.String("part = :s"),
				ExpressionAttributeValues: attributes{":s": &n{Value: "1"}},
			})
			return err
		}, Count{1, 0, 0.5}},
		{"leaves", update("REMOVE #at", nil), Count{1, 2, 0}},
		{"takes a place again", update("SET part = :a, #at = :a", at("1")), Count{1, 2, 0}},
		{"is deleted", func() error {
			_, err := client.DeleteItem(t.Context(),
				&dynamodb.DeleteItemInput{TableName: &name, Key: attributes{"p": &s{Value: "x"}}})
			return err
		}, Count{1, 2, 0}},
		{"is put", func() error {
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: attributes{
				"p": &s{Value: "x"}, "part": &n{Value: "1"}, "at": &n{Value: "1"},
			}})
			return err
		}, Count{1, 2, 0}},
	} {
		step.take(t, m)
	}
}

// metered is a server's client with a Meter between, and the name of a fresh table there.
func metered(t *testing.T, kind ddbtest.Kind,
	d table.Definition) (*Meter, *dynamodb.Client, string) {
	t.Helper()
	m := New(dynamo.Transport())
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, kind), Transport: m}))
	d.Name = "metered" + ddbtest.Suffix()
	check.OK(t, table.Create(t.Context(), client, d))
	return m, client, d.Name
}
