package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// call is what the function is called with: records of the cursors' stream, or queues that it is to
// deliver at once: those that were moved, to eager consumers, or one that would have held up
// others, to one consumer.
type call struct {
	table.StreamEvent
	eager.Event
}

// asideCalls returns what has a queue delivered by an isolated invocation: an asynchronous call of
// a function, which is this program deployed once more. The stack bounds how old such a call may
// get, and how often it is repeated.
//
// Lost response: it is called twice, and the second call finds the claim of the first, or nothing
// to do. We die right after, or the call is lost: the sweep comes to the queue.
func asideCalls(function string) (func(ctx context.Context, queue, consumer string) error, error) {
	if function == "" {
		return nil, errors.New(consumers.SlowVariable + " is not set: a consumer has endpoints, and it " +
			"must be the ARN of the function that calls slow ones, which the stack makes")
	}
	client, err := awscall.New(awscall.Lambda, awscall.Options{
		Timeout: kind.RequestTimeout, Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = 2
		}),
	})
	return func(ctx context.Context, queue, consumer string) error {
		event, err := strictjson.Marshal(
			eager.Event{Deliver: []eager.Queue{{Queue: queue, Consumer: consumer}}})
		if err != nil {
			return err
		}
		_, err = client.Invoke(ctx, function, awscall.Event, event)
		return err
	}, err
}

const (
	// patience is how long the counter of a tenant's isolated invocations may take to answer.
	patience = time.Second
	// longest is how long an invocation may take, where its context has no deadline.
	longest = 15 * time.Minute
	// minWait and maxWait bound how long a queue waits whose tenant's share is used up.
	minWait, maxWait = 5 * time.Second, 15 * time.Second
)

// share bounds how many isolated invocations each tenant has at a time; a nil share does not.
type share struct {
	leases *quota.Leases
	// wakeUp has a queue that waits woken up.
	wakeUp func(queue, consumer string, due time.Time)
	now    func() time.Time
}

func shareOf(text string, d *runtime.Deps) (*share, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < quota.MinShare || n > quota.MaxShare {
		return nil, fmt.Errorf("%s must be an integer from %d to %d: it is %q",
			consumers.ShareVariable, quota.MinShare, quota.MaxShare, text)
	}
	leases := quota.NewLeases(dynamo.NewEngine(d.Client), d.Consumers.Tables()[0], n, time.Now)
	return &share{leases: leases, wakeUp: d.Timer.Consumer, now: time.Now}, nil
}

// take reports whether a queue's tenant has a free place for an invocation, and returns what gives
// it back. Where it has none, the queue is woken up later. What is no tenant's has no bound, nor
// has anything where the counter does not answer: refusing all for that would stop every tenant.
func (s *share) take(ctx context.Context, metrics *emf.Metrics,
	a eager.Queue) (end func(), taken bool) {
	end = func() {}
	of, _ := tenant.Split(a.Queue)
	if s == nil || of == "" {
		return end, true
	}
	now := s.now()
	until := now.Add(longest)
	if deadline, ok := ctx.Deadline(); ok {
		until = deadline.Add(runtime.Headroom)
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lease, taken, err := s.leases.Take(asking, of, until)
	switch {
	case err != nil:
		metrics.Count("QuotaUnknown", 1)
		slog.WarnContext(ctx,
			"a tenant's isolated invocations cannot be counted: this one is not bounded",
			"queue", a.Queue, "error", err)
		return end, true
	case !taken:
		metrics.Count("IsolatedWaits", 1)
		s.wakeUp(a.Queue, a.Consumer, now.Add(minWait+rand.N(maxWait-minWait)))
		return end, false
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err := lease.End(ctx); err != nil {
			slog.WarnContext(ctx, "a place for isolated invocations is free only when its time is over",
				"queue", a.Queue, "error", err)
		}
	}, true
}

// deliverAside delivers a queue to one of the readers. The error has Lambda call once more: the
// store failed.
func deliverAside(ctx context.Context, d *delivery.Deliverer, readers []delivery.Reader,
	a eager.Queue) error {
	for _, r := range readers {
		if r.Name == a.Consumer && strings.HasPrefix(a.Queue, r.Prefix) {
			if err := d.Deliver(ctx, a.Queue, r, -1).Err; !errors.Is(err, cursor.ErrErased) {
				return err
			}
		}
	}
	return nil // it was taken out of consumers.json since, or its prefix was changed
}

// endpoints are where queues go to, as a sink asks for them. A queue that has none waits for one,
// and one whose endpoint is paused until it is not.
func endpoints(cache *endpoint.Cache) kind.Endpoints {
	return func(ctx context.Context, consumer, queue string) (kind.Endpoint, error) {
		e, err := cache.Of(ctx, consumer, queue)
		switch {
		case errors.Is(err, endpoint.ErrNone):
			return kind.Endpoint{}, &kind.AwayError{Err: err}
		case err != nil:
			return kind.Endpoint{},
				&kind.AwayError{Err: fmt.Errorf("its endpoint cannot be looked at: %w", err)}
		case e.Paused != "":
			return kind.Endpoint{}, &kind.AwayError{Err: fmt.Errorf("its endpoint is paused: %s", e.Paused)}
		}
		of, _ := tenant.Split(queue)
		return kind.Endpoint{URL: e.URL, Secrets: e.Secrets(cache.Now()), Own: of != ""}, nil
	}
}

// changed reports whether the endpoint of a consumer's queue was changed since a batch failed. Some
// process may have gone on for a while as if it was not, and its clock may have been behind: what
// failed in that time is tried once more, after it.
func changed(cache *endpoint.Cache, consumer string) func(context.Context, string, time.Time) bool {
	return func(ctx context.Context, queue string, failed time.Time) bool {
		at := cache.ChangedAt(ctx, consumer, queue)
		everywhere := at.Add(endpoint.Lifetime + farBehind)
		return failed.Before(at) || failed.Before(everywhere) && !cache.Now().Before(everywhere)
	}
}

// farBehind is more than clocks of AWS's differ.
const farBehind = 5 * time.Second
