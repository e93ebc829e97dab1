package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/pkg/cursor"
)

type service struct {
	source *source.Source
	sorter *cursor.Sorter
	// aside takes what makes no message.
	aside  *aside
	quotas *quota.Keeper
	log    calllog.Log
}

// handle takes an event: stores the messages that its records make, sets aside those that make
// none, and answers which have to be repeated.
//
// Lost answer, or we die at any point: the event comes again, and what is stored is known by its
// ids. What was set aside is so again, under the same id. Another invocation with the same records,
// or some of them: the same.
func (s *service) handle(ctx context.Context, metrics *emf.Metrics,
	raw json.RawMessage) (json.RawMessage, error) {
	event, err := s.source.Split(raw)
	if err != nil {
		metrics.Count("Errors", 1)
		slog.ErrorContext(ctx, "not understood", "source", s.source.Name, "error", err)
		return nil, err
	}
	metrics.Count("SourceRecords", len(event.Records))
	b := &batch{service: s, event: event, metrics: metrics, received: time.Now(),
		failed: make([]bool, len(event.Records))}
	b.read()
	b.store(ctx)
	b.setAside(ctx)
	answer, err := event.Answer(b.failed)
	if err != nil {
		err = errors.Join(err, b.why)
	}
	return answer, err
}
