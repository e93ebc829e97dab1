package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// lost is replies to one queue that can never be stored, and why.
type lost struct {
	queue string
	n     int
	why   string
}

// addTo adds what was lost, if anything was, of the replies to a queue.
func (l lost) addTo(refused []lost, queue string) []lost {
	if l.n == 0 {
		return refused
	}
	l.queue = queue
	return append(refused, l)
}

// storeReplies stores the replies of a claim that is committed in its consumer's database. All of
// it may be done again, by anybody: the ids are the claim's.
func (d *Deliverer) storeReplies(ctx context.Context, h Held, replies []Reply) error {
	var refused []lost
	for _, p := range h.parcels(replies) {
		var l lost
		err := d.knowsQueue(ctx, p.Queue)
		switch {
		case isA[*cursor.InvalidError](err):
			l, err = lost{n: len(p.messages), why: unnamed(err)}, nil
		case err != nil:
		case p.Numbered:
			l, err = d.putReplies(ctx, p.messages)
		default:
			l, err = appendRefused(len(p.messages), d.sorter.Put(ctx, p.messages...)[0])
		}
		if err != nil {
			return &replyError{p.Queue, err}
		}
		refused = l.addTo(refused, p.Queue)
	}
	return d.refuse(ctx, h, refused)
}

// knowsQueue is a *cursor.InvalidError where replies go only to queues that are there, and this one
// is not.
func (d *Deliverer) knowsQueue(ctx context.Context, queue string) error {
	if !d.knownQueues {
		return nil
	}
	_, err := d.sorter.Settings(ctx, queue)
	if errors.Is(err, cursor.ErrNoQueue) {
		err = &cursor.InvalidError{Field: "queue", Code: invalid.Clash,
			Problem: "is not there, and replies make none", Queue: queue}
	}
	return err
}

// forward sends the replies of a claim that is Sending, and finishes it. Anybody may do it, any
// number of times. staged are the replies where the caller has them; otherwise they are read, with
// a strong read a queue.
func (d *Deliverer) forward(ctx context.Context, c Consumer,
	staged []cursor.Arrival) (Consumer, error) {
	h := heldBy(c)
	var refused []lost
	for i, o := range c.Outbox {
		if o.Queue == "" || c.State != Sending {
			break
		}
		var one cursor.Arrival
		there, err := true, error(nil)
		if staged != nil {
			one = staged[i]
		} else {
			one, there, err = d.sorter.Inside(queuelog.Inside{}).Recall(ctx, o.Queue, h.replyID(o.Queue))
		}
		l := lost{n: 1, why: "what was staged is not stored any more"}
		if err == nil && there {
			l, err = d.send(ctx, o, one)
		}
		if err != nil {
			return c, &replyError{o.Queue, err}
		}
		refused = l.addTo(refused, o.Queue)
	}
	if err := d.refuse(ctx, h, refused); err != nil {
		return c, err
	}
	finished, done, err := d.store.Finish(ctx, heldBy(c))
	if err == nil && !done {
		err = errOutran // another finished it, and several claims more
	}
	if err == nil {
		d.store.NoteTaken(ctx, c)
	}
	return finished, err
}

// send makes staged replies visible, but for those that can never be.
func (d *Deliverer) send(ctx context.Context, o outgoing, staged cursor.Arrival) (lost, error) {
	if o.Numbered {
		messages, err := unstaged(o.Queue, staged.Messages)
		if err != nil {
			return lost{n: len(messages), why: unnamed(err)}, nil
		}
		return d.putReplies(ctx, messages)
	}
	return appendRefused(len(staged.Messages), d.sorter.Inside(queuelog.Inside{}).Place(ctx, staged))
}

// appendRefused says which of n messages can never be appended: all or none. The error is that of
// an append that may be made later.
func appendRefused(n int, stored cursor.Result) (lost, error) {
	switch err := stored.Err; {
	case isA[*cursor.InvalidError](err),
		errors.Is(err, cursor.ErrExpired), errors.Is(err, cursor.ErrNoQueue):
		return lost{n: n, why: unnamed(err)}, nil
	case err != nil:
		return lost{}, err
	case stored.Outcome == cursor.Conflict:
		return lost{n: n, why: "another message is stored under their id"}, nil
	case stored.Outcome == cursor.Full:
		return lost{n: n, why: "the queue has no seqs left"}, nil
	}
	return lost{}, nil // stored now, or before
}

// putReplies puts numbered replies of one queue, but for those that can never be.
func (d *Deliverer) putReplies(ctx context.Context, messages []cursor.Message) (l lost, err error) {
	for _, r := range d.sorter.Put(ctx, messages...) {
		switch {
		case isA[*cursor.InvalidError](r.Err):
			l.n, l.why = l.n+1, unnamed(r.Err)
		case errors.Join(r.Err, r.Deferred) != nil:
			// One that is stored and not in order yet is not visible either.
			return lost{}, errors.Join(r.Err, r.Deferred)
		case r.Outcome == cursor.Full:
			return lost{}, fmt.Errorf("seq %d: %w", r.Seq, errFull)
		case !r.Outcome.Durable():
			l.n, l.why = l.n+1, fmt.Sprintf("seq %d: %s", r.Seq, r.Outcome)
		}
	}
	return l, nil
}

// refuse records replies that can never be stored, and counts them, so that the sweep announces it.
func (d *Deliverer) refuse(ctx context.Context, h Held, refused []lost) error {
	if len(refused) == 0 {
		return nil
	}
	// The sweep looks at queues that moved, or were notified, lately: this one may be quiet.
	if err := d.sorter.Notify(ctx, h.Queue); err != nil {
		return err
	}
	now, sum := d.now(), refusals{Since: d.now()}
	for _, l := range refused {
		sum.N += int64(l.n)
		sum.Why, sum.Queue = shorten(l.why, maxError), l.queue
		replies := fmt.Sprintf("%d replies", l.n)
		if l.n == 1 {
			replies = "1 reply"
		}
		op := Operation{
			Queue: h.Queue, Consumer: h.Consumer, At: ddb.ToMillis(now), Op: h.replyID(l.queue),
			Kind: opReply, Seq: -1,
			Reason: fmt.Sprintf("%s of claim %s", replies, h.Token), Error: shorten(l.why, maxReason),
			ReplyQueue: l.queue,
		}
		if err := d.store.RecordOperation(ctx, op); err != nil {
			return err
		}
	}
	_, _, err := d.store.Refuse(ctx, h, sum)
	return err
}
