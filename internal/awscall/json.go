package awscall

import (
	"context"
	"encoding/json"
	"errors"
)

// JSON calls an action of a service whose requests and answers are JSON: target is the header
// X-Amz-Target.
func (c *Client) JSON(ctx context.Context, contentType, target string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := c.do(ctx, request{
		path: "/", header: map[string]string{"Content-Type": contentType, "X-Amz-Target": target},
		body: body,
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.body, out)
}

// PutEvent is an event for a bus, which is a name or an ARN.
type PutEvent struct {
	EventBusName string
	Source       string
	DetailType   string
	Detail       string
	// TraceHeader is that of X-Ray; empty if absent.
	TraceHeader string `json:",omitempty"`
}

// PutResult is what became of an event: it has an id, or was refused.
type PutResult struct {
	EventID      string `json:"EventId"`
	ErrorCode    string
	ErrorMessage string
}

// PutEvents puts ten events at most; the results are in their order.
//
// Lost response: the events are there twice.
func (c *Client) PutEvents(ctx context.Context, events []PutEvent) ([]PutResult, error) {
	var out struct{ Entries []PutResult }
	err := c.JSON(ctx, "application/x-amz-json-1.1", "AWSEvents.PutEvents",
		struct{ Entries []PutEvent }{events}, &out)
	return out.Entries, err
}

// errNoText: no value can be read from the answer of a secret store. What it was instead may be a
// secret.
var errNoText = errors.New("the answer has no text")

// Secret is the text of the current version of a secret of Secrets Manager, which is named by its
// ARN. An error holds nothing of it.
//
// Lost response: it is fetched again.
func (c *Client) Secret(ctx context.Context, arn string) (string, error) {
	var out struct{ SecretString *string }
	err := c.JSON(ctx, "application/x-amz-json-1.1", "secretsmanager.GetSecretValue",
		map[string]any{"SecretId": arn}, &out)
	return text(out.SecretString, err)
}

// Parameter is the value, decrypted, of a parameter of Systems Manager, which is named by its ARN.
// An error holds nothing of it.
//
// Lost response: it is fetched again.
func (c *Client) Parameter(ctx context.Context, arn string) (string, error) {
	var out struct{ Parameter struct{ Value *string } }
	err := c.JSON(ctx, "application/x-amz-json-1.1", "AmazonSSM.GetParameter",
		map[string]any{"Name": arn, "WithDecryption": true}, &out)
	return text(out.Parameter.Value, err)
}

// text is a value that was fetched. JSON's own errors quote what they read.
func text(value *string, err error) (string, error) {
	switch {
	case errors.As(err, new(*Error)), errors.As(err, new(interface{ ConnectionError() bool })),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "", err
	case err != nil || value == nil:
		return "", errNoText
	}
	return *value, nil
}
