package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
)

const (
	clients   = 4
	batchSize = 25
	// tick is how often the producers look how much is due.
	tick = 100 * time.Millisecond
)

// producers send the traffic over HTTP.
type producers struct {
	client *client.Client

	mu         sync.Mutex
	outcomes   map[string]int
	sent       int // messages, those sent again included
	repeats    int // calls that were made again
	violations []string
}

func newProducers(base string) (*producers, error) {
	c, err := client.New(base)
	return &producers{client: c, outcomes: map[string]int{}}, err
}

// run sends messages for a time at a rate, then what is missing in their
// windows. It returns when all are accepted.
func (p *producers) run(ctx context.Context, t *traffic, o options) error {
	batches := make(chan []message)
	group, ctx := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			for batch := range batches {
				if err := p.send(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(batches)
		return produce(ctx, t, o, func(all []message) error {
			for batch := range slices.Chunk(all, batchSize) {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case batches <- batch:
				}
			}
			return nil
		})
	})
	return group.Wait()
}

// produce hands messages to send as they fall due.
func produce(ctx context.Context, t *traffic, o options, send func([]message) error) error {
	if err := send(t.first()); err != nil {
		return err
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	began, made := time.Now(), 0
	for time.Since(began) < o.time {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		due := int(time.Since(began).Seconds() * float64(o.rate))
		var all []message
		for ; made < due; made++ {
			all = append(all, t.message())
		}
		if err := send(all); err != nil {
			return err
		}
	}
	return send(t.last())
}

// send sends a batch until all of it is accepted, and then the messages that
// conflict with some of it.
func (p *producers) send(ctx context.Context, batch []message) error {
	var documents, conflicts []json.RawMessage
	for _, m := range batch {
		documents = append(documents, m.document)
		if m.conflict != nil {
			conflicts = append(conflicts, m.conflict)
		}
	}
	if err := p.put(ctx, documents, "advanced", "parked", "stored", "duplicate"); err != nil || conflicts == nil {
		return err
	}
	return p.put(ctx, conflicts, "conflict")
}

// put puts documents until each has an outcome, which must be one of those
// that are expected.
func (p *producers) put(ctx context.Context, documents []json.RawMessage, expected ...string) error {
	for {
		outcomes, err := p.client.Put(ctx, documents)
		p.mu.Lock()
		if err == nil {
			p.sent += len(documents)
			for i, o := range outcomes {
				p.outcomes[o.Outcome]++
				if !slices.Contains(expected, o.Outcome) && len(p.violations) < most {
					p.violations = append(p.violations, fmt.Sprintf("answered %q (%s) where %s was expected: %.200s",
						o.Outcome, o.Detail, strings.Join(expected, ", "), documents[i]))
				}
			}
			p.mu.Unlock()
			return nil
		}
		p.repeats++
		p.mu.Unlock()
		if refused(err) || ctx.Err() != nil {
			return fmt.Errorf("put %d messages: %w", len(documents), err)
		}
	}
}

// counts are how many messages were sent, how many calls made again, and the
// answers that are wrong.
func (p *producers) counts() (sent, repeats int, violations []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent, p.repeats, slices.Clone(p.violations)
}

// summary is the outcomes, in words.
func (p *producers) summary() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(p.outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.outcomes[outcome], outcome))
	}
	return strings.Join(parts, ", ")
}
