package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/localstack/ministack"
)

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
	c, err := t.standing(ctx, queue)
	if err == nil && c.Lag != "0" {
		err = fmt.Errorf("queue %s: %+v", queue, c)
	}
	t.print("%s has %s of %s in %s", c.Consumer, c.Delivered, c.Position, queue)
	return err
}

// standing is how far a consumer is in a queue.
type standing struct {
	Consumer                 string
	Delivered, Position, Lag json.Number
}

// standing asks how far the consumer of a queue is: nowhere before its first message.
func (t *trial) standing(ctx context.Context, queue string) (standing, error) {
	var status struct{ Consumers [1]standing }
	answer, err := t.invoke(ctx, "DeliveryFunctionName", fmt.Sprintf(`{"operation":"status","queue":%q}`, queue))
	if err == nil {
		err = json.Unmarshal(answer, &status)
	}
	return status.Consumers[0], err
}
