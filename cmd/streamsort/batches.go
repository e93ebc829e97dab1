package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/dynamo/streams"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// batches prints what a consumer behind the cursors' stream is handed. It reads
// the stream itself, from the DynamoDB of the environment, by the rules of an
// event source mapping.
func (c *tailCommand) batches(s *session) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	where, err := s.tables()
	if err != nil {
		return err
	}
	client, err := dynamo.New(&dynamo.Options{AWS: &where})
	if err != nil {
		return err
	}
	names := cursor.Names{Messages: s.tableName(c.MessagesTable, "Messages"), Cursors: s.tableName(c.CursorsTable, "Cursors")}
	store, err := cursor.NewDynamo(client, names)
	if err != nil {
		return err
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		return err
	}
	// One that is not there would be asked for again and again: its batches never leave.
	if _, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &names.Messages}); err != nil {
		return fmt.Errorf("table %s: %w", names.Messages, dynamo.Translate(ctx, err))
	}
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &names.Cursors})
	if err != nil {
		return fmt.Errorf("table %s: %w", names.Cursors, dynamo.Translate(ctx, err))
	}
	printed := 0
	handle := cursor.StatelessConsumer(sorter, names, func(_ context.Context, b cursor.Batch) error {
		if c.Queue != "" && b.Queue != c.Queue || ctx.Err() != nil {
			return nil
		}
		document, err := json.Marshal(map[string]any{
			"queue": b.Queue, "from": b.From, "to": b.To, "messages": len(b.Messages), "skipped": b.Skipped,
		})
		if err != nil {
			return err
		}
		if printed++; printed == c.Count {
			defer cancel()
		}
		return s.print(document, "%s\t%d to %d\t%s, %d skipped\n",
			printable.Text(b.Queue), b.From+1, b.To, count(len(b.Messages), "message", "messages"), len(b.Skipped))
	}, &cursor.StatelessOptions{Failed: func(err error) { fmt.Fprintln(s.errOut, "streamsort:", err) }})
	runner, err := eventsource.New(eventsource.Mapping{
		ID: "tail", FunctionName: "tail", StreamARN: aws.ToString(described.Table.LatestStreamArn),
		StartingPosition:      eventsource.TrimHorizon,
		FunctionResponseTypes: []string{eventsource.ReportBatchItemFailures},
	}, eventsource.Config{Streams: streams.With(where), Invoke: func(ctx context.Context, payload []byte) ([]byte, string, error) {
		var event table.StreamEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err.Error(), nil
		}
		response, err := handle(ctx, event)
		if err != nil {
			return nil, err.Error(), nil
		}
		answer, err := json.Marshal(response)
		return answer, "", err
	}})
	if err != nil {
		return err
	}
	return runner.Run(ctx)
}
