// Command wordcount counts the words of databases, and knows when all words of one are counted. It
// is three Lambda functions in one program, distinguished by their handlers' names: DATABASE takes
// a database from the sorter and passes on its files, FILE takes a file and passes on its words,
// WORD counts a word. A fourth one, END, is notified when a database is through.
//
//	database ─┬─ file 0 ─┬─ word 0
//	          │          └─ word 1
//	          └─ file 1 ─── word 0
//
// Each node of this tree is an edge of a chain of package xorack. Each function ends its edge and
// starts those of its children in one write. Copy it, and change the steps.
package main

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	lambdaapi "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/deliverylambda"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	s, err := newSteps(context.Background())
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	switch name := os.Getenv("_HANDLER"); name { // the Handler property
	case "DATABASE":
		deliverylambda.Start("wordcount", s.databases, func(r *delivery.Reader) {
			r.Prefix = "databases/"
		})
	case "FILE":
		lambda.Start(s.file)
	case "WORD":
		lambda.Start(s.word)
	case "END":
		lambda.Start(end)
	default:
		slog.Error("the handler must be DATABASE, FILE, WORD or END", "handler", name)
		os.Exit(1)
	}
}

// newSteps are the functions of the environment.
func newSteps(ctx context.Context) (*steps, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(aws)
	store := xorack.NewDynamo(client, xorack.Names{Chains: os.Getenv("CHAINS_TABLE")})
	acker, err := xorack.New(store, nil)
	return &steps{
		acker: acker, next: invoker(aws, os.Getenv("NEXT_FUNCTION")),
		counts: &counts{client: client, table: os.Getenv("COUNTS_TABLE"),
			failing: strings.ToLower(os.Getenv("FAILING_WORD"))},
	}, err
}

// invoker passes work to a function: Lambda takes it at once, and repeats it twice where the
// function fails.
func invoker(settings aws.Config, function string) func(context.Context, []byte) error {
	client := lambdaapi.NewFromConfig(settings)
	return func(ctx context.Context, work []byte) error {
		_, err := client.Invoke(ctx,
			&lambdaapi.InvokeInput{FunctionName: &function, InvocationType: "Event", Payload: work})
		return err
	}
}
