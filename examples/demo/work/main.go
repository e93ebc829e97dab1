// Command work is what the demo's tracked consumer delivers messages to: two Lambda functions in
// one program, distinguished by their handlers' names. RECEIVE is process's sink: it ends each
// message's edge, starts one under it, and passes the message on to WORK, which does the message's
// work and ends that edge. The batch is committed when all of them have ended.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	lambdaapi "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/streamsort/streamsort/pkg/xorack"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	handler, err := newHandler(context.Background(), os.Getenv("_HANDLER"))
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// newHandler is the function whose Handler property has this name.
func newHandler(ctx context.Context, name string) (any, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	store := xorack.NewDynamo(dynamodb.NewFromConfig(aws), xorack.Names{Chains: os.Getenv("CHAINS_TABLE")})
	acker, err := xorack.New(store, nil)
	if err != nil {
		return nil, err
	}
	s := &steps{acker: acker, lambda: lambdaapi.NewFromConfig(aws), next: os.Getenv("NEXT_FUNCTION")}
	if name == "WORK" {
		return s.work, nil
	}
	return s.receive, nil
}

// steps are the two functions.
type steps struct {
	acker  *xorack.Acker
	lambda *lambdaapi.Client
	next   string
}

// document is what process calls RECEIVE with, as far as it matters here.
type document struct {
	Queue    string        `json:"queue"`
	TokenN   json.Number   `json:"tokenN"`
	From     json.Number   `json:"from"`
	To       json.Number   `json:"to"`
	Messages []message     `json:"messages"`
	Skipped  []json.Number `json:"skipped"`
}

type message struct {
	Seq        json.Number     `json:"seq"`
	Edge       xorack.Edge     `json:"edge"`
	Body       json.RawMessage `json:"body"`
	BodyBase64 []byte          `json:"bodyBase64"`
}

// seen is what the log says of a message.
type seen struct {
	Seq    json.Number `json:"seq"`
	SHA256 string      `json:"sha256"`
}

// job is a message's work, as RECEIVE passes it to WORK.
type job struct {
	Queue string      `json:"queue"`
	Seq   json.Number `json:"seq"`
	Edge  xorack.Edge `json:"edge"`
}

// receive takes a batch. Running again for the same batch repeats the very same operations, which
// changes nothing.
func (s *steps) receive(ctx context.Context, d document) error {
	messages := make([]seen, len(d.Messages))
	operations := make([]xorack.Operation, len(d.Messages))
	for i, m := range d.Messages {
		body := []byte(m.Body)
		if m.BodyBase64 != nil {
			body = m.BodyBase64
		}
		hash := sha256.Sum256(body)
		messages[i] = seen{m.Seq, hex.EncodeToString(hash[:])}
		operations[i] = xorack.EndOf(m.Edge, m.Edge.Child(0))
	}
	slog.InfoContext(ctx, "batch", "queue", d.Queue, "from", d.From, "to", d.To, "token", d.TokenN,
		"messages", messages, "skipped", d.Skipped)
	// All of a batch is one chain, and so one write.
	results, errs := s.acker.Apply(ctx, operations)
	for i, m := range d.Messages {
		if errs[i] != nil {
			return errs[i]
		}
		if results[i].Chain.End() != xorack.Open {
			return nil // it was given up meanwhile, or all is done
		}
		payload, err := json.Marshal(job{d.Queue, m.Seq, m.Edge.Child(0)})
		if err != nil {
			return err
		}
		if _, err := s.lambda.Invoke(ctx, &lambdaapi.InvokeInput{FunctionName: &s.next, InvocationType: "Event", Payload: payload}); err != nil {
			return err
		}
	}
	return nil
}

// work does a message's work: here, a line of the log. First the work, then the edge's end.
func (s *steps) work(ctx context.Context, j job) error {
	slog.InfoContext(ctx, "work", "queue", j.Queue, "seq", j.Seq)
	_, err := s.acker.Done(ctx, j.Edge)
	return err
}
