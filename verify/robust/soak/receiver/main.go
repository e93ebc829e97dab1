// Command receiver is the soak's sink of the kind "lambda": it writes a line about each document
// into its log, fails on a message that the soak has poisoned, and answers one that says how.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	lambda.Start(handle)
}

// document is what process calls the function with.
type document struct {
	Queue    string    `json:"queue"`
	TokenN   int64     `json:"tokenN"`
	From     int64     `json:"from"`
	To       int64     `json:"to"`
	Messages []message `json:"messages"`
	Skipped  []int64   `json:"skipped"`
}

// message has a body that is JSON, or any other in base64.
type message struct {
	Seq        int64             `json:"seq"`
	Body       json.RawMessage   `json:"body"`
	BodyBase64 []byte            `json:"bodyBase64"`
	Attributes map[string]string `json:"attributes"`
}

// poison is the attribute of a message that is never taken.
const poison = "poison"

// replies is the attribute of a message that is answered: a JSON array of replies.
const replies = "replies"

// answer is what process reads.
type answer struct {
	Replies []json.RawMessage `json:"replies,omitempty"`
}

// seen is what the log says of a message.
type seen struct {
	Seq    int64  `json:"seq"`
	SHA256 string `json:"sha256"`
}

// handle takes all of a document or, where a message of it is poisoned, nothing.
func handle(ctx context.Context, d document) (answer, error) {
	var a answer
	messages := make([]seen, len(d.Messages))
	for i, m := range d.Messages {
		if m.Attributes[poison] != "" {
			return a, fmt.Errorf("message %d is poisoned", m.Seq)
		}
		if text := m.Attributes[replies]; text != "" {
			var some []json.RawMessage
			if err := json.Unmarshal([]byte(text), &some); err != nil {
				return a, fmt.Errorf("message %d says how to answer it: %w", m.Seq, err)
			}
			a.Replies = append(a.Replies, some...)
		}
		body := []byte(m.Body)
		if m.BodyBase64 != nil {
			body = m.BodyBase64
		}
		hash := sha256.Sum256(body)
		messages[i] = seen{m.Seq, hex.EncodeToString(hash[:])}
	}
	slog.InfoContext(ctx, "batch", "queue", d.Queue, "from", d.From, "to", d.To, "token", d.TokenN,
		"messages", messages, "skipped", d.Skipped)
	return a, nil
}
