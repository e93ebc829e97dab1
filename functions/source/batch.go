package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

type batch struct {
	*service
	event   *source.Event
	metrics *emf.Metrics
	// messages are those of the records that make one, places are where these stand in the event:
	// the same several times, where a record makes several.
	messages []cursor.Message
	places   []int
	received time.Time
	// failed tells which records have to be repeated, poison which make no message. ahead are those
	// of the messages that were too far ahead, and would hold up others if they were repeated.
	failed []bool
	poison []poison
	ahead  []int
	// last tells that these are put for the last time.
	last bool
	// why is the first reason for which one has to be repeated.
	why error
}

// poison is a record that makes no message, and never will.
type poison struct {
	place                 int
	reason, field, detail string
}

// Reasons why a record is set aside, beside those of [invalid.Code].
const (
	// unreadable: it is no record of the source's kind.
	unreadable = "unreadable"
	// conflict: another message is stored under its seq, or its id.
	conflict = "conflict"
	// late: its seq was given up for lost. stale: its queue is past it, or begins behind it.
	late, stale = "late", "stale"
	// full: its seq is too far ahead of what its queue waits for, or the queue has none left.
	// ahead: it is not the next one of its queue in arrival order.
	full, ahead = "full", "ahead"
)

func (b *batch) read() {
	for i := range b.event.Records {
		r := &b.event.Records[i]
		if r.Err != nil {
			b.poison = append(b.poison, poison{place: i, reason: unreadable, detail: r.Err.Error()})
			continue
		}
		messages, err := b.source.Messages(r, b.received)
		if err != nil {
			b.poison = append(b.poison, newPoison(i, err))
			continue
		}
		for _, m := range messages {
			b.messages, b.places = append(b.messages, m), append(b.places, i)
		}
	}
}

func newPoison(place int, err error) poison {
	wrong, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return poison{place: place, reason: unreadable, detail: err.Error()}
	}
	alone := *wrong
	alone.At, alone.Twin = nil, nil
	return poison{place: place, reason: string(wrong.Code), field: wrong.Field, detail: alone.What()}
}

// store stores the messages, some at a time. Those for which there is no time have to be repeated.
func (b *batch) store(ctx context.Context) {
	for from := 0; from < len(b.messages); from += intake.MaxMessages {
		to := min(from+intake.MaxMessages, len(b.messages))
		messages, places := b.messages[from:to], b.places[from:to]
		if !b.source.Numbered() && !b.source.Keyed() {
			messages, places = b.inOrder(ctx, from, to)
		}
		b.storePart(ctx, messages, places)
	}
	// What was stored since may have filled the gap before them.
	var messages []cursor.Message
	var places []int
	for i, place := range b.places {
		if slices.Contains(b.ahead, place) {
			messages, places = append(messages, b.messages[i]), append(places, place)
		}
	}
	b.last = true
	b.storePart(ctx, messages, places)
}

// inOrder are a part of the messages, but for those behind one of their queue that has to be
// repeated: in arrival order they would get the places before it. They have to be repeated with it.
// The queue itself keeps the order of one part.
func (b *batch) inOrder(ctx context.Context,
	from, to int) (messages []cursor.Message, places []int) {
	held := map[string]bool{}
	for i, place := range b.places[:from] {
		if b.failed[place] {
			held[b.messages[i].Queue] = true
		}
	}
	if len(held) == 0 {
		return b.messages[from:to], b.places[from:to]
	}
	var behind []int
	for i := from; i < to; i++ {
		if held[b.messages[i].Queue] {
			behind = append(behind, b.places[i])
			continue
		}
		messages, places = append(messages, b.messages[i]), append(places, b.places[i])
	}
	b.again(ctx, behind, errBehind)
	return messages, places
}

var errBehind = errors.New("a record before it in its queue has to be repeated")

// storePart stores messages together, so that they cost what a call of enqueue with them costs.
// Each is valid alone, and two under one name are no error of the call.
func (b *batch) storePart(ctx context.Context, messages []cursor.Message, places []int) {
	if len(messages) == 0 {
		return
	}
	put := intake.Sent(messages, b.received)
	put.Quotas, put.Log = b.quotas, b.log
	answers, err := []intake.Answer(nil), ctx.Err()
	if err == nil {
		answers, err = put.Store(ctx, b.sorter, b.metrics)
	}
	if err != nil {
		b.again(ctx, places, err)
		return
	}
	for i, a := range answers {
		b.judge(ctx, places[i], a)
	}
}

func (b *batch) judge(ctx context.Context, place int, a intake.Answer) {
	set := func(reason, field string) {
		b.poison = append(b.poison, poison{place: place, reason: reason, field: field, detail: a.Detail})
	}
	numbered, beyond := b.source.Numbered(), a.Outcome == cursor.Full || a.Outcome == cursor.Ahead
	switch {
	case errors.As(a.Failure, new(*invalid.Error)):
		b.poison = append(b.poison, newPoison(place, a.Failure))
	case a.Failure != nil:
		b.again(ctx, []int{place}, a.Failure)
	case a.Outcome == cursor.Conflict:
		set(conflict, "")
	case a.Outcome == cursor.Late:
		set(late, "seq")
	case a.Outcome == cursor.Stale && numbered:
		// It may be a repeat of one that was delivered long ago, and deleted: nobody can tell.
		set(stale, "seq")
	case beyond && numbered && b.event.Alone(place):
		// The gap before it may be filled meanwhile.
		b.again(ctx, []int{place}, errFull)
	case beyond && numbered && !b.last:
		b.ahead = append(b.ahead, place)
	case a.Outcome == cursor.Ahead && slices.Contains(b.failed, true):
		b.again(ctx, []int{place}, errFull) // what is before it may be among these
	case a.Outcome == cursor.Ahead:
		set(ahead, "seq")
	case a.Outcome == cursor.Full:
		set(full, "seq")
	}
}

var errFull = errors.New("a seq is farther ahead than its queue allows")

func (b *batch) again(ctx context.Context, places []int, why error) {
	if b.why == nil {
		b.why = why
		slog.WarnContext(ctx, "records have to be repeated", "source", b.source.Name, "error", why)
	}
	repeated := 0
	for _, place := range places {
		if !b.failed[place] {
			b.failed[place] = true
			repeated++
		}
	}
	b.metrics.Count("RecordsRepeated", repeated)
}

// setAside sends what makes no message to the failure queue, and announces it. What cannot be sent
// has to be repeated.
func (b *batch) setAside(ctx context.Context) {
	if len(b.poison) == 0 {
		return
	}
	// The first wrong message of a record that makes several says why.
	seen := map[int]bool{}
	b.poison = slices.DeleteFunc(b.poison, func(p poison) bool {
		twice := seen[p.place]
		seen[p.place] = true
		return twice
	})
	sent := b.aside.send(ctx, b.event, b.poison)
	var there []poison
	for i, p := range b.poison {
		if sent[i] {
			there = append(there, p)
			continue
		}
		b.again(ctx, []int{p.place}, errAside)
	}
	b.metrics.Count("RecordsSetAside", len(there))
	if err := b.aside.announce(ctx, b.event, there); err != nil {
		b.metrics.Count("AnnouncementsFailed", 1)
		slog.ErrorContext(ctx, "not announced", "source", b.source.Name, "records",
			len(there), "error", err)
	}
}

var errAside = errors.New("a record that makes no message could not be sent to the failure queue")
