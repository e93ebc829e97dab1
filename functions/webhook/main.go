// Command webhook is the function that takes the requests of senders who sign
// them with a secret of their own instead of for IAM, behind a route of the HTTP API that asks for no
// authorisation. Its senders are described by webhooks.json, which lies beside
// the program; package webhook of internal has its format, and what is promised.
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
