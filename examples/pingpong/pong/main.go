// Command pong is the Lambda function of the example: process calls it with each batch of the queue
// pings, and it answers every message to the queue pongs. What it answers is stored if the batch is
// committed, and only then: it may be called with a message more than once, and the message is
// answered once.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(handle) }

// document is what process calls the function with; these are the members that this one looks at.
type document struct {
	Messages []struct {
		Seq  int64 `json:"seq"`
		Body ball  `json:"body"`
	} `json:"messages"`
}

// ball is a message's body: which ball it is, how often it was hit, and the message that it
// answers.
type ball struct {
	Ball    int   `json:"ball"`
	Hits    int   `json:"hits"`
	Answers int64 `json:"answers"`
}

// reply is a message to a queue.
type reply struct {
	Queue string `json:"queue"`
	Body  ball   `json:"body"`
}

// answer is what process reads.
type answer struct {
	Replies []reply `json:"replies"`
}

// handle hits every ball back.
func handle(_ context.Context, d document) (answer, error) {
	var a answer
	for _, m := range d.Messages {
		a.Replies = append(a.Replies, reply{"pongs", ball{m.Body.Ball, m.Body.Hits + 1, m.Seq}})
	}
	return a, nil
}
