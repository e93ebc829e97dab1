// Command webhooks is a Lambda function of a user's own, behind the cursors
// table's stream: it gets every queue's messages in order. Copy it, and change
// handle.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/pkg/cursor"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	names := cursor.Names{Messages: os.Getenv("MESSAGES_TABLE"), Cursors: os.Getenv("CURSORS_TABLE")}
	sorter, err := connect(context.Background(), names)
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(cursor.OnStream(sorter, names, handle, func(err error) { slog.Error("failed", "error", err) }))
}

// connect makes the Sorter that reads the messages.
func connect(ctx context.Context, names cursor.Names) (*cursor.Sorter, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	store, err := cursor.NewDynamo(dynamodb.NewFromConfig(aws), names)
	if err != nil {
		return nil, err
	}
	return cursor.New(store, nil)
}
