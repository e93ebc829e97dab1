package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Archive is what a consumer has put to its bucket.
type Archive struct {
	bucket
	consumer string
}

// NewArchive returns the archive of a consumer in the bucket of an ARN. It makes no request.
func NewArchive(consumer, arn string, o awscall.Options) (*Archive, error) {
	b, err := open(arn, o)
	return &Archive{b, consumer}, err
}

// Erase deletes a queue's objects, for half of the time that the context has left, and reports
// whether some are left. It costs a request for each, and a list for each 1,000.
//
// Lost response, another did it first, we die right after any step: the next call goes on.
func (a *Archive) Erase(ctx context.Context, queue string) (left bool, err error) {
	for goOn := margin.Half(ctx); goOn(); {
		objects, more, err := a.List(ctx, folder(a.consumer, queue), "")
		errs := make([]error, len(objects))
		fanout.SideBySide(len(objects), func(i int) { errs[i] = a.Delete(ctx, objects[i].Key) })
		if err = cmp.Or(append(errs, err)...); err != nil || !more {
			return err != nil, a.explain(err)
		}
	}
	return true, nil
}

// Range is what is to be replayed: the messages From to To of Queue, both of them among it, to the
// queue Into.
type Range struct {
	Queue    string
	From, To int64
	// Into is a queue in order of its numbers. One that is not there is created when the first
	// message was found, and begins with From; one that is must have come as far as From already,
	// such as that of an earlier part.
	Into string
}

// Replayed is what was put of a Range.
type Replayed struct {
	// Last is the last seq that was dealt with.
	Last int64
	// Messages were put, or were there; Skipped were skipped in the first queue, too.
	Messages, Skipped int
}

var (
	// ErrNotReplayed: the target queue has another message under the seq.
	ErrNotReplayed = errors.New("the queue has something else under the seq")
	// ErrNotArchived: a message of the range is not in the archive.
	ErrNotArchived = errors.New("not in the archive")
)

// most is how many messages are put at once.
const most = 25

// Replay puts archived messages to another queue, under the seqs that they had. Ids, bodies and
// attributes are what they were; when they were enqueued is now. It calls put after each object.
// The first seq that no object has is ErrNotArchived; what is before it was put. What is out of
// bounds is a *cursor.InvalidError.
//
// It takes each seq once: where ranges overlap, from the object that was written last. They differ
// only where a queue's tables went back to a backup, and its numbers were given out again.
//
// It costs a list for each 1,000 objects, a get for each, and what a put costs, or Skip and a read.
//
// Lost response, or another did it first: what was put is found there. We die right after any step:
// the next call goes on.
func (a *Archive) Replay(ctx context.Context, sorter *cursor.Sorter, r Range,
	put func(Replayed) error) error {
	if err := r.check(); err != nil {
		return err
	}
	objects, err := a.objects(ctx, r)
	if err != nil {
		return err
	}
	for from := r.From; ; {
		for len(objects) > 0 && objects[0].last < from {
			objects = objects[1:]
		}
		source, to := choose(objects, from, r.To)
		if to < from {
			return fmt.Errorf("message %d of queue %q is %w", from, r.Queue, ErrNotArchived)
		}
		group, err := a.read(ctx, source.Key, r.Queue, from, to)
		if err == nil && from == r.From {
			err = r.ready(ctx, sorter) // now that there is something to put
		}
		if err != nil {
			return err
		}
		done, err := r.put(ctx, sorter, group)
		if err == nil {
			err = put(done)
		}
		if err != nil {
			return err
		}
		if to >= r.To {
			return nil // behind the last seq that there can be is nothing
		}
		from = to + 1
	}
}

type object struct {
	awscall.Object
	first, last int64
}

// objects are those with seqs of a range, in the order of their first ones.
func (a *Archive) objects(ctx context.Context, r Range) ([]object, error) {
	var all []object
	prefix := folder(a.consumer, r.Queue)
	for after, more := fmt.Sprintf("%s%019d", prefix, max(r.From-span+1, 0)), true; more; {
		var page []awscall.Object
		var err error
		if page, more, err = a.List(ctx, prefix, after); err != nil {
			return nil, a.explain(err)
		}
		for _, o := range page {
			first, last, ok := rangeOf(o.Key)
			if first > r.To {
				return all, nil
			}
			if ok && last >= r.From {
				all = append(all, object{o, first, last})
			}
			after = o.Key
		}
	}
	return all, nil
}

// choose is the object from which a seq is taken, and the last one that is: the one that was
// written last, up to where one begins that was written later. Without one, that is before the seq.
func choose(objects []object, from, to int64) (source object, last int64) {
	source.last = from - 1
	for _, o := range objects {
		switch {
		case o.first > max(from, source.last):
			return source, min(to, source.last)
		case o.first > from && o.LastModified.After(source.LastModified):
			return source, min(to, o.first-1)
		case o.first <= from && o.last >= from && !o.LastModified.Before(source.LastModified):
			source = o
		}
	}
	return source, min(to, source.last)
}

