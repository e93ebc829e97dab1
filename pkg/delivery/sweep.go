package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// SweepOptions are the parts of a sweep that have defaults. Each zero field means its default.
type SweepOptions struct {
	// Sorter is of the sorter's sweep, in whose rounds the consumers are looked after. Its Beside,
	// Delivered and Erase are made by [Deliverer.Sweep].
	Sorter cursor.SweepOptions
	// LagAfter is the age of the oldest waiting message from which a consumer's lag is announced;
	// 15 minutes.
	LagAfter time.Duration
	// MaxAttempts is how often a message whose worker died is tried alone before the consumer is
	// Blocked; 5. Readers have a bound of their own.
	MaxAttempts int
	// SettleWithin is how long after its lease a claim may stay in doubt before it is put into
	// quarantine, 1 minute or more; 1 hour.
	SettleWithin time.Duration
	// Delete deletes messages that every consumer of their queue is past, some time later. A queue
	// without consumers keeps its messages.
	Delete bool
	// DeleteLimit is the most messages that are deleted from a queue a run; 10,000.
	DeleteLimit int
	// Erase deletes what others have kept of a queue that was erased, such as objects of a bucket,
	// or endpoints, and reports whether something is left. Each run calls it until the queue is
	// known to be empty. nil means that they keep nothing.
	Erase func(ctx context.Context, queue string) (left bool, err error)
	// Readers are those that ought to have a consumer in every queue that their Prefix lets them
	// read, by Name; their MaxAttempts, where it is set, goes before the one here. A reader makes
	// its consumer with the queue's first record; where that was dropped, only the sweep can tell.
	// A reader that is not among them has what consumers there are woken up.
	Readers []Reader
	// Announce hands an announcement on. An error keeps it due. nil means that nobody listens.
	Announce func(context.Context, Announcement) error
}

func (o SweepOptions) withDefaults() (SweepOptions, error) {
	o.MaxAttempts = cmp.Or(o.MaxAttempts, request.DefaultAttempts)
	o.DeleteLimit = cmp.Or(o.DeleteLimit, 10_000)
	o.LagAfter = cmp.Or(o.LagAfter, 15*time.Minute)
	o.SettleWithin = cmp.Or(o.SettleWithin, time.Hour)
	if o.Announce == nil {
		o.Announce = func(context.Context, Announcement) error { return nil }
	}
	if o.MaxAttempts < request.MinAttempts || o.DeleteLimit < 1 || o.LagAfter < 0 ||
		o.SettleWithin < time.Minute {
		return o, errors.New("maxAttempts must be 2 or more, settleWithin a minute or more, limits and times positive")
	}
	return o, nil
}

// SweepReport is what a run of the sweep saw and did.
type SweepReport struct {
	// Sorter is what the sorter's sweep saw and did.
	Sorter cursor.SweepReport
	// Queues is how many queues' consumers were looked at.
	Queues int
	// Lagging, Blocked and Paused count consumers that do not have everything, as a whole round saw
	// them that ended in this run; so do the next three and those in doubt and in quarantine. They
	// are 0 where no round ended, and of a queue with too many for its turn they count those of the
	// turn.
	Lagging, Blocked, Paused int
	// Missing is how many consumers their readers have not made yet.
	Missing int
	// OldestLag is the age of the oldest message that waits.
	OldestLag time.Duration
	// Notified is how many queues were woken up, Cancelled how many dead claims were ended, Started
	// how many starts were finished.
	Notified, Cancelled, Started int
	// Carried is how many deferred claims were ended: their chains had ended, or their time was
	// over.
	Carried int
	// InDoubt counts consumers whose claim is in doubt, Quarantined those that have claims in
	// quarantine.
	InDoubt, Quarantined int
	// Sent is how many claims were finished whose replies were on their way.
	Sent int
	// CircuitsOpen counts the consumers' names whose circuit is open.
	CircuitsOpen int
	// Deleted is how many messages were deleted, Announced how many announcements were sent.
	Deleted, Announced int
	// Failed is how many queues could not be seen to.
	Failed int
}

