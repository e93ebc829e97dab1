// Command process is the ready-made consumer behind the cursors table's stream:
// it delivers every queue's messages, in order, to the sinks that consumers.json,
// or the same text in its environment, names.
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
