package localstack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// startServer starts the DynamoDB server, or finds the one that runs.
func startServer(ctx context.Context, config Config) (*localdb.Server, error) {
	if strings.Contains(config.Server, "://") {
		return &localdb.Server{Kind: localdb.Given, Endpoint: config.Server}, nil
	}
	kind := localdb.Kind(config.Server)
	if kind == "" {
		kind = localdb.Choose()
	}
	return localdb.Start(ctx, kind, "")
}

// makeTables makes all tables and returns the ARNs of their streams by the
// tables' names. A table that is there already is used if it has the same
// keys and stream.
func makeTables(ctx context.Context, client *dynamodb.Client, all []*loaded) (map[string]string, error) {
	streams := map[string]string{}
	for _, l := range all {
		for _, t := range l.Tables {
			err := dynamo.CreateTable(ctx, client, t.Definition)
			var exists *types.ResourceInUseException
			if err != nil && !errors.As(err, &exists) {
				return nil, err
			}
			out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
			if err != nil {
				return nil, fmt.Errorf("describe table %s: %w", t.Name, dynamo.Translate(ctx, err))
			}
			if exists != nil && !same(t.Definition, out.Table) {
				return nil, fmt.Errorf("table %s is there already, with other keys or another stream", t.Name)
			}
			streams[t.Name] = aws.ToString(out.Table.LatestStreamArn)
		}
	}
	return streams, nil
}

// same reports whether a table has a definition's keys and stream.
func same(want table.Definition, got *types.TableDescription) bool {
	keys := map[types.KeyType]string{}
	for _, key := range got.KeySchema {
		keys[key.KeyType] = aws.ToString(key.AttributeName)
	}
	var view types.StreamViewType
	if got.StreamSpecification != nil && aws.ToBool(got.StreamSpecification.StreamEnabled) {
		view = got.StreamSpecification.StreamViewType
	}
	return keys[types.KeyTypeHash] == want.Partition.Name && keys[types.KeyTypeRange] == want.Sort.Name &&
		view == types.StreamViewType(want.Stream)
}
