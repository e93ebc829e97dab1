package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// call is what the function is called with: records of the cursors' stream, or one queue that it is to deliver to a
// consumer.
type call struct {
	table.StreamEvent
	Aside *aside `json:"aside,omitempty"`
}

// aside is a queue that would have held up others.
type aside struct {
	Queue    string `json:"queue"`
	Consumer string `json:"consumer"`
}

// asideCalls returns what has the function called for a queue, by the alias that it was called by itself: the stack
// bounds how old such a call may get, and how often it is repeated.
//
// Lost response: it is called twice, and the second call finds the claim of the first, or nothing to do. We die right
// after, or the call is lost: the sweep comes to the queue.
func asideCalls() (func(ctx context.Context, queue, consumer string) error, error) {
	client, err := awscall.New(awscall.Lambda, awscall.Options{
		Timeout: kind.RequestTimeout, Retryer: retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 2 }),
	})
	return func(ctx context.Context, queue, consumer string) error {
		invoked, ok := lambdacontext.FromContext(ctx)
		if !ok {
			return errors.New("this is no call of a Lambda function")
		}
		event, err := strictjson.Marshal(call{Aside: &aside{queue, consumer}})
		if err != nil {
			return err
		}
		_, err = client.Invoke(ctx, invoked.InvokedFunctionArn, awscall.Event, event)
		return err
	}, err
}

// deliverAside delivers a queue to one of the readers. The error has Lambda call once more: the store failed.
func deliverAside(ctx context.Context, d *handoff.Deliverer, readers []handoff.Reader, a aside) error {
	for _, r := range readers {
		if r.Name == a.Consumer && strings.HasPrefix(a.Queue, r.Prefix) {
			return d.DeliverAside(ctx, a.Queue, r).Err
		}
	}
	return nil // it was taken out of consumers.json since, or its prefix was changed
}

// endpoints are where queues go to, as a sink asks for them. A queue that has none waits for one, and one whose endpoint
// is paused until it is not.
func endpoints(cache *endpoint.Cache) kind.Endpoints {
	return func(ctx context.Context, consumer, queue string) (kind.Endpoint, error) {
		e, err := cache.Of(ctx, consumer, queue)
		switch {
		case errors.Is(err, endpoint.ErrNone):
			return kind.Endpoint{}, &kind.AwayError{Err: err}
		case err != nil:
			return kind.Endpoint{}, &kind.AwayError{Err: fmt.Errorf("its endpoint cannot be looked at: %w", err)}
		case e.Paused != "":
			return kind.Endpoint{}, &kind.AwayError{Err: fmt.Errorf("its endpoint is paused: %s", e.Paused)}
		}
		of, _ := tenant.Split(queue)
		return kind.Endpoint{URL: e.URL, Secrets: e.Secrets(cache.Now()), Own: of != ""}, nil
	}
}

// changed reports whether the endpoint of a consumer's queue was changed since a batch failed. Some process may have gone on
// for a while as if it was not, and its clock may have been behind: what failed in that time is tried once more, after it.
func changed(cache *endpoint.Cache, consumer string) func(context.Context, string, time.Time) bool {
	return func(ctx context.Context, queue string, failed time.Time) bool {
		at := cache.ChangedAt(ctx, consumer, queue)
		everywhere := at.Add(endpoint.Lifetime + farBehind)
		return failed.Before(at) || failed.Before(everywhere) && !cache.Now().Before(everywhere)
	}
}

// farBehind is more than clocks of AWS's differ.
const farBehind = 5 * time.Second
