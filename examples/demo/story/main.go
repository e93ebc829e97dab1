// Command story is the consumer of the demo's first part: a Lambda function that prints what it is
// given, and at the first attempt fails, or hangs until its process is killed, where the message
// says so.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(handle) }

// batch is what process calls a function with, as far as it matters here.
type batch struct {
	TokenN   json.Number
	Attempt  int
	Messages []struct {
		Seq  json.Number
		Body string
	}
}

func handle(_ context.Context, b batch) error {
	first := b.Messages[0]
	fmt.Println(os.Getpid(), first.Seq, b.Messages[len(b.Messages)-1].Seq, b.TokenN, b.Attempt)
	switch {
	case b.Attempt > 1:
	case first.Body == "fail":
		return errors.New("the bank does not answer")
	case first.Body == "hang":
		select {} // until it is killed
	}
	return nil
}
