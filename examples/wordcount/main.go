// Command wordcount counts the words of databases, and knows when all words of
// one are counted. It is three Lambda functions in one program, distinguished by their
// handlers' names: DATABASE takes a database from the sorter and passes on its
// files, FILE takes a file and passes on its words, WORD counts a word. A fourth one,
// END, is notified when a database is through.
//
//	database ─┬─ file 0 ─┬─ word 0
//	          │          └─ word 1
//	          └─ file 1 ─── word 0
//
// Each node of this tree is an edge of a chain of package xorack. Each function
// ends its edge and starts those of its children in one write. Copy it, and change
// the steps.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	lambdaapi "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	handler, err := newHandler(context.Background(), os.Getenv("_HANDLER"))
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// newHandler is the function whose Handler property has this name.
func newHandler(ctx context.Context, name string) (any, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(aws)
	store, err := xorack.NewDynamo(client, xorack.Names{Chains: os.Getenv("CHAINS_TABLE")})
	if err != nil {
		return nil, err
	}
	acker, err := xorack.New(store, nil)
	if err != nil {
		return nil, err
	}
	s := &steps{acker: acker, next: invoker(aws, os.Getenv("NEXT_FUNCTION"))}
	switch name {
	case "DATABASE":
		return onStream(client, s.databases)
	case "FILE":
		return s.file, nil
	case "WORD":
		s.counts = &counts{client: client, table: os.Getenv("COUNTS_TABLE"), failing: strings.ToLower(os.Getenv("FAILING_WORD"))}
		return s.word, nil
	case "END":
		return end, nil
	}
	return nil, fmt.Errorf("handler %q must be DATABASE, FILE, WORD or END", name)
}

// onStream is the handler behind the cursors' stream: it is given the messages
// of the queues whose names begin with "databases/", in order.
func onStream(client *dynamodb.Client, handle func(context.Context, delivery.Batch) error) (any, error) {
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
	return delivery.OnStream(deliverer, names, delivery.Reader{Name: "wordcount", Prefix: "databases/", Handle: handle})
}

// invoker passes work to a function: Lambda takes it at once, and repeats it
// twice where the function fails.
func invoker(settings aws.Config, function string) func(context.Context, []byte) error {
	client := lambdaapi.NewFromConfig(settings)
	return func(ctx context.Context, work []byte) error {
		_, err := client.Invoke(ctx, &lambdaapi.InvokeInput{FunctionName: &function, InvocationType: "Event", Payload: work})
		return err
	}
}
