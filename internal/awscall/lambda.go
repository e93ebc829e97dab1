package awscall

import (
	"context"

	"github.com/aws/smithy-go/encoding/httpbinding"
)

// The ways to invoke a function: wait for its answer, or only for Lambda to have taken the event.
const (
	RequestResponse = "RequestResponse"
	Event           = "Event"
)

// Invocation is what became of a call.
type Invocation struct {
	// Status is 200 where the function answered, 202 where the event was taken.
	Status int
	// FunctionError is "Handled" or "Unhandled" where the function failed; Payload then says how.
	// It is its answer otherwise.
	FunctionError string
	Payload       []byte
	// RequestID is the invocation's, which the function's log has too.
	RequestID string
}

// Invoke calls a function by its ARN, with a version or an alias or without.
//
// Lost response: the function has run, and runs again where the retryer repeats it.
func (c *Client) Invoke(ctx context.Context, arn, kind string, payload []byte) (Invocation, error) {
	return c.InvokeWith(ctx, arn, kind, "", payload)
}

// InvokeWith is Invoke with a client context, in base64: what stands beside the payload.
func (c *Client) InvokeWith(ctx context.Context, arn, kind, clientContext string,
	payload []byte) (Invocation, error) {
	header := map[string]string{"Content-Type": "application/octet-stream",
		"X-Amz-Invocation-Type": kind}
	if clientContext != "" {
		header["X-Amz-Client-Context"] = clientContext
	}
	answer, err := c.do(ctx, request{
		path:   "/2015-03-31/functions/" + httpbinding.EscapePath(arn, true) + "/invocations",
		header: header,
		body:   payload,
	})
	if err != nil {
		return Invocation{}, err
	}
	return Invocation{answer.status, answer.header.Get("X-Amz-Function-Error"), answer.body,
		answer.header.Get("X-Amzn-Requestid")}, nil
}
