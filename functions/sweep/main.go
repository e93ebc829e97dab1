// Command sweep is the function that runs on a schedule and looks after all
// queues and their consumers: it heals, skips, settles keyed queues, keeps undelivered
// messages from expiring, wakes up consumers that lag, times chains out, and announces gaps,
// late messages and consumers that are stuck, and how chains end. Called with wake-ups of the timer, it does
// the same for the queues, consumers and chains that they name, and for nothing else.
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
