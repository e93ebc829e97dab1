// Command payments is a Lambda function of a user's own, behind the cursors table's stream, that
// charges a bank for each message: in order, and each once, although batches come again when a
// process dies. Copy it, and change handle.
package main

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/deliverylambda"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	p, err := newPayments(context.Background())
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	deliverylambda.Start("payments", p.handle, func(r *delivery.Reader) {
		// The bank is silent to an order, not to all: those of other accounts go on.
		r.Circuit.Off = true
	})
}

// newPayments has the memory of what has been charged.
func newPayments(ctx context.Context) (*payments, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := dedup.NewDynamo(dynamodb.NewFromConfig(aws),
		dedup.Names{Table: os.Getenv("DEDUP_TABLE")})
	if err != nil {
		return nil, err
	}
	charges, err := dedup.New[string, receipt](memory, "payments", nil)
	if err != nil {
		return nil, err
	}
	return &payments{charges: charges, bank: strings.TrimRight(os.Getenv("BANK_URL"), "/")}, nil
}
