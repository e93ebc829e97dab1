package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Database is a consumer's own transactional database, with the markers of its claims: rows under a
// claim's whole name that say how it ended in there. Package sqlmarker is that on database/sql.
type Database interface {
	// Name is the database's own, 1 to 40 characters. It stays the same when the database is
	// restored from a backup, and no other one has it: claims bear it in their requests, so that no
	// other database settles them.
	Name() string

	// Apply does what a batch is for and sets the marker of its claim, Committed, with the replies
	// that were added to the batch, in one transaction; then it calls prepare; then it commits.
	// Where one of them fails it rolls back, and returns that error. nil means that the transaction
	// is committed. Apply does nothing, and returns a *RestoredError, where neither the claim of
	// the number committed nor any later one is known to be committed in the database; and an
	// *AheadError where the last batch that is known to be committed in it goes
	// further than this one begins, and the consumer was not set back since; and ErrEnded where
	// what it does for the batch ended the transaction.
	Apply(ctx context.Context, b delivery.Batch, committed int64,
		prepare func(context.Context) error) error

	// Settle sets the marker of a claim, Aborted, if it is absent, and returns the one that stands
	// there, with its replies. Its error says that nothing is known; a *RestoredError as in Apply.
	Settle(ctx context.Context, h delivery.Held, committed int64) (delivery.TokenOutcome,
		[]delivery.Reply, error)

	// Check returns a *RestoredError where Apply would.
	Check(ctx context.Context, queue, consumer string, committed int64) error

	// Forget deletes the markers of the claims under a number, and lets none of them commit any
	// more.
	Forget(ctx context.Context, queue, consumer string, under int64) error
}

// ConsumeOptions are the parts of [Consume] that have defaults. A nil ConsumeOptions means all of
// them.
type ConsumeOptions struct {
	// MaxMessages and MaxBytes are how much a claim has at most: see [delivery.Request].
	MaxMessages, MaxBytes int
	// Lease is how long a claim is valid, 30 seconds to 12 hours; 1 minute. A heartbeat extends it
	// while the work goes on, so it need not be longer than a batch takes.
	Lease time.Duration
	// Beat is the time between two heartbeats; a third of the lease. Negative means none.
	Beat time.Duration
	// Poll is how long it waits where nothing is ready; 1 second.
	Poll time.Duration
	// Create creates the consumer at its first claim where it is not there: it begins with the
	// oldest message stored.
	Create bool
	// Logger logs what it waits for; nil means slog.Default().
	Logger *slog.Logger
	// UntilEmpty ends it where nothing is ready.
	UntilEmpty bool
	// KeepMarkers is how many claims' markers are kept, 1 or more; 1,000.
	KeepMarkers int64
	// Observe, if not nil, is called with each step.
	Observe func(Step)
	// NewReq returns a name for a request that no other request has, 1 to 20 characters; nil means
	// random ones.
	NewReq func() string
	// Wait waits; nil means to wait for that time, or the context's end.
	Wait func(context.Context, time.Duration) error
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Step is what [Consume] did last, or found.
type Step struct {
	// Outcome is OK after a batch that is committed, Lost where another took the claim over,
	// InDoubt where a claim that was found so, or in quarantine, is settled now, and otherwise what
	// a claim was answered; empty where Err says why nothing is known.
	Outcome delivery.Outcome
	Batch   delivery.Batch
	Err     error
}

// Consume hands a queue's messages on to a database, batch after batch, each exactly once: claim,
// transaction, marker, prepare, commit. It settles what was left in doubt, by whatever process, and
// extends the lease while a batch is being applied. What fails is tried again, with longer and
// longer waits.
//
// It returns the context's error when that ends, with what failed last where nothing worked since;
// nil with UntilEmpty; and otherwise what only people can repair: a *RestoredError, an *AheadError,
// ErrOtherDatabase, ErrContradiction, ErrEnded, delivery.ErrNoConsumer, a *cursor.InvalidError
// about what it was called with. What the effect returns never ends it.
//
// Any number of processes may run it for one consumer and one database at once: one works, the
// others are answered busy. It may die at any point: what it left is settled or taken over by the
// next, after the lease.
func Consume(ctx context.Context, claims delivery.Claims, db Database, queue, consumer string,
	options *ConsumeOptions) error {
	run, err := newConsuming(claims, db, queue, consumer, options)
	if err != nil {
		return err
	}
	for {
		wait, err := run.once(ctx)
		if err != nil || run.ended {
			return err
		}
		if wait > 0 {
			if err := run.Wait(ctx, wait); err != nil {
				return run.cut(err)
			}
		}
		if ctx.Err() != nil {
			return run.cut(ctx.Err())
		}
	}
}

type consuming struct {
	ConsumeOptions
	claims          delivery.Claims
	db              Database
	queue, consumer string
	// req is a request for a claim that was made and not answered.
	req string
	// next is what the last commit claimed in the same write; its Outcome is empty where it claimed
	// nothing.
	next delivery.Answer
	// open is a claim of ours that was, or may have been, prepared, and is not known to be ended;
	// committed is what its answer said.
	open      *delivery.Held
	committed int64
	// failures is how often in a row something failed, and last what it was.
	failures int
	last     error
	ended    bool
	// waitsFor is what it waited for last.
	waitsFor delivery.Outcome
	// checked is set when the database is known to be what it was.
	checked bool
}

func newConsuming(claims delivery.Claims, db Database, queue, consumer string,
	options *ConsumeOptions) (*consuming, error) {
	if options == nil {
		options = &ConsumeOptions{}
	}
	run := &consuming{ConsumeOptions: *options, claims: claims, db: db, queue: queue,
		consumer: consumer}
	run.Lease = cmp.Or(run.Lease, time.Minute)
	run.Beat = cmp.Or(run.Beat, run.Lease/3)
	run.Poll = cmp.Or(run.Poll, time.Second)
	run.KeepMarkers = cmp.Or(run.KeepMarkers, 1000)
	if run.Observe == nil {
		run.Observe = func(Step) {}
	}
	if run.NewReq == nil {
		run.NewReq = request.Random
	}
	if run.Wait == nil {
		run.Wait = pause.For
	}
	if run.Now == nil {
		run.Now = time.Now
	}
	if run.Logger == nil {
		run.Logger = slog.Default()
	}
	switch name := db.Name(); {
	case len(name) == 0 || len(name) > 40:
		return nil,
			invalid.New(invalid.TextCode(name, 40), "database", "must have a name of 1 to 40 bytes")
	case run.Poll < 0:
		return nil, invalid.New(invalid.OutOfRange, "poll", "must not be negative")
	case run.KeepMarkers < 1:
		return nil, invalid.New(invalid.OutOfRange, "keepMarkers", "must be 1 or more")
	}
	return run, nil
}

// Waits after failures.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
)

