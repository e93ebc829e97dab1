// Command ack is the function that tracks trees of work: it takes operations on
// chains, behind an HTTP API, a REST API or a function URL, or invoked
// directly; and behind the stream of the chains' table it announces how each
// chain ended.
package main

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	handle, err := fromEnvironment(os.Stdout)
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handle)
}
