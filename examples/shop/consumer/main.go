// Command consumer is the shop's Lambda function behind the cursors' stream: it
// gets every queue's messages in order. AddConsumer has put the tables' names in
// its environment.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	queues := cursor.Names{
		Messages: os.Getenv("STREAMSORT_MESSAGES_TABLE"), Cursors: os.Getenv("STREAMSORT_CURSORS_TABLE"),
		Arrivals: os.Getenv("STREAMSORT_ARRIVALS_TABLE"),
	}
	deliverer, err := connect(context.Background(), queues)
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	handler, err := delivery.OnStream(deliverer, queues, delivery.Reader{Name: "books", Handle: book})
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// connect makes the Deliverer, which reads the messages and keeps this consumer's
// place in each queue.
func connect(ctx context.Context, queues cursor.Names) (*delivery.Deliverer, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(aws)
	store, err := cursor.NewDynamo(client, queues)
	if err != nil {
		return nil, err
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		return nil, err
	}
	names := delivery.Names{Consumers: os.Getenv("STREAMSORT_CONSUMERS_TABLE")}
	return delivery.New(delivery.NewDynamo(client, names), sorter, &delivery.Options{Observe: observe})
}

// observe logs what did not go well.
func observe(done delivery.Delivery) {
	if err := errors.Join(done.Err, done.Cause); err != nil {
		slog.Error("not delivered", "queue", done.Queue, "outcome", string(done.Outcome), "error", err)
	}
}

// book is where the shop's own work would be. A batch whose book fails comes
// again.
func book(ctx context.Context, batch delivery.Batch) error {
	for _, m := range batch.Messages { // in order, without a gap
		slog.InfoContext(ctx, "booked", "queue", m.Queue, "seq", m.Seq, "bytes", len(m.Body))
	}
	return nil
}