func (r *SweepReport) add(o SweepReport) {
	r.Queues += o.Queues
	r.Notified += o.Notified
	r.Cancelled += o.Cancelled
	r.Started += o.Started
	r.Carried += o.Carried
	r.Sent += o.Sent
	r.CircuitsOpen += o.CircuitsOpen
	r.Deleted += o.Deleted
	r.Announced += o.Announced
	r.Failed += o.Failed
}

// What the visits of a round count.
const (
	tallyLagging     = "lagging"
	tallyBlocked     = "blocked"
	tallyPaused      = "paused"
	tallyMissing     = "missing"
	tallyInDoubt     = "inDoubt"
	tallyQuarantined = "quarantined"
	tallyLag         = "lag"
)

func (r *SweepReport) whole(round cursor.Round) {
	seen := round.Seen
	r.Lagging, r.Blocked, r.Paused = seen.Count(tallyLagging), seen.Count(tallyBlocked),
		seen.Count(tallyPaused)
	r.Missing, r.OldestLag = seen.Count(tallyMissing), seen.Longest(tallyLag)
	r.InDoubt, r.Quarantined = seen.Count(tallyInDoubt), seen.Count(tallyQuarantined)
}

// Sweep is the sorter's sweep, [cursor.Sorter.Sweep], with the consumers looked after in its
// rounds; run it every minute or few. It ends dead claims, marks those that are in doubt and puts
// them into quarantine where nobody settles them, finishes starts, announces who is blocked, lags,
// or lost messages, and wakes up, by a notification of the cursor's stream, everybody who does not
// have everything, whether their record was dropped, their process died, or their sink failed. It
// handles the circuits of the readers that it knows: see [Deliverer.Wake]. What the slowest
// consumer has before it is kept from expiring; the consumers of an erased queue are deleted.
//
// The round of the gaps looks at the consumers of the queues that moved, or were notified, since
// the round before began, and some minutes more; the full round further back, and where messages
// are deleted, at those of every queue. A consumer that lags is notified by every round, so it is
// looked at by the next. A quiet queue whose consumers have everything costs a 70th of a read unit,
// and its consumers are not read.
//
// The error joins the first failures; the report is true beside it.
func (d *Deliverer) Sweep(ctx context.Context, options SweepOptions) (SweepReport, error) {
	o, err := options.withDefaults()
	if err != nil {
		return SweepReport{}, err
	}
	s := &consumerSweep{deliverer: d, options: o, visited: map[string]bool{}}
	d.noteGaps(ctx, &o.Sorter)
	// A consumer that lags is notified by every round; what is deleted comes in steps, which notify
	// nobody.
	o.Sorter.Beside = cursor.Beside{Visit: s.visit, GoOn: s.goOn, Quiet: !o.Delete, Of: s.of()}
	o.Sorter.Delivered = inside{d}.Delivered
	o.Sorter.Erase = func(ctx context.Context, c cursor.Cursor) (left bool, err error) {
		return d.eraseOthers(ctx, c, o.Erase)
	}
	var did cursor.SweepReport
	sweeps := []func(){
		func() { s.fail(s.walkTroubles(ctx)) },
		func() { s.circuits(ctx) },
		func() { did, err = d.sorter.Sweep(ctx, o.Sorter) },
	}
	d.forEach(len(sweeps), func(i int) { sweeps[i]() })
	s.report.Sorter = did
	s.report.whole(did.Round)
	return s.report, errors.Join(append([]error{err}, s.errs...)...)
}

type sweepRun struct {
	*Deliverer
	options SweepOptions
	seen    *tally.Tally
	report  SweepReport
	// until is when the turn of the queue is over; the zero time where only the context ends.
	until time.Time
	// startUntil is when the turn of the queue's starts is over, from the first one on.
	startUntil time.Time
	// left are the consumers for which there was no time in the turn, more tells that there was
	// none for all that is to be deleted; at is their queue.
	left []Consumer
	more bool
	at   cursor.Cursor
	// announced is how many announcements there were, held how many consumers were left to their
	// circuits.
	announced, held int
	// woken tells that a wake-up came for one consumer: it is no round.
	woken bool
}

