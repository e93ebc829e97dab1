// Package deliverylambda runs a consumer as a Lambda function behind the stream of the cursors
// table:
//
//	func main() { deliverylambda.Start("books", book) }
//
//	func book(ctx context.Context, batch delivery.Batch) error {
//		for _, m := range batch.Messages { // in order, without a gap
//			fmt.Println(m.Queue, m.Seq, string(m.Body))
//		}
//		return nil // an error redelivers the batch
//	}
//
// AddConsumer of the CDK package sets the environment that it reads. It is a package of its own
// because package delivery also runs where there is no Lambda: only this one links Lambda's
// runtime.
package deliverylambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/timer"
)

// Start is the main of a Lambda function that delivers each queue's messages to a consumer. It does
// not return: where the environment or the consumer's name is wrong, it logs why and exits with 1.
//
// It reads STREAMSORT_MESSAGES_TABLE, STREAMSORT_CURSORS_TABLE and STREAMSORT_CONSUMERS_TABLE,
// which must be set, and STREAMSORT_ARRIVALS_TABLE and STREAMSORT_TIMER_QUEUE. Each of set changes
// the reader. Several readers in one function take [delivery.OnStream].
func Start(consumer string, handle func(context.Context, delivery.Batch) error,
	set ...func(*delivery.Reader)) {
	slog.SetDefault(lambdacontext.NewLogger())
	reader := delivery.Reader{Name: consumer, Handle: handle}
	for _, change := range set {
		change(&reader)
	}
	handler, err := newHandler(reader)
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// newHandler is the handler of the environment. The error joins everything that is wrong. It makes
// no request.
func newHandler(reader delivery.Reader) (
	func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error), error) {
	queues, names, err := tables()
	due, timerErr := timer.New(os.Getenv("STREAMSORT_TIMER_QUEUE"))
	client, clientErr := dynamo.New(nil)
	if err := errors.Join(err, timerErr, clientErr); err != nil {
		return nil, err
	}
	store, err := cursor.NewDynamo(client, queues)
	if err != nil {
		return nil, err
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		return nil, err
	}
	options := &delivery.Options{Observe: func(done delivery.Delivery) {
		if err := errors.Join(done.Err, done.Cause); err != nil {
			slog.Error("not delivered", "queue", done.Queue, "consumer", done.Consumer, "error", err)
		}
	}}
	if due != nil {
		options.WakeUp, options.WakeCircuit = due.Consumer, due.Circuit
	}
	deliverer, err := delivery.New(delivery.NewDynamo(client, names), sorter, options)
	if err != nil {
		return nil, err
	}
	deliver, err := delivery.OnStream(deliverer, queues, reader)
	if err != nil {
		return nil, fmt.Errorf("consumer %q: %w", reader.Name, err)
	}
	return timer.Flushing(due, deliver), nil
}

// tables are those of the environment. The error joins the variables that are not set.
func tables() (queues cursor.Names, names delivery.Names, err error) {
	required := func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			err = errors.Join(err,
				fmt.Errorf("%s is not set: AddConsumer sets it; a sink takes lambda.Start", name))
		}
		return value
	}
	queues = cursor.Names{
		Messages: required("STREAMSORT_MESSAGES_TABLE"), Cursors: required("STREAMSORT_CURSORS_TABLE"),
		Arrivals: os.Getenv("STREAMSORT_ARRIVALS_TABLE"),
	}
	names.Consumers = required("STREAMSORT_CONSUMERS_TABLE")
	return queues, names, err
}