// failed notes that something failed that may work later, and says how long to wait; an error that
// only people can repair it returns.
func (run *consuming) failed(b delivery.Batch, err error) (time.Duration, error) {
	run.Observe(Step{Batch: b, Err: err})
	if errors.Is(err, delivery.ErrNoConsumer) || errors.Is(err, ErrOtherDatabase) ||
		errors.Is(err, ErrContradiction) || errors.Is(err, ErrEnded) {
		err = fmt.Errorf("consumer %q of queue %q: %w", run.consumer, run.queue, err)
	}
	if onlyPeople(err) {
		return 0, err
	}
	if over := errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled); run.failures == 0 || !over {
		run.last = err // that the time is over says nothing of what was wrong before
	}
	run.failures++
	return min(firstWait<<min(run.failures-1, 20), longestWait), nil
}

// cut is why it ends between two rounds, with what failed in those before.
func (run *consuming) cut(why error) error {
	if run.failures == 0 {
		return why
	}
	return fmt.Errorf("%w: what failed last: %w", why, run.last)
}

// once makes one round, and says how long to wait for the next.
func (run *consuming) once(ctx context.Context) (time.Duration, error) {
	if open := run.open; open != nil {
		if err := run.settle(ctx, *open, run.committed,
			"the transaction's end is not known"); err != nil {
			return run.failed(delivery.Batch{Queue: run.queue, Consumer: run.consumer,
				Token: open.Token}, err)
		}
	}
	a, err := run.claim(ctx)
	if err != nil {
		return run.failed(a.Batch, err)
	}
	if !run.checked && a.Outcome != delivery.OK {
		// At the start: there may be nothing to apply for long.
		if err := run.db.Check(ctx, run.queue, run.consumer, a.Committed); err != nil {
			return run.failed(a.Batch, err)
		}
	}
	run.checked = true
	if err := run.settleAside(ctx, a); err != nil {
		// What is aside holds nobody up: the next round tries again.
		if _, fatal := run.failed(a.Batch, err); fatal != nil {
			return 0, fatal
		}
	}
	switch a.Outcome {
	case delivery.OK:
		run.waitsFor = delivery.OK
		return run.apply(ctx, a)
	case delivery.InDoubt:
		run.Observe(Step{Outcome: delivery.InDoubt, Batch: a.Batch})
		if err := run.settle(ctx, a.Held(), a.Committed,
			"its consumer fell silent after the prepare"); err != nil {
			return run.failed(a.Batch, err)
		}
		run.failures = 0
		return 0, nil
	}
	run.failures = 0
	run.Observe(Step{Outcome: a.Outcome, Batch: a.Batch})
	if a.Outcome != run.waitsFor && a.Outcome != delivery.Empty {
		run.logWait(ctx, a)
	}
	run.waitsFor = a.Outcome
	run.ended = a.Outcome == delivery.Empty && run.UntilEmpty
	if left := a.Until.Sub(run.Now()); !a.Until.IsZero() && left < run.Poll {
		return max(left, time.Millisecond), nil
	}
	return run.Poll, nil
}

