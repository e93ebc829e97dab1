// Package announce publishes what happens to queues and consumers. Each announcement is a line in
// the log. Where a bus is named, it is an event on EventBridge with source "streamsort" and the
// announcement's kind as its detail type. Where a topic is named, it is a message on SNS with the
// same document, and the attributes "source" and "kind" to filter by. Where a function is named, it
// is an asynchronous invocation with that document. If one of them fails, the others still get it.
//
// Names are whole, as they are stored; where one has a tenant in front (package pkg/tenant), the
// document has the member "tenant".
//
// An announcement is published at least once. Its repeats have the same id, by which a reader drops
// them.
package announce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Source is the source of all events.
const Source = "streamsort"

// Announcer publishes announcements.
type Announcer struct {
	to []func(ctx context.Context, kind, detail string) error
}

const requestTimeout = 10 * time.Second

// New returns an Announcer for a bus, which is a name or an ARN, the ARN of an SNS topic (not a
// FIFO one), and the ARN of a Lambda function, which may name a version or an alias. An empty one
// is not used; with none, announcements are logged only. It makes no request.
func New(bus, topic, function string) (*Announcer, error) {
	a := &Announcer{}
	if bus != "" {
		c, err := awscall.New(awscall.EventBridge, awscall.Options{Timeout: requestTimeout})
		if err != nil {
			return nil, err
		}
		a.to = append(a.to, func(ctx context.Context, kind, detail string) error {
			return put(ctx, c, bus, kind, detail)
		})
	}
	if topic != "" {
		target, err := arn.Parse(topic)
		if err != nil || target.Service != "sns" || target.Region == "" ||
			strings.HasSuffix(topic, ".fifo") {
			return nil,
				fmt.Errorf("topic %q must be like arn:aws:sns:REGION:ACCOUNT:NAME, and not FIFO", topic)
		}
		c, err := awscall.New(awscall.SNS,
			awscall.Options{Region: target.Region, Timeout: requestTimeout})
		if err != nil {
			return nil, err
		}
		a.to = append(a.to, func(ctx context.Context, kind, detail string) error {
			err := c.Publish(ctx, topic, Source+" "+kind, detail, map[string]awscall.Attribute{
				"source": {DataType: "String", StringValue: Source}, "kind": {DataType: "String", StringValue: kind},
			})
			return within("publish on topic "+topic, err)
		})
	}
	if function != "" {
		target, err := arn.Parse(function)
		if err != nil || target.Service != "lambda" || target.Region == "" ||
			!strings.HasPrefix(target.Resource, "function:") {
			return nil,
				fmt.Errorf("function %q must be like arn:aws:lambda:REGION:ACCOUNT:function:NAME", function)
		}
		c, err := awscall.New(awscall.Lambda,
			awscall.Options{Region: target.Region, Timeout: requestTimeout})
		if err != nil {
			return nil, err
		}
		a.to = append(a.to, func(ctx context.Context, _, detail string) error {
			_, err := c.Invoke(ctx, function, awscall.Event, []byte(detail))
			return within("invoke "+function, err)
		})
	}
	return a, nil
}

// send publishes one announcement to everybody. Lost response: it goes out twice, under the same
// id. We die right after: the next run of the sweep, or the call that finishes the chain, repeats
// it.
func (a *Announcer) send(ctx context.Context, kind string, detail any) error {
	raw, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	errs := make([]error, len(a.to))
	for i, to := range a.to {
		errs[i] = to(ctx, kind, string(raw))
	}
	return errors.Join(errs...)
}

func put(ctx context.Context, to *awscall.Client, bus, kind, detail string) error {
	results, err := to.PutEvents(ctx,
		[]awscall.PutEvent{{EventBusName: bus, Source: Source, DetailType: kind, Detail: detail}})
	errs := []error{within("put event on bus "+bus, err)}
	for _, result := range results {
		if result.ErrorCode != "" {
			errs = append(errs, fmt.Errorf("bus %s refused the event: %s: %s", bus, result.ErrorCode,
				result.ErrorMessage))
		}
	}
	return errors.Join(errs...)
}

func within(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func of(name string) string {
	tenant, _ := tenant.Split(name)
	return tenant
}
