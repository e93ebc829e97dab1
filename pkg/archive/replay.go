package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Range is what is to be replayed: the messages From to To of Queue, both of
// them among it, to the queue Into.
type Range struct {
	Queue    string
	From, To int64
	// Into is a queue in order of its numbers. One that is not there is made when the
	// first message was found, and begins with From; one that is must have come as far as From already, such
	// as that of an earlier part.
	Into string
}

// Replayed is what an [Archive.Replay] did.
type Replayed struct {
	// Last is the last seq that was dealt with; From-1 where none was.
	Last int64
	// Messages were put, or were there; Skipped were skipped in the first queue,
	// too.
	Messages, Skipped int
}

// ErrNotReplayed: the target queue has another message under the seq.
var ErrNotReplayed = errors.New("the queue has something else under the seq")

// ErrNotArchived: a message of the range is not in the archive.
var ErrNotArchived = errors.New("not in the archive")

// most is how many messages are put at once.
const most = 25

// Replay puts archived messages to another queue, under the seqs that they had:
// at most limit, so that it ends in time; call it again from behind
// Replayed.Last until that is To. Ids, bodies and attributes are what they were;
// when they were enqueued is now.
//
// A seq that is not in the archive is ErrNotArchived, where it is the first one;
// otherwise it ends before it. What is out of bounds is a
// *cursor.InvalidError.
//
// It costs a Get a message, and what a put costs; where it was skipped, what
// Skip costs, and a read.
//
// Lost response, or another did it first: what was put is found there. We die
// right after any step: the next call goes on.
func (a *Archive) Replay(ctx context.Context, r Range, limit int) (Replayed, error) {
	done := Replayed{Last: r.From - 1}
	if err := r.check(); err != nil {
		return done, err
	}
	for done.Last < r.To && limit > 0 {
		group, err := a.group(ctx, r.Queue, done.Last, min(int64(min(most, limit)), r.To-done.Last))
		if errors.Is(err, ErrNotArchived) && done.Last >= r.From {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		if done.Last < r.From { // now that there is something to put
			if err := a.ready(ctx, r); err != nil {
				return done, err
			}
		}
		if err := a.put(ctx, r.Into, group, &done); err != nil {
			return done, err
		}
		limit -= len(group)
	}
	return done, nil
}

// check checks what a range says by itself.
func (r Range) check() error {
	switch {
	case r.From < 0 || r.To < r.From:
		return &cursor.InvalidError{Field: "to", Code: invalid.OutOfRange, Problem: fmt.Sprintf("is %d: it must be from %d on", r.To, r.From)}
	case r.Into == r.Queue:
		return &cursor.InvalidError{Field: "into", Code: invalid.Clash, Problem: "must be another queue"}
	}
	if err := cursor.ValidateQueue(r.Queue); err != nil {
		return err
	}
	if cursor.ValidateQueue(r.Into) != nil {
		return &cursor.InvalidError{Field: "into", Code: invalid.TextCode(r.Into, cursor.MaxQueueName), Problem: "must be the name of a queue"}
	}
	return nil
}

// ready makes sure that the queue is there, and has come so far that no gap
// opens before the range.
func (a *Archive) ready(ctx context.Context, r Range) error {
	it, err := a.sorter.Status(ctx, r.Into)
	if errors.Is(err, cursor.ErrNoQueue) {
		numbered := cursor.KindNumbered
		it, err = a.sorter.Configure(ctx, r.Into, cursor.Change{First: &r.From, Kind: &numbered})
	}
	switch {
	case err != nil:
		return err
	case it.Settings.Kind != cursor.KindNumbered:
		return &cursor.InvalidError{Field: "into", Code: invalid.Clash, Problem: "must be a numbered queue: it is " + it.Settings.Kind.String()}
	case it.Position < r.From-1 || it.Settings.First > r.From:
		return &cursor.InvalidError{Field: "into", Code: invalid.Clash, Problem: fmt.Sprintf(
			"begins at %d and has come to %d: it must have come to %d, or be a new queue", it.Settings.First, it.Position, r.From-1)}
	}
	return nil
}

// group reads the archived messages behind a seq, at most count. The first one
// that is not there is ErrNotArchived; it ends before another.
func (a *Archive) group(ctx context.Context, queue string, after, count int64) ([]cursor.Message, error) {
	var group []cursor.Message
	for seq := after + 1; seq <= after+count; seq++ {
		m, there, err := a.Message(ctx, queue, seq)
		if err != nil {
			return nil, err
		}
		if !there && len(group) == 0 {
			return nil, fmt.Errorf("message %d of queue %q is %w", seq, queue, ErrNotArchived)
		}
		if !there {
			break
		}
		group = append(group, m)
	}
	return group, nil
}

// skip skips a seq, and makes sure that no message is stored under it.
func (a *Archive) skip(ctx context.Context, into string, m cursor.Message) error {
	if _, err := a.sorter.Skip(ctx, into, m.Seq, m.Tombstone); err != nil {
		return err
	}
	for there, err := range a.sorter.Read(ctx, into, m.Seq-1, m.Seq) {
		if err != nil {
			return err
		}
		if there.Tombstone == "" {
			return fmt.Errorf("%w: message %d of queue %q is skipped in the archive", ErrNotReplayed, m.Seq, into)
		}
	}
	return nil
}

// put puts a group, and what was skipped in it.
func (a *Archive) put(ctx context.Context, into string, group []cursor.Message, done *Replayed) error {
	var messages []cursor.Message
	for _, m := range group {
		if m.Tombstone != "" {
			if err := a.skip(ctx, into, m); err != nil {
				return err
			}
			continue
		}
		messages = append(messages, cursor.Message{
			Queue: into, Seq: m.Seq, ID: m.ID, Body: m.Body, ContentType: m.ContentType, Attributes: m.Attributes, Trace: m.Trace,
		})
	}
	for _, r := range a.sorter.Put(ctx, messages...) {
		if r.Err != nil {
			return r.Err
		}
		if !r.Outcome.Durable() {
			return fmt.Errorf("%w: message %d of queue %q is %s", ErrNotReplayed, r.Seq, into, r.Outcome)
		}
	}
	done.Messages += len(messages)
	done.Skipped += len(group) - len(messages)
	done.Last = group[len(group)-1].Seq
	return nil
}
