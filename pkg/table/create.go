package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxWait is how long [Create] waits for one table; DynamoDB takes seconds.
const maxWait = 5 * time.Minute

// Create makes tables as they are defined, charged by request, waits until each is ready, and
// switches its TTL on. It is for tests, scripts and tables that no template makes:
//
//	err := table.Create(ctx, client, cursor.Names{}.Tables()...)
//
// A table that is there already is left as it is where its keys, its index and its stream are those
// of the definition, and an error that says what differs where they are not. So a call that failed
// half way can be repeated: it goes on where it stopped.
//
// The caller needs dynamodb:CreateTable, DescribeTable, DescribeTimeToLive and UpdateTimeToLive.
// Errors are the SDK's, with the table's name before them.
func Create(ctx context.Context, client *dynamodb.Client, definitions ...Definition) error {
	for _, d := range definitions {
		var there *types.ResourceInUseException
		if _, err := client.CreateTable(ctx, d.request()); err != nil && !errors.As(err, &there) {
			return fmt.Errorf("create table %s: %w", d.Name, err)
		}
	}
	for _, d := range definitions {
		if err := d.finish(ctx, client); err != nil {
			return fmt.Errorf("table %s: %w", d.Name, err)
		}
	}
	return nil
}

// finish waits for a table, looks whether it is as it was defined, and switches its TTL on.
func (d Definition) finish(ctx context.Context, client *dynamodb.Client) error {
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
	})
	is, err := waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: &d.Name}, maxWait)
	if err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	if err := d.differs(is.Table); err != nil || d.TTL == "" {
		return err
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &d.Name})
	if err != nil {
		return fmt.Errorf("look at its TTL: %w", err)
	}
	if has := aws.ToString(ttl.TimeToLiveDescription.AttributeName); has == d.TTL {
		return nil
	} else if has != "" {
		return fmt.Errorf("it is there, with the TTL attribute %q; want %q", has, d.TTL)
	}
	if _, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &d.Name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &d.TTL,
			Enabled: aws.Bool(true)},
	}); err != nil {
		return fmt.Errorf("switch its TTL on: %w", err)
	}
	return nil
}

func (d Definition) differs(is *types.TableDescription) error {
	want := d.request()
	if has, want := keys(is.KeySchema, is.AttributeDefinitions),
		keys(want.KeySchema, want.AttributeDefinitions); has != want {
		return fmt.Errorf("it is there, with the key %s; want %s", has, want)
	}
	var hasIndex, wantIndex string
	for _, index := range is.GlobalSecondaryIndexes {
		if *index.IndexName == d.Index.Name {
			hasIndex = keys(index.KeySchema, is.AttributeDefinitions)
		}
	}
	for _, index := range want.GlobalSecondaryIndexes {
		wantIndex = keys(index.KeySchema, want.AttributeDefinitions)
	}
	if hasIndex != wantIndex {
		return fmt.Errorf("it is there, with the key %q of its index %s; want %q", hasIndex,
			d.Index.Name, wantIndex)
	}
	var stream StreamView
	if s := is.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		stream = StreamView(s.StreamViewType)
	}
	if stream != d.Stream {
		return fmt.Errorf("it is there, with the stream view %q; want %q", stream, d.Stream)
	}
	return nil
}

// keys writes a key's attributes in one line: queue S, seq N.
func keys(schema []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	var text string
	for _, role := range []types.KeyType{types.KeyTypeHash, types.KeyTypeRange} {
		for _, key := range schema {
			if key.KeyType != role {
				continue
			}
			for _, a := range attributes {
				if *a.AttributeName == *key.AttributeName {
					text += fmt.Sprintf(", %s %s", *a.AttributeName, a.AttributeType)
				}
			}
		}
	}
	return text[min(2, len(text)):]
}

func (d Definition) request() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &d.Name, BillingMode: types.BillingModePayPerRequest}
	in.KeySchema = keySchema(in, d.Partition, d.Sort)
	if d.Index.Name != "" {
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
			IndexName: &d.Index.Name, KeySchema: keySchema(in, d.Index.Partition, d.Index.Sort),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}}
	}
	if d.Stream != NoStream {
		in.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(d.Stream),
		}
	}
	return in
}

// keySchema is the schema of a key, whose attributes it defines in the request, each once.
func keySchema(in *dynamodb.CreateTableInput, partition, sort Key) []types.KeySchemaElement {
	var schema []types.KeySchemaElement
	for _, key := range []struct {
		Key
		role types.KeyType
	}{{partition, types.KeyTypeHash}, {sort, types.KeyTypeRange}} {
		if key.Name == "" {
			continue
		}
		schema = append(schema, types.KeySchemaElement{AttributeName: aws.String(key.Name),
			KeyType: key.role})
		if !slices.ContainsFunc(in.AttributeDefinitions, func(a types.AttributeDefinition) bool {
			return *a.AttributeName == key.Name
		}) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
				AttributeName: aws.String(key.Name), AttributeType: types.ScalarAttributeType(key.Type),
			})
		}
	}
	return schema
}
