package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Deliver delivers what a queue has for a reader, batch after batch, and commits each. It ends when
// nothing is left, before the context's deadline, or when the reader fails. A queue whose consumer
// is not there yet gets one. Where there is more than there is time for, the queue is notified,
// which wakes up who delivers behind the stream.
//
// known is a position that the queue is known to have reached, such as that of a stream record, and
// -1 without one: it saves a read.
//
// It delivers what is known to be there, up to that position at least. A call that finds another's
// claim in flight (Busy) notes its position with the claim, and who commits the claim goes on: so
// every record may be dropped that was answered without an error.
func (d *Deliverer) Deliver(ctx context.Context, queue string, r Reader, known int64) Delivery {
	done := d.deliver(ctx, queue, r, cursor.Range{From: -1, To: known}, limits{})
	if done.Err == nil && done.Reason == reasonTime {
		done.Err = d.sorter.Notify(ctx, queue)
	}
	d.schedule(done)
	return done
}

// deliver is Deliver, beside others or not. The queue moved to what is known, and from where is
// known too, or -1.
func (d *Deliverer) deliver(ctx context.Context, queue string, r Reader, moved cursor.Range,
	with limits) Delivery {
	run := &delivery{
		Deliverer: d, reader: r.withDefaults(), position: moved.To, limits: with,
		Delivery: Delivery{Queue: queue, Consumer: r.Name},
	}
	if err := errors.Join(validate(queue, r.Name), d.takes(r)); err != nil {
		run.Err = err
	} else {
		run.Err = run.deliver(ctx, moved.From)
		run.left.put(run.Record, run.Err)
		if run.hold(ctx) {
			run.end("", "")
			run.Err = run.deliver(ctx, -1)
			run.left.put(run.Record, run.Err)
			run.hold(ctx)
		}
		if run.bad && run.Record.Retries() { // the message that was refused is not alone yet
			run.noteMore(ctx, rowOf(trouble.Failing, run.Record, failingSince(run.Record)))
		}
	}
	if with.unsure && errors.Is(run.Err, cursor.ErrNoQueue) {
		run.end(Empty, "")
		run.Err = nil
	}
	d.observe(run.Delivery)
	return run.Delivery
}

// limits are those of a delivery that has others beside it. The zero value is of one that has none.
type limits struct {
	// until is when its turn is over; the zero time means never.
	until time.Time
	// inline is how long a batch may take; 0 for as long as it likes.
	inline time.Duration
	// shared is what was read of the queue for another consumer, or nil.
	shared *shared
	// cursor is one that the queue had, where a record shows it.
	cursor cursor.Cursor
	// unsure tells that the queue may not be there, or not have the position that is known of it.
	unsure bool
}

type delivery struct {
	*Deliverer
	Delivery
	reader Reader
	// position is one that the queue has reached; -1 where none is known.
	position int64
	// longest is how long a batch took.
	longest time.Duration
	// claiming is when the last claim was asked for, claimed that of the batch that is under way,
	// handed when it was handed over, and returned when its handler returned.
	claiming, claimed, handed, returned time.Time
	limits
	// bad tells that the last batch cannot be delivered as it is, however often.
	bad bool
	// learnt is what was known of the sink before the batch that is under way was delivered, probe
	// the number of the probe that the batch is, or 0.
	learnt request.Health
	probe  int64
}

func (run *delivery) deliver(ctx context.Context, from int64) error {
	c, err := Consumer{}, error(nil)
	if left, ok := run.left.get(run.Queue, run.Consumer, from); ok && from < run.position {
		c = left
	} else {
		c, err = run.store.Consumer(ctx, run.Queue, run.Consumer)
	}
	for {
		if err == nil && !c.Exists() {
			start := run.reader.Start
			start.there = run.unsure
			c, err = run.create(ctx, run.Queue, run.Consumer, start, run.newReq())
		}
		if err != nil {
			return err
		}
		run.Record = c
		ready, failed := run.ready(ctx)
		if failed != nil || !ready {
			return failed
		}
		if c, err = run.step(ctx); run.Outcome != "" {
			if err == nil {
				run.Record = c
			}
			return err
		}
	}
}

// ready reports whether a claim should be made, and says why not.
func (run *delivery) ready(ctx context.Context) (bool, error) {
	if err := run.settle(ctx); err != nil || run.Outcome != "" {
		return false, err
	}
	if run.stopped(ctx) {
		return false, nil
	}
	if err := run.knows(ctx); err != nil {
		return false, err
	}
	if run.position <= run.Record.Delivered {
		run.end(Empty, "")
		return false, nil
	}
	if run.goesAside() {
		run.end(Wait, reasonIsolated)
		return false, nil
	}
	if !run.inTime(ctx) {
		run.end(Wait, reasonTime)
		return false, nil
	}
	return run.lets(ctx), nil
}

