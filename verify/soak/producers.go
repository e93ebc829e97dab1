package main

import (
	"context"
	"encoding/json"
	"slices"

	"golang.org/x/sync/errgroup"

	sending "github.com/streamsort/streamsort/internal/dev/traffic"
)

const (
	clients   = 4
	batchSize = 25
)

// producers send the traffic over HTTP.
type producers struct{ *sending.Sender }

func newProducers(base string) (*producers, error) {
	sender, err := sending.NewSender(base)
	return &producers{sender}, err
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
	if err := sending.Pace(ctx, o.time, o.rate, func(due int) error {
		var all []message
		for range due {
			all = append(all, t.message())
		}
		return send(all)
	}); err != nil {
		return err
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
	if err := p.Put(ctx, documents, "advanced", "parked", "stored", "duplicate"); err != nil || conflicts == nil {
		return err
	}
	return p.Put(ctx, conflicts, "conflict")
}
