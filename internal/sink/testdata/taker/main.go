// Taker is a consumer's function that does what the attribute "do" of a batch's
// first message says, and else takes the batch.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

type document struct {
	Queue    string `json:"queue"`
	From, To int64
	Messages []struct {
		Seq        int64             `json:"seq"`
		Attributes map[string]string `json:"attributes"`
	} `json:"messages"`
}

func handle(_ context.Context, d document) (any, error) {
	fmt.Println("taken", d.Queue, d.From, d.To, len(d.Messages))
	if len(d.Messages) > 0 {
		switch d.Messages[0].Attributes["do"] {
		case "fail":
			return nil, errors.New("this one is bad")
		case "garbage":
			return []int{1}, nil
		case "object":
			return map[string]int{"taken": len(d.Messages)}, nil
		case "exit":
			os.Exit(3)
		}
	}
	return nil, nil
}

func main() { lambda.Start(handle) }
