package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/pkg/table"
)

// CreateTable makes a table on demand as it is defined, waits until it is
// ready, and switches its TTL on.
func CreateTable(ctx context.Context, client *dynamodb.Client, definition table.Definition) error {
	in := &dynamodb.CreateTableInput{
		TableName:   &definition.Name,
		BillingMode: types.BillingModePayPerRequest,
	}
	in.KeySchema = keySchema(in, definition.Partition, definition.Sort)
	if index := definition.Index; index.Name != "" {
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
			IndexName: &index.Name, KeySchema: keySchema(in, index.Partition, index.Sort),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}}
	}
	if definition.Stream != table.NoStream {
		in.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(definition.Stream),
		}
	}
	if _, err := client.CreateTable(ctx, in); err != nil {
		return fmt.Errorf("create table %s: %w", definition.Name, Translate(ctx, err))
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &definition.Name}, time.Minute); err != nil {
		return fmt.Errorf("wait for table %s: %w", definition.Name, Translate(ctx, err))
	}
	if definition.TTL == "" {
		return nil
	}
	_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &definition.Name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: &definition.TTL, Enabled: aws.Bool(true),
		},
	})
	if err != nil {
		return fmt.Errorf("switch on the TTL of table %s: %w", definition.Name, Translate(ctx, err))
	}
	return nil
}

// keySchema is the schema of a key, whose attributes it defines in the request.
func keySchema(in *dynamodb.CreateTableInput, partition, sort table.Key) []types.KeySchemaElement {
	var schema []types.KeySchemaElement
	for _, key := range []struct {
		table.Key
		role types.KeyType
	}{{partition, types.KeyTypeHash}, {sort, types.KeyTypeRange}} {
		if key.Name == "" {
			continue
		}
		schema = append(schema, types.KeySchemaElement{AttributeName: aws.String(key.Name), KeyType: key.role})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(key.Name), AttributeType: types.ScalarAttributeType(key.Type),
		})
	}
	return schema
}