func (r *sweepRun) queue(ctx context.Context, seen cursor.Cursor) error {
	consumers, failed := r.consumers(ctx, seen.Queue)
	if len(consumers) == 0 && (failed != nil || len(r.options.Readers) == 0) {
		return failed
	}
	it := seen
	if slices.ContainsFunc(consumers, func(c Consumer) bool {
		return c.State != Idle || c.Delivered < seen.Position
	}) {
		// A position read after the consumers: nobody is ahead of it.
		var err error
		if it, err = r.sorter.Status(ctx, seen.Queue); err != nil {
			return err
		}
	}
	r.at = it
	missing := failed == nil && r.missing(consumers, it)
	errs := []error{failed, r.seeTo(ctx, r.inTurn(consumers), it, missing)}
	if failed == nil && r.options.Delete {
		errs = append(errs, r.retire(ctx, it))
	}
	return errors.Join(errs...)
}

// inTurn has a visit begin with another one of a queue's consumers each time: where its time, or
// what it may announce, ends before the last of them, that is not so in each run.
func (r *sweepRun) inTurn(consumers []Consumer) []Consumer {
	if len(consumers) == 0 {
		return nil
	}
	first := uint64(r.now().UnixMilli()) % uint64(len(consumers))
	return slices.Concat(consumers[first:], consumers[:first])
}

// seeTo handles the consumers of a queue, and wakes its reader up where one of them lacks
// something, or missing says so.
func (r *sweepRun) seeTo(ctx context.Context, consumers []Consumer, it cursor.Cursor,
	missing bool) error {
	lags, err := r.each(ctx, consumers, it)
	errs := []error{err}
	if lags || missing {
		if err := r.sorter.Notify(ctx, it.Queue); err != nil {
			errs = append(errs, err)
		} else {
			r.report.Notified++
		}
	}
	return errors.Join(errs...)
}

// each handles the consumers of a queue, and reports whether one lacks something, as one may for
// which there is no time in the queue's turn.
func (r *sweepRun) each(ctx context.Context, consumers []Consumer,
	it cursor.Cursor) (lags bool, err error) {
	var errs []error
	for i, c := range consumers {
		switch {
		case ctx.Err() != nil:
			return true, errors.Join(append(errs, ctx.Err())...)
		case i > 0 && !r.until.IsZero() && !r.now().Before(r.until):
			r.left = consumers[i:]
			return true, errors.Join(errs...)
		}
		behind, err := r.consumer(ctx, c, it)
		lags = lags || behind
		errs = append(errs, err)
	}
	return lags, errors.Join(errs...)
}

// missing reports whether a reader has not made its consumer yet, though there is something to hand
// on: the first record of its queue was dropped, or given up on.
func (r *sweepRun) missing(consumers []Consumer, it cursor.Cursor) bool {
	if it.Position < it.Settings.First {
		return false
	}
	missing := 0
	for _, reader := range r.options.Readers {
		is := func(c Consumer) bool { return c.Name == reader.Name }
		if strings.HasPrefix(it.Queue, reader.Prefix) && !slices.ContainsFunc(consumers, is) {
			missing++
		}
	}
	r.seen.Add(tallyMissing, missing)
	return missing > 0
}

// sweepTurn is how long a queue may take in a round; with those of its consumers, and what is to be
// deleted, for whom that is too short the run goes on when the round is over. It is also how long a
// run goes on with the starts of one queue: who reads for them, and was woken up, goes on with them
// beside.
const sweepTurn = 5 * time.Second

