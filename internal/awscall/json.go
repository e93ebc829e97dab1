package awscall

import (
	"context"
	"encoding/json"
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
