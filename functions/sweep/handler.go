package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// margin is how long before the function's time is over the sweep stops, so
// that it notes where it stopped.
const margin = 5 * time.Second

// handler is the type of the function that Lambda calls. The event, which the
// schedule makes, says nothing that matters.
type handler = func(context.Context, json.RawMessage) (cursor.SweepReport, error)

// fromEnvironment makes the handler of the environment's tables. Metrics go to
// out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	sorter, err := s.NewSorter()
	if err != nil {
		return nil, err
	}
	announcer, err := announce.New(s.EventBus)
	if err != nil {
		return nil, err
	}
	return newHandler(sorter, cursor.SweepOptions{
		Segments: s.SweepSegments, Limit: s.SweepLimit, FullEvery: s.FullSweepEvery, Announce: announcer.Announce,
	}, emf.New(out)), nil
}

// newHandler returns the handler. It answers with the report; a queue that
// could not be seen to fails the invocation, after all others were.
func newHandler(sorter *cursor.Sorter, options cursor.SweepOptions, emitter *emf.Emitter) handler {
	return func(ctx context.Context, _ json.RawMessage) (cursor.SweepReport, error) {
		metrics := emitter.Begin()
		defer metrics.Flush()
		announce := options.Announce
		counted := options
		if announce != nil {
			counted.Announce = func(ctx context.Context, a cursor.Announcement) error {
				metrics.Count(metricOf[a.Kind], 1)
				return announce(ctx, a)
			}
		}
		sweepCtx := ctx
		if deadline, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			sweepCtx, cancel = context.WithDeadline(ctx, deadline.Add(-margin))
			defer cancel()
		}
		report, err := sorter.Sweep(sweepCtx, counted)
		metrics.Count("SweptQueues", report.Queues)
		metrics.Count("Advances", report.Moves)
		metrics.Count("Skipped", report.Skipped)
		metrics.Count("Errors", report.Failed)
		// These two are written when they are 0 as well: an alarm on them must
		// tell "no gap" from "no sweep".
		metrics.Add("OpenGaps", emf.Count, float64(report.OpenGaps))
		metrics.Add("GapAge", emf.Seconds, report.OldestGap.Seconds())
		if err != nil {
			slog.ErrorContext(ctx, "the sweep left something undone", "error", err, "failed", report.Failed)
		}
		return report, err
	}
}

// metricOf is the counter of each kind of announcement.
var metricOf = map[cursor.AnnouncementKind]string{
	cursor.GapOpened:  "GapsOpened",
	cursor.GapClosed:  "GapsClosed",
	cursor.GapSkipped: "GapsSkipped",
}
