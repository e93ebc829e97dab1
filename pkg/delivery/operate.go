package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	opCreate  = "create"
	opSkip    = "skip"
	opRedrive = "redrive"
	opRewind  = "rewind"
	opPause   = "pause"
	opResume  = "resume"
	opRemove  = "remove"
)

// Order is what an operator asks for. It is kept in the operations table, with how it ended.
type Order struct {
	// Kind is what [Deliverer.Operate] does, in a word.
	Kind            string
	Queue, Consumer string
	// Seq is the message to skip or to redrive, which must be the one at the consumer's head, and
	// have failed: Delivered+1. It keeps an operator from skipping another one than the one looked
	// at.
	Seq int64
	// Start is where to rewind to.
	Start Start
	// Token is the claim to settle or to release, Outcome how it is settled: Committed or Aborted.
	Token   Token
	Outcome TokenOutcome
	// Reason is why: 1 to 500 bytes of text.
	Reason string
	// Op names the order, 1 to 64 characters: the same order again, with the same Op, is not
	// carried out twice where no other order came in between (pause and resume are), and another
	// order of the queue with it is refused. Empty means a random one.
	Op string
	// Who is the caller.
	Who Who
}

// operation is what is on record of an order before it is carried out.
func (d *Deliverer) operation(o Order, seq int64, request map[string]string) Operation {
	return Operation{
		Queue: o.Queue, Consumer: o.Consumer, At: ddb.ToMillis(d.now()), Op: o.Op, Kind: o.Kind, Seq: seq,
		Reason:  o.Reason,
		Request: request, Who: o.Who,
	}
}

func (o Order) validateReason() error {
	return cmp.Or(bounds.Text("reason", o.Reason, 1, maxReason), bounds.Text("id", o.Op, 0, maxOp))
}

type act struct {
	// seq is on record, or -1. request is what else is.
	seq     int64
	request map[string]string
	do      func(ctx context.Context, op string, c Consumer) (Consumer, error)
}

// actOf is what an order does, or what is wrong with it.
func (d *Deliverer) actOf(o Order) (act, error) {
	switch o.Kind {
	case opSkip, opRedrive:
		return act{o.Seq, nil, func(ctx context.Context, op string, c Consumer) (Consumer, error) {
			return d.unblock(ctx, o, op, c)
		}}, nil
	case opRewind:
		return act{o.Start.named(), map[string]string{"start": o.Start.String()},
			func(ctx context.Context, op string, c Consumer) (Consumer, error) {
				return d.rewound(ctx, c, op, o.Start)
			}}, nil
	case opPause, opResume:
		why := o.Reason
		if o.Kind == opResume {
			why = ""
		}
		return act{-1, nil, func(ctx context.Context, _ string, c Consumer) (Consumer, error) {
			return made(d.store.Pause(ctx, c.Queue, c.Name, why, d.now()))
		}}, nil
	case opSettle:
		return d.settling(o)
	case opRelease:
		return d.releasing(o), nil
	case opRemove:
		return act{-1, nil, d.removed}, nil
	}
	return act{}, invalid.New(invalid.Unknown, "kind", fmt.Sprintf("must be skip, redrive, rewind, pause, resume, settle, release or remove: it is %q", o.Kind))
}

// unblock skips or redrives the message at the head, which failed: a consumer that is not blocked
// yet may be so for long, held by its circuit breaker among others. What failed only with others
// behind it may be a good message, and is not skipped.
func (d *Deliverer) unblock(ctx context.Context, o Order, op string, c Consumer) (Consumer, error) {
	switch {
	case c.State != Blocked && !c.Retries():
		return c, errNotBlocked
	case o.Seq != c.Delivered+1:
		return c, invalid.New(invalid.Clash, "seq",
			fmt.Sprintf("is %d: the message at the consumer's head is %d", o.Seq, c.Delivered+1))
	case c.Claimed():
		return c, inFlight(c)
	case o.Kind == opSkip && c.State != Blocked && !c.alone():
		return c, failedTogether(c)
	}
	return made(d.store.Unblock(ctx, c, o.Kind == opSkip, op))
}

func (d *Deliverer) rewound(ctx context.Context, c Consumer, op string,
	start Start) (Consumer, error) {
	if c.Claimed() {
		return c, inFlight(c)
	}
	cur, err := d.sorter.Status(ctx, c.Queue)
	if err != nil {
		return c, err
	}
	delivered, err := d.place(ctx, cur, start)
	if err != nil {
		return c, err
	}
	// Those messages may be delivered or not.
	if delivered < unsettledTo(c) {
		return c, errQuarantined
	}
	if err := d.keepAwake(ctx, cur); err != nil {
		return c, err
	}
	return made(d.store.Rewind(ctx, c, delivered, op))
}

// named is the seq that a start names, -1 where it names none.
func (s Start) named() int64 {
	if s.at {
		return s.seq
	}
	return -1
}

