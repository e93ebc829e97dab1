// Command payments is a Lambda function of a user's own, behind the cursors
// table's stream, that charges a bank for each message: in order, and each once,
// although batches come again when a process dies. Copy it, and change handle.
package main

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	handler, err := newHandler(context.Background())
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// newHandler puts the parts together: the delivery of batches in order, and the
// memory of what has been charged.
func newHandler(ctx context.Context) (any, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(aws)
	names := cursor.Names{Messages: os.Getenv("MESSAGES_TABLE"), Cursors: os.Getenv("CURSORS_TABLE"), Arrivals: os.Getenv("ARRIVALS_TABLE")}
	store, err := cursor.NewDynamo(client, names)
	if err != nil {
		return nil, err
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		return nil, err
	}
	deliverer, err := delivery.New(delivery.NewDynamo(client, delivery.Names{Consumers: os.Getenv("CONSUMERS_TABLE")}), sorter, nil)
	if err != nil {
		return nil, err
	}
	memory, err := dedup.NewDynamo(client, dedup.Names{Table: os.Getenv("DEDUP_TABLE")})
	if err != nil {
		return nil, err
	}
	charges, err := dedup.New[string, receipt](memory, "payments", nil)
	if err != nil {
		return nil, err
	}
	p := &payments{charges: charges, bank: strings.TrimRight(os.Getenv("BANK_URL"), "/")}
	// The bank is silent to an order, not to all: those of other accounts go on.
	reader := delivery.Reader{Name: "payments", Handle: p.handle, Circuit: delivery.Circuit{Off: true}}
	return delivery.OnStream(deliverer, names, reader)
}
