// Command sort is the function behind the streams of the messages table and of the arrivals
// table. It heals each queue that a message's record names, and in asynchronous mode it is
// what moves the cursors. It settles each keyed queue that an arrival's record names, or has
// the timer wake the sweep up for that when the settle window is over. A queue with more to
// move over than one invocation has time for is continued by the next one: its record is
// returned as one that has to be repeated.
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
