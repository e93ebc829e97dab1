package dedup

import (
	"context"
	"errors"
	"log/slog"
)

// EventKind is a kind of [Event].
type EventKind string

// The kinds of events. A call is reported as what it was: new or a duplicate, and before that
// whether it waited or took over.
const (
	EventNew          EventKind = "new"           // a claim: this call runs the effect
	EventTakenOver    EventKind = "taken over"    // the claim is of an id that was begun before
	EventDuplicate    EventKind = "duplicate"     // the remembered outcome was returned
	EventWaited       EventKind = "waited"        // for another call, which completed
	EventLooked       EventKind = "looked"        // one look while waiting
	EventStillRunning EventKind = "still running" // the wait ended, the other call goes on
	EventCompleted    EventKind = "completed"     // the outcome is remembered
	EventFailed       EventKind = "failed"        // the id was given back after an error
	EventLost         EventKind = "lost"          // the claim is another's by now
	EventQuarantined  EventKind = "quarantined"   // a call was refused: begun too often
	EventInvalidated  EventKind = "invalidated"
	EventReleased     EventKind = "released"    // by an operator
	EventUnprotected  EventKind = "unprotected" // the effect ran without an id
)

// Event is something that happened.
type Event struct {
	Kind EventKind
	Key  Key
	// Attempt is that of the row, 0 where none exists.
	Attempt int64
}

func (k EventKind) level() slog.Level {
	switch k {
	case EventLooked:
		return slog.LevelDebug
	case EventTakenOver, EventStillRunning, EventLost, EventFailed, EventQuarantined, EventReleased,
		EventUnprotected:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func (d *Deduplicator[ID, R]) note(ctx context.Context, kind EventKind, r Row) {
	if d.options.Observe != nil {
		d.options.Observe(ctx, Event{Kind: kind, Key: r.Key, Attempt: r.Attempt})
	}
	level := kind.level()
	if !d.options.Logger.Enabled(ctx, level) {
		return
	}
	fields := []slog.Attr{slog.String("id", r.ID), slog.String("processor", r.Processor),
		slog.Int64("attempt", r.Attempt)}
	if r.Error != "" {
		fields = append(fields, slog.String("error", r.Error))
	}
	if r.Repair.By != "" && level == slog.LevelWarn {
		fields = append(fields, slog.String("by", r.Repair.By), slog.String("reason", r.Repair.Reason))
	}
	d.options.Logger.LogAttrs(ctx, level, string(kind), fields...)
}

// begin begins an operation: the function that it returns ends it.
func (d *Deduplicator[ID, R]) begin(ctx context.Context, operation string,
	k Key) (context.Context, func(error)) {
	trace := func(error) {}
	if d.options.Trace != nil {
		var end func(error)
		if ctx, end = d.options.Trace(ctx, operation, k); end != nil {
			trace = end
		}
	}
	if !d.options.Logger.Enabled(ctx, slog.LevelDebug) {
		return ctx, trace
	}
	fields := []any{slog.String("id", k.ID), slog.String("processor", k.Processor)}
	d.options.Logger.DebugContext(ctx, operation, fields...)
	return ctx, func(err error) {
		if err != nil && !errors.Is(err, context.Canceled) {
			d.options.Logger.DebugContext(ctx, operation+" ended", append(fields, slog.Any("error", err))...)
		}
		trace(err)
	}
}
