package localstack

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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
	if err := localdb.Install(ctx, kind, func(what string) { config.Logger.Info(what) }); err != nil {
		return nil, err
	}
	config.Logger.Info("starting " + localdb.Told(kind))
	return localdb.Start(ctx, kind, "")
}

// makeTables makes all tables and returns the ARNs of their streams by the
// tables' names. A table that is there already is used if it has the same
// keys and stream.
func makeTables(ctx context.Context, client *dynamodb.Client, all []*loaded) (map[string]string, error) {
	streams := map[string]string{}
	for _, l := range all {
		for _, t := range l.Tables {
			if err := table.Create(ctx, client, t.Definition); err != nil {
				return nil, err
			}
			out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
			if err != nil {
				return nil, fmt.Errorf("describe table %s: %w", t.Name, dynamo.Translate(ctx, err))
			}
			streams[t.Name] = aws.ToString(out.Table.LatestStreamArn)
		}
	}
	return streams, nil
}
