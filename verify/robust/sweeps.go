package main

import (
	"context"
	"sync"
	"time"

	"github.com/streamsort/streamsort/localstack"
)

// sweepEvery is the time between two runs of the sweep, which has minutes on AWS.
const sweepEvery = 4 * time.Second

// sweeps counts the runs of the sweep, and those of them that failed.
type sweeps struct {
	mu           sync.Mutex
	runs, failed int
}

// run runs the sweep until the context ends. One that fails, or is killed, is counted: the next one
// does its work.
func (s *sweeps) run(ctx context.Context, stack *localstack.Stack) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		responses, err := stack.Trigger(ctx, "SweepSchedule")
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.runs++
		for _, response := range responses {
			if response.FunctionError != "" {
				s.failed++
			}
		}
		s.mu.Unlock()
	}
}

func (s *sweeps) counts() (runs, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs, s.failed
}
