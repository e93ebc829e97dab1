package localstack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

func (s *Stack) addSchedules() error {
	for _, l := range s.templates {
		for _, t := range l.Schedules {
			if err := s.scheduleNames.add(t.LogicalID, t.Name); err != nil {
				return fmt.Errorf("%s: %w", l.path, err)
			}
			s.schedules = append(s.schedules, t)
		}
	}
	return nil
}

// runSchedule invokes a schedule's targets at each moment of its rate, asynchronously as
// EventBridge does, until ctx ends. The first moment is one period away: nothing is stored, and a
// moment that passes while the program is down is not made up for.
func (s *Stack) runSchedule(ctx context.Context, t template.Schedule) {
	for due := time.Tick(t.Every); ; {
		select {
		case at := <-due:
			for _, target := range t.Targets {
				if err := s.functions.InvokeAsync(scheduled(t, "aws.events", target, at)); err != nil {
					s.config.Logger.Warn("schedule could not invoke",
						"schedule", t.Name, "function", target.Function, "error", err)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// scheduled is a scheduled invocation. Its payload is the target's Input where it has one, else an
// event ("Events from AWS services", Amazon EventBridge User Guide).
func scheduled(
	t template.Schedule, source string, target template.Target, at time.Time,
) lambda.Request {
	payload := []byte(target.Input)
	if target.Input == "" {
		payload, _ = json.Marshal(map[string]any{
			"version": "0", "id": template.UUID(rand.Text()), "detail-type": "Scheduled Event",
			"source": source, "account": template.Account, "time": at.UTC().Format(time.RFC3339),
			"region": template.Region, "resources": []string{t.ARN}, "detail": struct{}{},
		})
	}
	return lambda.Request{Function: target.Function, Payload: payload}
}

// Trigger invokes the targets of a schedule now, one after the other, and waits for them. name is
// its logical id or its own name; a disabled schedule is run too. The source of a rule's event is
// "local": a function that does less when it is called too often, as the sweep does, does all of
// it. A function that fails is a Response with FunctionError.
func (s *Stack) Trigger(ctx context.Context, name string) ([]lambda.Response, error) {
	found := s.scheduleNames.find(name)
	for _, t := range s.schedules {
		if t.Name != found {
			continue
		}
		var out []lambda.Response
		for _, target := range t.Targets {
			response, err := s.functions.Invoke(ctx, scheduled(t, "local", target, time.Now()))
			if err != nil {
				return out, err
			}
			out = append(out, response)
		}
		return out, nil
	}
	return nil, fmt.Errorf("no template has the schedule %s", name)
}

// Sweep runs the stack's sweep now. It may be killed like any other function.
func (s *Stack) Sweep(ctx context.Context) error {
	_, err := s.Trigger(ctx, "SweepSchedule")
	return err
}
