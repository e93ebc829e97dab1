package localstack

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/schedule"
	"github.com/streamsort/streamsort/localstack/template"
)

// timed is a schedule of a template, read.
type timed struct {
	template.Schedule
	when schedule.Schedule
}

func (s *Stack) addSchedules() error {
	for _, l := range s.templates {
		for _, t := range l.Schedules {
			when, err := schedule.Parse(t.Expression)
			if err != nil {
				return fmt.Errorf("%s: Resources.%s.Properties.ScheduleExpression: %w", l.path, t.LogicalID, err)
			}
			if err := s.scheduleNames.add(t.LogicalID, t.Name); err != nil {
				return fmt.Errorf("%s: %w", l.path, err)
			}
			s.schedules = append(s.schedules, timed{t, when})
		}
	}
	return nil
}

// runSchedule invokes a schedule's targets when it is due, asynchronously as EventBridge does.
func (s *Stack) runSchedule(ctx context.Context, t timed) {
	t.when.Run(ctx, func(at time.Time) {
		for _, target := range t.Targets {
			if err := s.functions.InvokeAsync(t.request("aws.events", target, at)); err != nil {
				s.config.Logger.Warn("schedule could not invoke", "schedule", t.Name, "function", target.Function, "error", err)
			}
		}
	})
}

func (t timed) request(source string, target template.Target, at time.Time) lambda.Request {
	payload := schedule.Event(source, t.ARN, target.Input, at)
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
			response, err := s.functions.Invoke(ctx, t.request("local", target, time.Now()))
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