// settle does what comes before a claim, one step after the other, until nothing is left of it, or
// a step ends the delivery: each leaves the consumer as it is then.
func (run *delivery) settle(ctx context.Context) (err error) {
	for err == nil && run.Outcome == "" {
		switch c, now := run.Record, run.now(); {
		case c.Deferred:
			err = run.lookAtWork(ctx, c)
		case c.Starting != "":
			err = run.goOnWithStart(ctx, c)
		case c.State == Sending && c.LeaseUntil.Before(ddb.ToMillis(now)):
			err = run.sendReplies(ctx, c)
		case c.Paused != "":
			return nil
		case c.State == Sending || c.State == Started && !c.LeaseUntil.Before(ddb.ToMillis(now)):
			err = run.busy(ctx, c)
		default:
			return nil
		}
	}
	return err
}

// lookAtWork ends a deferred claim whose work has ended, or is late.
func (run *delivery) lookAtWork(ctx context.Context, c Consumer) error {
	after, ended, err := run.look(ctx, c)
	if err != nil {
		return err
	}
	// While the claim was in flight, nobody noted what came.
	run.Record, run.position = after, -1
	switch {
	case !ended:
		run.end(Busy, "")
	case !after.Exists():
		run.end(Lost, "") // it was removed
	}
	return nil
}

// goOnWithStart goes on with a start that is not finished, as long as there is time.
func (run *delivery) goOnWithStart(ctx context.Context, c Consumer) error {
	started, err := run.start(ctx, c, run.until)
	switch {
	case errors.Is(err, errOutran) && !started.Exists():
		run.end(Lost, "") // it was removed
		return nil
	case err != nil && !errors.Is(err, errOutran):
		return err
	}
	run.Record = started
	if err == nil && started.Starting != "" {
		run.end(Wait, reasonTime)
	}
	return nil
}

// sendReplies finishes a claim whose replies another was to send: forward only, for it is as good
// as committed, also while the consumer is paused.
func (run *delivery) sendReplies(ctx context.Context, c Consumer) error {
	finished, err := run.forward(ctx, c, nil)
	if err != nil {
		return run.replying(err)
	}
	run.store.NoteOver(ctx, finished, trouble.Replying)
	run.Record = finished
	return nil
}

// stopped ends the delivery where nothing may be claimed.
func (run *delivery) stopped(ctx context.Context) bool {
	switch c := run.Record; {
	case c.Paused != "":
		run.end(Paused, "")
	case c.State == Blocked:
		run.end(Blocked, "")
	case c.State == Prepared || c.State == InDoubt:
		run.end(Busy, "") // who ends it looks at the position
	case c.State == Idle && run.now().Before(c.RetryAt):
		// Nothing has to be waited for where the sink is known to have come back, or to be another.
		back := !run.reader.Apart && run.recovered(ctx, c)
		if run.reader.Apart && run.reader.Changed != nil {
			back = run.reader.Changed(ctx, c.Queue, c.Failed)
		}
		if !back {
			run.end(Wait, reasonFailed)
		}
	}
	return run.Outcome != ""
}

// knows has the position read where none is known, and takes up what others noted.
func (run *delivery) knows(ctx context.Context) error {
	if run.position < 0 {
		it, err := run.sorter.Status(ctx, run.Queue)
		if err != nil {
			return err
		}
		run.position = it.Position
	}
	run.position = max(run.position, run.Record.Asked)
	return nil
}

// busy notes with the claim that is in flight what is known to come behind it. Where it has ended
// meanwhile, this delivery goes on itself.
func (run *delivery) busy(ctx context.Context, c Consumer) error {
	if err := run.knows(ctx); err != nil {
		return err
	}
	if run.position <= c.To || run.position <= c.Asked {
		run.end(Busy, "")
		return nil
	}
	if run.unsure { // what is noted is believed: the next look reads the position
		run.unsure, run.position = false, -1
		return nil
	}
	after, noted, err := run.store.Ask(ctx, c, run.position)
	switch {
	case err != nil:
		return err
	case noted:
		run.end(Busy, "")
	case !after.Exists():
		run.end(Lost, "") // it was removed
	default:
		run.Record = after
	}
	return nil
}

// inTime reports whether the turn is not over, and another batch as long as the longest can end in
// time.
func (run *delivery) inTime(ctx context.Context) bool {
	return run.hasTime(ctx, run.until, run.margin+run.longest)
}

// leaseUntil is when a claim that is made now may be taken over.
func (run *delivery) leaseUntil(ctx context.Context, now time.Time) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return now.Add(run.lease)
	}
	lease := deadline.Add(run.grace)
	if least := now.Add(request.MinLease); lease.Before(least) {
		return least
	}
	return lease
}

