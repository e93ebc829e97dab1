package localstack

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/dynamo/streams"
	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

// Mapping is an event source mapping and what it has done.
type Mapping struct {
	LogicalID string
	Function  string // name
	Table     string // whose stream it reads
	Stats     eventsource.Stats
	Failed    string // why it has ended, empty while it runs
}

// mapping is a runner and its end.
type mapping struct {
	template.Mapping
	runner *eventsource.Runner
	failed atomic.Pointer[string] // why it has ended
}

// addMappings makes the runners of all event source mappings.
func (s *Stack) addMappings() error {
	client, err := streams.New(s.server.Endpoint)
	if err != nil {
		return err
	}
	for _, l := range s.templates {
		for _, m := range l.Mappings {
			runner, err := eventsource.New(m, eventsource.Config{
				Streams: client, StreamARN: s.streams[m.Table], Invoke: s.invoker(m.Function),
				OnFailure: s.failures.add,
				Chaos: eventsource.Chaos{
					Seed: s.config.Chaos.Seed, Duplicate: s.config.Chaos.Duplicate, Drop: s.config.Chaos.Drop,
					Late: s.config.Chaos.Late, LateBy: s.config.Chaos.LateBy,
				},
				Logger: s.config.Logger,
			})
			if err != nil {
				return fmt.Errorf("%s: Resources.%s: %w", l.path, m.LogicalID, err)
			}
			s.mappings = append(s.mappings, &mapping{Mapping: m, runner: runner})
		}
	}
	return nil
}

// invoker calls a function for a mapping.
func (s *Stack) invoker(function string) eventsource.Invoke {
	return func(ctx context.Context, payload []byte) ([]byte, string, error) {
		response, err := s.functions.Invoke(ctx, lambda.Request{Function: function, Payload: payload})
		return response.Payload, response.FunctionError, err
	}
}

// runMapping runs one mapping until ctx ends.
func (s *Stack) runMapping(ctx context.Context, m *mapping) {
	if err := m.runner.Run(ctx); err != nil {
		m.failed.Store(new(err.Error()))
		s.config.Logger.Error("event source mapping ended", "mapping", m.LogicalID, "error", err)
	}
}

// Mappings are all event source mappings, in the order of their templates.
func (s *Stack) Mappings() []Mapping {
	out := make([]Mapping, len(s.mappings))
	for i, m := range s.mappings {
		out[i] = Mapping{LogicalID: m.LogicalID, Function: m.Function, Table: m.Table,
			Stats: m.runner.Stats()}
		if failed := m.failed.Load(); failed != nil {
			out[i].Failed = *failed
		}
	}
	return out
}

// Idle reports whether all mappings have dealt with everything that was in their streams at a time.
// Disabled ones do not count.
func (s *Stack) Idle(since time.Time) bool {
	for _, m := range s.mappings {
		if m.Enabled && !m.runner.Idle(since) {
			return false
		}
	}
	return true
}