func (d *Deliverer) removed(ctx context.Context, _ string, c Consumer) (Consumer, error) {
	switch {
	case c.Claimed():
		return c, inFlight(c)
	case c.Quarantine[0] != Quarantined{}:
		return c, errQuarantined
	}
	removed, err := d.store.Remove(ctx, c)
	if removed {
		d.unlist(ctx, c)
	}
	return made(Consumer{}, removed, err)
}

// removedBefore is nil where an order that finds no consumer removed it: the order is a repeat.
func (d *Deliverer) removedBefore(ctx context.Context, asked Operation) error {
	if asked.Kind == opRemove {
		if named, err := d.store.Named(ctx, asked); named || err != nil {
			return err
		}
	}
	return ErrNoConsumer
}

// made turns a store's result into the operator's answer.
func made(c Consumer, done bool, err error) (Consumer, error) {
	if err == nil && !done {
		err = errOutran
	}
	return c, err
}

// Operate carries an order about a consumer out, by its Kind:
//
//   - skip gives up the message at the consumer's head, which failed alone, so that it goes on
//     behind it; redrive lets it try that message again, with all its attempts. It need not block
//     the consumer yet.
//   - rewind sets the consumer to another place, back to deliver messages again or forward over a
//     loss. Its messages come again under new tokens, and with Rewinds one higher. A seq of which
//     the messages are gone, or that is beyond the next one to come, is an InvalidError.
//   - pause keeps it from making claims, and one in flight ends normally; resume lets it go on.
//   - settle says how a claim in quarantine ended: COMMITTED takes it away, ABORTED says that its
//     messages were not delivered. It is for a consumer's database that is gone: its own marker
//     decides otherwise.
//   - release gives up the messages of a claim in quarantine that was aborted. To have them
//     delivered instead, rewind to them first: everything behind them is delivered again, too.
//   - remove deletes the consumer: what it has not read is no longer kept for it. One whose
//     reader still runs is created again by the next record.
//
// It looks, gives the order its Op, records what is asked for, does, records how it ended, finishes
// a start, and wakes the consumer up. What cannot be done as the consumer is now is refused.
//
// Lost responses: the order again, with its Op, finds what it did. Another order has the Op: it is
// refused, before anything is done. We die right after a step: the operation is on record, the
// consumer's LastOp says whether it was done, and the sweep finishes a start and wakes the consumer
// up.
func (d *Deliverer) Operate(ctx context.Context, o Order) (Consumer, error) {
	act, err := d.actOf(o)
	if err := cmp.Or(err, o.validateReason(), validate(o.Queue, o.Consumer)); err != nil {
		return Consumer{}, err
	}
	if o.Op == "" {
		o.Op = d.newReq()
	}
	c, err := d.store.Consumer(ctx, o.Queue, o.Consumer)
	if err != nil {
		return c, err
	}
	if !c.Exists() {
		return c, d.removedBefore(ctx, d.operation(o, act.seq, act.request))
	}
	op := fmt.Sprintf("%s %d %s", o.Kind, act.seq, o.Op)
	err = d.recorded(ctx, d.operation(o, act.seq, act.request), c.LastOp == op, func() (failed error) {
		before := c
		if c, failed = act.do(ctx, op, before); failed == nil {
			d.noteOperated(ctx, o.Kind, before, c)
		}
		return failed
	})
	if err != nil {
		return c, err
	}
	if c.Starting == op {
		if c, err = d.finishStart(ctx, c); err != nil {
			return c, err
		}
	}
	if !c.Exists() || c.Paused != "" {
		return c, nil
	}
	return c, d.sorter.Notify(ctx, o.Queue)
}

// recorded does an operation that is not done yet, and has it on record before, and how it ended.
func (d *Deliverer) recorded(ctx context.Context, asked Operation, done bool,
	do func() error) error {
	if ours, err := d.store.NameOperation(ctx, asked); err != nil || !ours {
		return cmp.Or(err, errIDTaken)
	}
	if done {
		return nil
	}
	if err := d.store.RecordOperation(ctx, asked); err != nil {
		return err
	}
	return d.recordEnd(ctx, asked, do())
}

// recordEnd records how an operation ended; failed is why it was not done, or why nobody knows
// whether it was.
func (d *Deliverer) recordEnd(ctx context.Context, asked Operation, failed error) error {
	asked.Done = failed == nil
	switch {
	case isA[*cursor.InvalidError](failed), isA[*RefusedError](failed),
		errors.Is(failed, ErrNoConsumer), errors.Is(failed, cursor.ErrNoQueue):
		asked.Error = failed.Error() // about the consumer, or its queue, as it stands
	case failed != nil:
		asked.Error = whyInside
	}
	return errors.Join(failed, d.store.RecordOperation(ctx, asked))
}

// whyInside is what is on record of an operation that failed by no refusal. What a store says is
// for who runs it: it may name tables and roles, and the answer says that it is in the log.
const whyInside = "it failed inside, and may have been done: the log says why"