// step claims one range, hands it on, and goes on with the next as long as more is known to be
// there. It returns the consumer as it is then.
func (run *delivery) step(ctx context.Context) (Consumer, error) {
	c := run.Record
	if isBad(c, run.reader.MaxAttempts, run.reader.BlockAfter, run.now()) {
		return run.block(ctx, c)
	}
	batch, err := run.read(ctx, c.Delivered, c.failedTo(), c.Attempts)
	if err != nil {
		return c, err
	}
	if run.Outcome != "" {
		return c, nil
	}
	claim := run.claim(ctx, batch.To)
	if !run.probes(ctx, claim.LeaseUntil) {
		return c, nil
	}
	c, mine, err := run.store.Claim(ctx, c, claim)
	if err != nil {
		return c, err
	}
	for mine {
		run.Record, run.claimed = c, run.claiming
		if c.Attempts > 1 || !c.Failed.IsZero() {
			// What came since it failed nobody noted.
			run.position = -1
		} else {
			run.position = max(run.position, c.Asked)
		}
		batch.Token, batch.Attempt, batch.Rewinds = c.Token, c.attempt(), c.Rewinds
		batch.deferred, batch.answer = new(time.Duration), &Response{}
		// A skipped message does not count as done.
		chain := xorack.Created{}
		if run.reader.Track == 0 || len(batch.Messages) == 0 {
			batch.outbox = &outbox{}
		} else if chain, err = run.track(ctx, c, len(batch.Messages)); err != nil {
			return c, err
		} else if chain.Chain.End() != xorack.Open {
			c, _, err = run.endAs(ctx, c, chain.Chain)
			return c, err
		}
		batch.Edges = chain.Roots
		if cause := run.hand(ctx, batch, c.LeaseUntil); cause != nil {
			run.tell(batch, time.Time{}, cause)
			after, err := run.fail(ctx, c, batch, cause)
			run.giveUp(ctx, chain.Root, cause)
			return after, err
		}
		if until := chain.Chain.Deadline; !until.IsZero() {
			return run.leave(ctx, c, batch, until)
		}
		if *batch.deferred > 0 {
			return run.leave(ctx, c, batch, run.now().Add(*batch.deferred))
		}
		if replies, _ := batch.Replies(); len(replies) > 0 {
			return run.reply(ctx, c, batch, replies)
		}
		c, mine, batch, err = run.commit(ctx, c, batch)
		if err != nil || run.Outcome != "" {
			return c, err
		}
	}
	// Not ours, or committed: look at what stands there.
	return c, nil
}

// block makes the consumer blocked, before another attempt.
func (run *delivery) block(ctx context.Context, c Consumer) (Consumer, error) {
	blocked, made, err := run.store.Block(ctx, c, run.now())
	if err == nil && made {
		run.noteBlocked(ctx, c, blocked)
	}
	return blocked, err
}

func (run *delivery) noteBlocked(ctx context.Context, c, blocked Consumer) {
	run.store.Note(ctx, c, blocked)
	run.end(Blocked, "")
}

func (run *delivery) claim(ctx context.Context, to int64) request.Claim {
	now := run.now()
	run.claiming = now
	return request.Claim{Req: run.newReq(), To: to, Now: now, LeaseUntil: run.leaseUntil(ctx, now)}
}

// read reads the next batch, while the circuit is open up to its first message: a failure is that
// one's or the sink's. The outcome is Missing where the next message is not there.
func (run *delivery) read(ctx context.Context, after, isolateTo int64,
	attempts int) (Batch, error) {
	reading := plan{
		Sorter: run.sorter, Queue: run.Queue, Cursor: run.cursor, Position: run.position,
		MaxMessages: run.reader.MaxMessages, MaxBytes: run.reader.MaxBytes,
		MaxAttempts: run.reader.MaxAttempts, Bad: run.bad,
	}
	next := func() (cursor.Batch, error) { return reading.next(ctx, after, isolateTo, attempts) }
	share := run.shared
	if attempts > 0 || isolateTo > after {
		share = nil // of what failed, another consumer has another piece
	}
	got, err := share.read(reading, after, next)
	if missing, ok := errors.AsType[*cursor.MissingError](err); ok {
		it, failed := run.sorter.Status(ctx, run.Queue)
		switch {
		case failed != nil:
			return Batch{}, failed
		case missing.Seq > it.Position: // a caller was wrong, or a restore took the tables back
			run.position = it.Position
			run.end(Empty, "")
			err = nil
		default:
			run.noteMissing(ctx, run.Record)
			run.end(Missing, "")
			run.Cause, err = missing, nil
		}
	}
	b := batch(Consumer{Queue: run.Queue, Name: run.Consumer}, got)
	if run.opens(run.learnt) && len(b.Messages) > 0 {
		b = b.upTo(b.Messages[0].Seq)
	}
	return b, err
}

// over reports whether a claim is in flight whose lease is over.
func over(c Consumer, now time.Time) bool {
	return c.State == Started && c.LeaseUntil.Before(ddb.ToMillis(now))
}
