// Command orders is a consumer: a Lambda function that gets messages in order.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(handle) }

// batch is messages of one queue, in order.
type batch struct {
	Queue    string
	Messages []message
}

// message has its body in one of two members: JSON with white space in it comes in base64, so that
// no byte changes.
type message struct {
	Seq        json.Number
	Body       json.RawMessage
	BodyBase64 []byte
}

type order struct {
	Items []struct{ Cents int }
}

// handle takes a batch. An error has it come again.
func handle(_ context.Context, b batch) error {
	for _, m := range b.Messages {
		var o order
		if err := json.Unmarshal(append(m.Body, m.BodyBase64...), &o); err != nil {
			return fmt.Errorf("message %s of %s: %w", m.Seq, b.Queue, err)
		}
		fmt.Printf("%s %s: %d cents\n", b.Queue, m.Seq, o.total())
	}
	return nil
}

func (o order) total() (cents int) {
	for _, item := range o.Items {
		cents += item.Cents
	}
	return cents
}