func (run *consuming) logWait(ctx context.Context, a delivery.Answer) {
	attrs := []slog.Attr{
		slog.String("queue", run.queue), slog.String("consumer", run.consumer),
		slog.String("outcome", string(a.Outcome)),
	}
	if !a.Until.IsZero() {
		attrs = append(attrs, slog.Duration("ends_in", a.Until.Sub(run.Now()).Round(time.Second)))
	}
	if a.Detail != "" {
		attrs = append(attrs, slog.String("detail", a.Detail))
	}
	level, text := slog.LevelInfo, "waits"
	switch a.Outcome {
	case delivery.Busy:
		text = "waits for the claim of another process, which ends at its lease if that was killed"
	case delivery.Wait:
		text = "waits to try again what failed"
	case delivery.Blocked, delivery.Missing:
		level, text = slog.LevelWarn, "waits for an operator"
	}
	run.Logger.LogAttrs(ctx, level, text, attrs...)
}

// request is the one for the next claim: the same until it is answered.
func (run *consuming) request() delivery.Request {
	if run.req == "" {
		run.req = run.db.Name() + "-" + run.NewReq()
	}
	return delivery.Request{Queue: run.queue, Consumer: run.consumer, ID: run.req,
		MaxMessages: run.MaxMessages, MaxBytes: run.MaxBytes, Lease: run.Lease}
}

// claim makes the next claim, unless the last commit did.
func (run *consuming) claim(ctx context.Context) (delivery.Answer, error) {
	if a := run.next; a.Outcome != "" {
		run.next = delivery.Answer{}
		return a, nil
	}
	a, err := run.claims.Claim(ctx, run.request())
	if run.Create && errors.Is(err, delivery.ErrNoConsumer) {
		if err = run.claims.Create(ctx, run.queue, run.consumer); err == nil {
			a, err = run.claims.Claim(ctx, run.request())
		}
	}
	if err == nil {
		run.req = ""
	}
	return a, err
}

// settleAside settles what is in quarantine, but for what another database left there: that waits
// for an operator.
func (run *consuming) settleAside(ctx context.Context, a delivery.Answer) error {
	for _, h := range a.Unsettled {
		if !run.own(h) {
			continue
		}
		run.Observe(Step{Outcome: delivery.InDoubt,
			Batch: delivery.Batch{Queue: h.Queue, Consumer: h.Consumer, Token: h.Token}})
		if err := run.settle(ctx, h, a.Committed,
			"its consumer fell silent after the prepare"); err != nil {
			return err
		}
	}
	return nil
}

func (run *consuming) own(h delivery.Held) bool {
	return strings.HasPrefix(h.Token.Req, run.db.Name()+"-")
}

func (run *consuming) settle(ctx context.Context, h delivery.Held, committed int64,
	reason string) error {
	if !run.own(h) {
		return fmt.Errorf("%w: claim %v", ErrOtherDatabase, h.Token)
	}
	outcome, replies, err := run.db.Settle(ctx, h, committed)
	if err != nil {
		return err
	}
	a, err := run.claims.Settle(ctx, h, outcome, reason, replies...)
	if err == nil && a.Outcome == delivery.Full {
		err = errFull
	}
	if err != nil {
		return err
	}
	if run.open != nil && *run.open == h {
		run.open = nil
	}
	if outcome == delivery.Committed && rolledBack(a) ||
		outcome == delivery.Aborted && a.Outcome == delivery.Committed {
		return fmt.Errorf("%w: claim %v, %s %s", ErrContradiction, h.Token, a.Outcome, a.Reason)
	}
	return nil
}

// errFull has the commit repeated.
var errFull = errors.New("a queue that the replies go to is full")

// rolledBack reports whether a claim is known to have ended without its messages.
func rolledBack(a delivery.Answer) bool {
	return a.Reason == delivery.Aborted || a.Reason == delivery.Cancelled
}

// refused is why a prepare was not answered OK.
type refused struct {
	outcome delivery.Outcome
	reason  string
}

func (r refused) Error() string {
	return strings.TrimSpace("the claim may not be committed: " + string(r.outcome) + " " + r.reason)
}