// CreateFor is [Deliverer.Create] for the audit log: it has who made the consumer, and where it
// starts. A consumer that is there already is no operation. A queue that nothing was ever put to is
// made of the kind, and one of another kind is [cursor.ErrFixed]; nil is a numbered one, or
// whatever is there.
//
// Lost responses, we die right after a step: as with Create; the repeat finds the consumer, and the
// operation stays on record without an end.
func (d inside) CreateFor(ctx context.Context, who Who, queue, name string, start Start,
	kind *cursor.Kind) (Consumer, error) {
	start.kind = kind
	if err := validate(queue, name); err != nil {
		return Consumer{}, err
	}
	there, err := d.store.Consumer(ctx, queue, name)
	if err != nil {
		return there, err
	}
	op := d.newReq()
	if there.Exists() {
		return d.create(ctx, queue, name, start, op)
	}
	request := map[string]string{"start": start.String()}
	if start.kind != nil {
		request["kind"] = start.kind.String()
	}
	asked := d.operation(Order{Kind: opCreate, Queue: queue, Consumer: name, Op: op, Who: who}, -1,
		request)
	if err := d.store.RecordOperation(ctx, asked); err != nil {
		return Consumer{}, err
	}
	made, failed := d.create(ctx, queue, name, start, op)
	return made, d.recordEnd(ctx, asked, failed)
}

// Status is a consumer beside its queue.
type Status struct {
	Consumer
	// Position is the queue's: what lies between Delivered and it waits.
	Position int64
}

// Lag is how many seqs wait to be delivered.
func (s Status) Lag() int64 { return max(s.Position-s.Delivered, 0) }

// Status reads the consumers of a queue, in the order of their names, and the queue's position
// after them. A queue that was never put to is cursor.ErrNoQueue.
func (d *Deliverer) Status(ctx context.Context, queue string) ([]Status, error) {
	consumers, err := d.consumers(ctx, queue)
	if err != nil {
		return nil, err
	}
	cur, err := d.sorter.Status(ctx, queue)
	if err != nil {
		return nil, err
	}
	return beside(consumers, cur), nil
}

// Beside reads the consumers of a queue whose cursor was read before. It is weaker than
// [Deliverer.Status]: a consumer may be further than the position that is shown beside it.
func (d inside) Beside(ctx context.Context, cur cursor.Cursor) ([]Status, error) {
	consumers, err := d.consumers(ctx, cur.Queue)
	return beside(consumers, cur), err
}

func beside(consumers []Consumer, cur cursor.Cursor) []Status {
	list := make([]Status, len(consumers))
	for i, c := range consumers {
		list[i] = Status{c, cur.Position}
	}
	return list
}

// consumers are all consumers of a queue. Where some cannot be read, the error is [ErrUnreadable],
// and the others are returned.
func (d *Deliverer) consumers(ctx context.Context, queue string) ([]Consumer, error) {
	if err := cursor.ValidateQueue(queue); err != nil {
		return nil, err
	}
	var all []Consumer
	var unreadable error
	for after := ""; ; {
		page, next, err := d.store.Consumers(ctx, queue, after)
		if err != nil && !errors.Is(err, ErrUnreadable) {
			return nil, err
		}
		all, unreadable = append(all, page...), errors.Join(unreadable, err)
		if next == "" {
			return all, unreadable
		}
		after = next
	}
}

// Audit reads what operators did to a queue's consumers, the latest first, at most 100 a page.
// after is what the page before returned as next. Where nothing is on record the queue is looked
// at, and [cursor.ErrNoQueue] if it was never there. One that cannot be read is left out: the error
// is then [ErrUnreadable], and page and next are good.
func (d inside) Audit(ctx context.Context,
	queue, after string) (page []Operation, next string, err error) {
	if err := cursor.ValidateQueue(queue); err != nil {
		return nil, "", err
	}
	// DynamoDB refuses a key that cannot be one, or is not of the range.
	if len(after) > maxOperationKey || !utf8.ValidString(after) || after >= ids {
		return nil, "", invalid.New(invalid.Malformed, "after", `must be the "next" of an earlier answer`)
	}
	page, next, err = d.store.Audit(ctx, queue, after)
	if err != nil || len(page) > 0 {
		return page, next, err
	}
	_, err = d.sorter.Inside(queuelog.Inside{}).ErasureOf(ctx, queue)
	return nil, next, err
}

// Delivered says which seq every consumer of a queue is past, with nothing below it in quarantine;
// any is false where the queue has none. One that cannot be read may need everything: the seq is
// then before the first. It is what cursor.SweepOptions.Delivered asks for.
func (d inside) Delivered(ctx context.Context, queue string) (seq int64, any bool, err error) {
	consumers, err := d.consumers(ctx, queue)
	if errors.Is(err, ErrUnreadable) {
		return -1, true, nil
	}
	for i, c := range consumers {
		if past := past(c); i == 0 || past < seq {
			seq = past
		}
	}
	return seq, len(consumers) > 0, err
}
