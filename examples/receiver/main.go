// Command receiver is a Lambda function of a user's own that Streamsort's process calls with each
// batch: a sink of the kind "lambda". Copy it, and change handle.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	lambda.Start(handle)
}

// document is what process calls a function with; these are the members that this one looks at.
// Numbers beyond 2^53 come as text, which json.Number reads too.
type document struct {
	Queue    string        `json:"queue"`
	TokenN   json.Number   `json:"tokenN"`
	From     json.Number   `json:"from"`
	To       json.Number   `json:"to"`
	Messages []message     `json:"messages"`
	Skipped  []json.Number `json:"skipped"`
}

// message has a body that is JSON, or any other in base64.
type message struct {
	Seq        json.Number     `json:"seq"`
	Body       json.RawMessage `json:"body"`
	BodyBase64 []byte          `json:"bodyBase64"`
}

// seen is what the log says of a message: never the payload.
type seen struct {
	Seq    json.Number `json:"seq"`
	SHA256 string      `json:"sha256"`
}

// handle is called with each queue's messages in order. This is where your own work goes; here, one
// line of the log says what came. An error has the batch tried again.
//
// A document can come again, in whole or in part: then its tokenN is higher. Work that must not be
// done for a claim that is over remembers the highest tokenN of each queue, and refuses lower ones.
func handle(ctx context.Context, d document) error {
	messages := make([]seen, len(d.Messages))
	for i, m := range d.Messages {
		body := []byte(m.Body)
		if m.BodyBase64 != nil {
			body = m.BodyBase64
		}
		hash := sha256.Sum256(body)
		messages[i] = seen{m.Seq, hex.EncodeToString(hash[:])}
	}
	slog.InfoContext(ctx, "batch", "queue", d.Queue, "from", d.From, "to", d.To, "token", d.TokenN,
		"messages", messages, "skipped", d.Skipped)
	return nil
}
