// Command webhooks is a Lambda function of a user's own, behind the cursors
// table's stream: it gets every queue's messages in order. Copy it, and change
// handle.
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
	"github.com/streamsort/streamsort/pkg/timer"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	queues := cursor.Names{Messages: os.Getenv("MESSAGES_TABLE"), Cursors: os.Getenv("CURSORS_TABLE"), Arrivals: os.Getenv("ARRIVALS_TABLE")}
	consumers := delivery.Names{Consumers: os.Getenv("CONSUMERS_TABLE")}
	wake, err := timer.New(os.Getenv("TIMER_QUEUE"))
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	deliverer, err := connect(context.Background(), queues, consumers, wake)
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	handler, err := delivery.OnStream(deliverer, queues, delivery.Reader{Name: "webhooks", Handle: handle})
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(timer.Flushing(wake, handler))
}

// connect makes the Deliverer, which reads the messages and keeps this
// consumer's place in each queue. What is due later is told to the stack's timer.
func connect(ctx context.Context, queues cursor.Names, consumers delivery.Names, wake *timer.Timer) (*delivery.Deliverer, error) {
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
	return delivery.New(delivery.NewDynamo(client, consumers), sorter, &delivery.Options{Observe: observe, WakeUp: wake.Consumer})
}

// observe logs what did not go well.
func observe(done delivery.Delivery) {
	if err := errors.Join(done.Err, done.Cause); err != nil {
		slog.Error("not delivered", "queue", done.Queue, "outcome", string(done.Outcome), "error", err)
	}
}