// consumer handles one consumer, and reports whether it lacks something.
func (r *sweepRun) consumer(ctx context.Context, c Consumer,
	it cursor.Cursor) (behind bool, err error) {
	now := r.now()
	if c.Starting != "" {
		if r.startUntil.IsZero() {
			r.startUntil = now.Add(sweepTurn)
		}
		if !now.Before(r.startUntil) {
			return true, nil
		}
		started, err := r.start(ctx, c, r.startUntil)
		if err != nil || started.Starting != "" {
			return true, err
		}
		r.report.Started++
		c = started
	}
	before := c
	switch {
	case c.Deferred:
		after, ended, err := r.look(ctx, c)
		if err != nil {
			return true, err
		}
		if ended {
			r.report.Carried++
		}
		c, before = after, after
	case over(c, now):
		// Where it failed as well, the next delivery decides, which knows the reader's BlockAfter.
		block := c.FailingSince.IsZero() && isBad(c, r.options.reader(c.Name).MaxAttempts, 0, now)
		ended, made, err := r.store.Cancel(ctx, c, block, now)
		if err != nil {
			return true, err
		}
		if made {
			r.report.Cancelled++
		}
		c = ended
	}
	c, err = r.replies(ctx, c, it)
	if err != nil {
		return true, err
	}
	c, held, err := r.doubts(ctx, c, it)
	r.noteChanged(ctx, before, c)
	if err != nil || !c.Exists() || c.Delivered >= it.Position {
		return held, err
	}
	r.seen.Add(tallyLagging, 1)
	if r.heldBack(ctx, c) {
		r.held++
		return false, r.tell(ctx, c, it)
	}
	return true, r.tell(ctx, c, it)
}

// tell announces what people should hear of a consumer that lags.
func (r *sweepRun) tell(ctx context.Context, c Consumer, it cursor.Cursor) error {
	now := r.now()
	if c.State == Blocked {
		r.seen.Add(tallyBlocked, 1)
		return r.announce(ctx, newAnnouncement(consumerBlocked, c, it.Position, c.BlockedSince, now))
	}
	if c.Paused != "" {
		r.seen.Add(tallyPaused, 1)
	}
	since, missing, err := r.waiting(ctx, c)
	if c.Retries() && !r.woken {
		r.noteMore(ctx, rowOf(trouble.Failing, c, failingSince(c)))
	}
	if fails(c, r.options.reader(c.Name).MaxAttempts) {
		err = errors.Join(err,
			r.announce(ctx, newAnnouncement(consumerFailing, c, it.Position, failingSince(c), now)))
	}
	switch {
	case err != nil:
		return err
	case missing:
		r.noteMissing(ctx, c)
		return r.announce(ctx, newAnnouncement(consumerMissing, c, it.Position, now, now))
	case since.IsZero():
		return nil
	}
	age := now.Sub(since)
	r.seen.Peak(tallyLag, age)
	if age >= r.options.LagAfter {
		r.noteMore(ctx, rowOf(trouble.Lagging, c, since))
		return r.announce(ctx, newAnnouncement(consumerLags, c, it.Position, since, now))
	}
	return nil
}

// waiting looks at the message that a consumer gets next, below the queue's position: since when it
// waits, or that it is not stored any more. 1 read or 2.
func (d *Deliverer) waiting(ctx context.Context,
	c Consumer) (since time.Time, missing bool, err error) {
	for m, err := range d.sorter.Read(ctx, c.Queue, c.Delivered, c.Delivered+1) {
		if isA[*cursor.MissingError](err) {
			return time.Time{}, true, nil
		}
		return m.EnqueuedAt, false, err
	}
	return time.Time{}, false, ctx.Err()
}

// maxAnnounced is how many announcements of one queue's consumers a run makes: however many of them
// lag, who listens is not flooded, and the others are counted.
const maxAnnounced = 100

func (r *sweepRun) announce(ctx context.Context, a Announcement) error {
	if r.announced++; r.announced > maxAnnounced {
		return nil
	}
	if err := r.options.Announce(ctx, a); err != nil {
		return fmt.Errorf("announce %s of queue %q: %w", a.Kind, a.Queue, err)
	}
	r.report.Announced++
	return nil
}
