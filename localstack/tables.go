package localstack

import (
	"context"
	"errors"
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
	kind := localdb.Kind(config.Server)
	switch {
	case strings.Contains(config.Server, "://"):
		kind = localdb.Given
	case kind == "":
		kind = localdb.Choose()
	}
	switch {
	case kind == localdb.Given && config.Data != "":
		return nil, errors.New("config.Data: a server that others run keeps its data itself")
	case strings.Contains(config.Server, "://"):
		return &localdb.Server{Kind: kind, Endpoint: config.Server}, nil
	}
	if err := localdb.Install(ctx, kind, func(what string) { config.Logger.Info(what) }); err != nil {
		return nil, err
	}
	config.Logger.Info("DynamoDB is " + localdb.Described(kind))
	return localdb.Start(ctx, kind, config.Data)
}

// makeTables makes all tables and returns the ARNs of their streams by the tables' names. A table
// that is there already is used if it has the same keys and stream.
func makeTables(ctx context.Context, client *dynamodb.Client,
	all []*loaded) (map[string]string, error) {
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
