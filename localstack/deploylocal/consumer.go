package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/localstack/ministack"
)

// patience is how long nothing may come out before the sweep is called, which the stack's schedule
// does every minute; sweeps is how often. The server kills the processes of functions that are
// deployed anew: their claims are over after 70 seconds, and the sweep takes care of the rest.
const (
	patience = 10 * time.Second
	sweeps   = 12
)

// drain waits until every message has come out of the consumer's function.
func (t *trial) drain(ctx context.Context) error {
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	last, moved := -1, time.Now()
	for {
		if err := t.readLog(ctx); err != nil {
			return err
		}
		count := t.watcher.State().Messages
		if count >= t.watcher.Distinct() {
			return nil
		}
		if count != last {
			last, moved = count, time.Now()
		}
		if time.Since(moved) > patience {
			if t.swept == sweeps {
				return fmt.Errorf("%d of %d messages came out", count, t.watcher.Distinct())
			}
			t.swept++
			moved = time.Now()
			if _, err := t.invoke(ctx, "SweepFunctionName", []byte(`{}`)); err != nil {
				return err
			}
			fmt.Fprintf(t.out, "    %d of %d are out, and no more for %v: called the sweep\n", count, t.watcher.Distinct(), patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// readLog hands the lines of the consumer's log that are new to the watcher, in the order in which
// they were written.
func (t *trial) readLog(ctx context.Context) error {
	type event struct {
		Timestamp int64
		Message   string
	}
	var fresh []event
	for token := ""; ; {
		input := map[string]string{"logGroupName": "/aws/lambda/streamsort-receiver"}
		if token != "" {
			input["nextToken"] = token
		}
		var page struct {
			Events    []event
			NextToken string
		}
		if err := t.server.JSON(ctx, "logs", "Logs_20140328.FilterLogEvents", input, &page); err != nil {
			// Lambda makes the group with the first line.
			if ministack.NoResource(err) {
				return nil
			}
			return err
		}
		for _, e := range page.Events {
			if strings.Contains(e.Message, `"message":"batch"`) && !t.seen[e.Message] {
				t.seen[e.Message] = true
				fresh = append(fresh, e)
			}
		}
		if token = page.NextToken; token == "" {
			break
		}
	}
	// A line begins with the time at which it was written.
	slices.SortStableFunc(fresh, func(a, b event) int { return cmp.Compare(a.Message, b.Message) })
	for _, e := range fresh {
		t.watcher.Line(e.Message)
	}
	return nil
}

// operate asks the delivery function what an operator would, directly.
func (t *trial) operate(ctx context.Context) error {
	queue := t.arrivals[0].Queue
	c, err := t.consumer(ctx, queue)
	if err == nil && c.Lag != "0" {
		err = fmt.Errorf("queue %s: %+v", queue, c)
	}
	fmt.Fprintf(t.out, "    %s has %s of %s in %s\n", c.Consumer, c.Delivered, c.Position, queue)
	return err
}

// consumer is a consumer in one queue.
type consumer struct {
	Consumer                 string
	Delivered, Position, Lag json.Number
}

// consumer asks how far the consumer of a queue is: nowhere before its first message.
func (t *trial) consumer(ctx context.Context, queue string) (c consumer, err error) {
	answer, err := t.invoke(ctx, "DeliveryFunctionName", fmt.Appendf(nil, `{"operation":"status","queue":%q}`, queue))
	if err != nil {
		return c, err
	}
	var status struct{ Consumers []consumer }
	if err = json.Unmarshal(answer, &status); len(status.Consumers) > 0 {
		c = status.Consumers[0]
	}
	return c, err
}
