// Command source is the function that takes the events of a source of AWS: of SQS, SNS,
// EventBridge, Kinesis, S3, DynamoDB Streams or Kafka. Each source has a function of its own
// of this program, so that it has the rights for its own queues alone, and its failures are
// its own. The source is described by the variable STREAMSORT_SOURCE; package source of
// internal has its format, and what is promised.
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