// maxObject is more than a batch takes in an object: 16 MB of bodies, in base64, which did not get
// smaller.
const maxObject = 64 << 20

func (a *Archive) read(ctx context.Context, key, queue string,
	from, to int64) ([]cursor.Message, error) {
	text, err := a.Get(ctx, key, maxObject)
	if err != nil {
		return nil, a.explain(err)
	}
	messages, err := decode(text, queue)
	if err != nil {
		return nil, fmt.Errorf("object %s of %w", key, a.explain(err))
	}
	group := slices.DeleteFunc(messages, func(m cursor.Message) bool {
		return m.Seq < from || m.Seq > to
	})
	if int64(len(group)) != to-from+1 {
		return nil, fmt.Errorf("object %s has %d of the messages %d to %d: others are %w", key,
			len(group), from, to, ErrNotArchived)
	}
	for i, m := range group {
		if seq := from + int64(i); m.Seq != seq {
			return nil, fmt.Errorf("object %s has message %d in the place of %d, which is %w", key, m.Seq,
				seq, ErrNotArchived)
		}
	}
	return group, nil
}

func (r Range) check() error {
	switch {
	case r.From < 0 || r.To < r.From:
		return invalid.New(invalid.OutOfRange, "to",
			fmt.Sprintf("is %d: it must be from %d on", r.To, r.From))
	case r.Into == r.Queue:
		return invalid.New(invalid.Clash, "into", "must be another queue")
	}
	if err := cursor.ValidateQueue(r.Queue); err != nil {
		return err
	}
	if cursor.ValidateQueue(r.Into) != nil {
		return invalid.New(invalid.TextCode(r.Into, cursor.MaxQueueName), "into",
			"must be the name of a queue")
	}
	return nil
}

// ready makes sure that the queue is there, and has come so far that no gap opens before the range.
func (r Range) ready(ctx context.Context, sorter *cursor.Sorter) error {
	it, err := sorter.Status(ctx, r.Into)
	if errors.Is(err, cursor.ErrNoQueue) {
		numbered := cursor.KindNumbered
		it, err = sorter.Configure(ctx, r.Into, cursor.Change{First: &r.From, Kind: &numbered})
	}
	switch {
	case err != nil:
		return err
	case it.Settings.Kind != cursor.KindNumbered:
		return invalid.New(invalid.Clash, "into",
			"must be a numbered queue: it is "+it.Settings.Kind.String())
	case it.Position < r.From-1 || it.Settings.First > r.From:
		return invalid.New(invalid.Clash, "into", fmt.Sprintf(
			"begins at %d and has come to %d: it must have come to %d, or be a new queue", it.Settings.First,
			it.Position, r.From-1))
	}
	return nil
}

func (r Range) put(ctx context.Context, sorter *cursor.Sorter,
	group []cursor.Message) (done Replayed, err error) {
	for len(group) > 0 {
		var messages []cursor.Message
		part := group[:min(most, len(group))]
		for _, m := range part {
			if m.Tombstone != "" {
				if err := r.skip(ctx, sorter, m); err != nil {
					return done, err
				}
				continue
			}
			m.Queue = r.Into
			messages = append(messages, m)
		}
		for _, result := range sorter.Put(ctx, messages...) {
			switch {
			case result.Err != nil:
				return done, result.Err
			case result.Outcome == cursor.Full:
				return done, fmt.Errorf("queue %q takes no more until it moves: message %d is more than %d beyond its position, %d; then replay again",
					r.Into, result.Seq, result.MaxAhead, result.New)
			case result.Outcome == cursor.Stale:
				return done, fmt.Errorf("queue %q is past message %d, and has it no more: replay into another queue, or from a later message",
					r.Into, result.Seq)
			case !result.Outcome.Durable():
				return done, fmt.Errorf("%w: message %d of queue %q is %s", ErrNotReplayed, result.Seq, r.Into,
					result.Outcome)
			}
		}
		done.Messages += len(messages)
		done.Skipped += len(part) - len(messages)
		done.Last = part[len(part)-1].Seq
		group = group[len(part):]
	}
	return done, nil
}

// skip skips a seq, and makes sure that no message is stored under it.
func (r Range) skip(ctx context.Context, sorter *cursor.Sorter, m cursor.Message) error {
	if _, err := sorter.Skip(ctx, r.Into, m.Seq, m.Tombstone); err != nil {
		return err
	}
	for there, err := range sorter.Read(ctx, r.Into, m.Seq-1, m.Seq) {
		if err != nil {
			return err
		}
		if there.Tombstone == "" {
			return fmt.Errorf("%w: message %d of queue %q is skipped in the archive",
				ErrNotReplayed, m.Seq, r.Into)
		}
	}
	return nil
}
