package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// patience is how long nothing may come out while something is due: longer
// than a dead claim's lease, the longest pause before the last attempt, and
// some runs of the sweep.
const patience = 150 * time.Second

// tellEvery is the time between two lines of progress.
const tellEvery = 5 * time.Second

// tell prints how far everything is, now and then.
func (s *soak) tell(ctx context.Context) {
	ticker := time.NewTicker(tellEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		parts := []string{fmt.Sprintf("sent %d", s.producers.Sent().Messages)}
		for _, w := range s.watchers {
			parts = append(parts, fmt.Sprintf("%s %d", w.name, w.state().messages))
		}
		fmt.Fprintf(s.out, "    %4.0fs  %s\n", time.Since(s.began).Seconds(), strings.Join(parts, ", "))
	}
}

// drain waits until every message is out of every sink, everything is
// announced, and nothing is under way any more: no repeat can come later.
func (s *soak) drain(ctx context.Context) error {
	want := make([]int, len(s.watchers))
	for i, w := range s.watchers {
		want[i] = len(s.in.due(w.takesPoison))
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last, moved := -1, time.Now()
	var since time.Time
	for {
		sum, all := 0, s.announcements.complete()
		for i, w := range s.watchers {
			came := w.state().messages
			sum += came
			all = all && came >= want[i]
		}
		if sum != last {
			last, moved = sum, time.Now()
		}
		switch {
		case all && since.IsZero():
			since = time.Now()
		case all && s.stack.Idle(since) && s.empty(since):
			return nil
		case time.Since(moved) > patience:
			return s.stuck(ctx)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// empty reports whether the queues hold nothing of what was there at a time.
func (s *soak) empty(since time.Time) bool {
	return !slices.ContainsFunc(s.readers, func(r *queueReader) bool { return !r.empty(since) })
}

// stuck says what is missing, how the consumers of a queue of it are, and what
// the soak's own queues hold.
func (s *soak) stuck(ctx context.Context) error {
	lines := []string{fmt.Sprintf("nothing came out for %s", patience)}
	for _, w := range s.watchers {
		missing := w.missing()
		if len(missing) == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %d messages are missing, the first is %d of queue %q", w.name, len(missing), missing[0].seq, missing[0].queue))
		if _, text, err := consumersOf(ctx, s.producers.Client, missing[0].queue); err == nil {
			lines = append(lines, text)
		}
	}
	for _, reader := range s.readers {
		lines = append(lines, reader.holds(ctx))
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
