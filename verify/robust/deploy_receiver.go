package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// log returns the lines that a function has logged.
func (t *deployment) log(ctx context.Context, function string) (lines []string, err error) {
	input := map[string]string{"logGroupName": "/aws/lambda/" + function}
	for {
		var page struct {
			Events    []struct{ Message string }
			NextToken string
		}
		err := t.server.JSON(ctx, "logs", "Logs_20140328.FilterLogEvents", input, &page)
		if ministack.NoResource(err) {
			return nil, nil // Lambda makes the group with the first line
		}
		for _, e := range page.Events {
			lines = append(lines, e.Message)
		}
		if input["nextToken"] = page.NextToken; err != nil || page.NextToken == "" {
			return lines, err
		}
	}
}

// readLog hands the lines of the consumer's log that are new to the watcher, in the order in which
// they were written: a line begins with its time.
func (t *deployment) readLog(ctx context.Context) error {
	lines, err := t.log(ctx, "streamsort-receiver")
	slices.Sort(lines)
	for _, line := range lines {
		if !t.seen[line] {
			t.seen[line] = true
			t.watcher.Line(line)
		}
	}
	return err
}

// operate asks the delivery function what an operator would, directly.
func (t *deployment) operate(ctx context.Context) {
	queue := t.messages[0].Queue
	c := check.Get(t.standing(ctx, queue))
	if c.Lag != "0" {
		check.Must(fmt.Errorf("queue %s: %+v", queue, c))
	}
	t.Print("%s has %s of %s in %s", c.Consumer, c.Delivered, c.Position, queue)
}

// standing is how far a consumer is in a queue.
type standing struct {
	Consumer                 string
	Delivered, Position, Lag json.Number
}

// standing asks how far the consumer of a queue is: nowhere before its first message.
func (t *deployment) standing(ctx context.Context, queue string) (standing, error) {
	var status struct{ Consumers [1]standing }
	answer, err := t.invoke(ctx, "DeliveryFunctionName",
		fmt.Sprintf(`{"operation":"status","queue":%q}`, queue))
	if err == nil {
		err = json.Unmarshal(answer, &status)
	}
	return status.Consumers[0], err
}
