package dedup

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Start is what [Deduplicator.TryStart] found.
type Start[ID, R any] struct {
	// Attempt is the caller's where it is to run the effect; nil where the effect is done.
	Attempt *Attempt[ID, R]
	// Duplicate is how the effect ended, where Attempt is nil.
	Duplicate Outcome[R]
}

// TryStart claims the id for a caller that ends its attempt explicitly, as where the effect begins
// in one function and ends in another; or it returns the remembered result. It waits, and fails, as
// [Deduplicator.Once] does.
//
// An attempt that is not ended is taken over after its lease. It cannot leave its process: where
// another one does the effect, this one waits for it, and extends the lease meanwhile. ctx bounds
// the call, not the attempt; but where Options.Lease is 0, its deadline is the lease.
func (d *Deduplicator[ID, R]) TryStart(ctx context.Context, id ID,
	payload ...[]byte) (start Start[ID, R], err error) {
	k, err := d.Key(id)
	if err != nil {
		return start, err
	}
	if d.options.Off {
		return Start[ID, R]{Attempt: &Attempt[ID, R]{d: d, run: Run{Key: k}}}, nil
	}
	a := request{key: k, payload: payloadHash(payload)}
	ctx, end := d.begin(ctx, "try_start", k)
	defer func() { d.flights.end(k, a.shared); end(err) }()
	return d.start(ctx, &a)
}

// start makes the caller the owner of a key, or finds how its effect ended. Where the caller is the
// one of its process that asks (a.shared), it ends the flight, whatever comes back.
func (d *Deduplicator[ID, R]) start(ctx context.Context, a *request) (s Start[ID, R], err error) {
	found, err := d.enter(ctx, a)
	if err == nil && a.shared != nil {
		var r Row
		var mine bool
		if found, r, mine, err = d.acquire(ctx, a); mine {
			return Start[ID, R]{Attempt: d.attempt(r)}, err
		}
		if err == nil {
			a.shared.found = found
			d.cache.put(found, d.options.Now())
		}
	}
	if err == nil {
		s.Duplicate, err = d.replay(ctx, found)
	}
	return s, err
}

// Attempt is the right to run an effect, until its lease is over and another caller takes it. End
// it with Complete or Fail. Its methods may be called by any number of goroutines.
type Attempt[ID, R any] struct {
	d *Deduplicator[ID, R]

	// ending lets one call at a time end or extend the attempt. It guards the row as this attempt
	// last saw it, and how it ended: what was placed for a first Complete is what a repeat stores,
	// and nothing but a repeat follows a Fail. Where nobody knows whether a Fail was stored, the
	// row says it.
	ending            sync.Mutex
	row               Row
	completed, failed bool
	placed            *placed

	mu  sync.Mutex
	run Run
	// remembered is what was stored at its end.
	remembered remembered
}

func (d *Deduplicator[ID, R]) attempt(r Row) *Attempt[ID, R] {
	return &Attempt[ID, R]{
		d:   d,
		row: r,
		run: Run{Key: r.Key, Attempt: r.Attempt, Fence: r.Fence, LeaseUntil: r.LeaseUntil},
	}
}

// made reports an attempt that no TryStart returned: a nil one, as a duplicate gets it, or the zero
// Attempt.
func (a *Attempt[ID, R]) made() error {
	if a == nil || a.d == nil {
		return invalid.New(invalid.Missing, "attempt", "must be one that TryStart returned")
	}
	return nil
}

// Run describes the attempt; the zero Run where no TryStart returned it.
func (a *Attempt[ID, R]) Run() Run {
	if a.made() != nil {
		return Run{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run
}

var errPanicked = errors.New("the effect panicked")

// Complete remembers the result: from now on every call with the id gets it. It may be repeated,
// and the first result stands.
//
// Errors: [LostError], where the lease was over and another took the key: the result is not
// remembered. [NotRememberedError], where the store failed: call Complete again, or the effect runs
// again after the lease. [InvalidError] of the field result, where it cannot be encoded: the id is
// completed, and the result counts as omitted. [ErrEnded] after Fail.
func (a *Attempt[ID, R]) Complete(ctx context.Context, value R) error {
	if err := a.made(); err != nil || a.d.options.Off {
		return err
	}
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.failed {
		return ErrEnded
	}
	if a.completed && a.placed != nil {
		return a.placed.refused
	}
	now := ddb.ToMillis(a.d.options.Now())
	validUntil, expiresOn := a.d.validity(now, time.Time{})
	if err := a.place(ctx, value, validUntil, expiresOn); err != nil {
		return &NotRememberedError{Key: a.row.Key, Err: err}
	}
	if err := a.complete(ctx, a.placed.stored, func(r Row) Row {
		r = r.asCompleted(now, validUntil, expiresOn)
		r.Result = a.placed.result
		return r
	}); err != nil {
		return err
	}
	return a.placed.refused
}

// place makes the first value that is given ready for the row; a repeat keeps it. Where the repeat
// comes so late that the item of its own would be deleted while the row is valid, it is stored
// again, with a later end.
func (a *Attempt[ID, R]) place(ctx context.Context, value R,
	validUntil, expiresOn time.Time) error {
	if a.placed == nil {
		made, err := a.d.place(ctx, a.row, value, expiresOn)
		if err == nil {
			a.placed = &made
		}
		return err
	}
	if a.placed.result.Place == InItem && validUntil.After(a.placed.expiresOn) {
		return a.d.putResult(ctx, a.row, a.placed, expiresOn)
	}
	return nil
}

// swap changes the attempt's row, and returns it as it is stored then. Where the condition fails
// and the row is still ours and under way, an earlier request of ours, whose response was lost, has
// changed it: again, with what is there. Each such request leads to one more turn at most.
func (a *Attempt[ID, R]) swap(ctx context.Context, change func(Row) Row) (Row, bool, error) {
	for {
		r, done, err := a.d.store.Swap(ctx, a.row, change(a.row))
		if err != nil || done || !a.owns(r) || r.completed() || r.givenBack() {
			return r, done, err
		}
		a.row = r
	}
}

// complete stores how the effect ended.
//
// Where the row is completed under our own token already, an earlier request was ours, and what it
// stored stands.
func (a *Attempt[ID, R]) complete(ctx context.Context, stored []byte, end func(Row) Row) error {
	r, completed, err := a.swap(ctx, end)
	switch {
	case err != nil:
		return &NotRememberedError{Key: a.row.Key, Err: err}
	case completed:
		a.end(ctx, r, stored)
	case !a.owns(r):
		return a.lost(ctx)
	case !r.completed() || r.Failed != end(a.row).Failed:
		return ErrEnded
	case r.Result.Place == InRow:
		a.end(ctx, r, r.Result.Bytes)
	}
	return nil
}

// end notes that the attempt has ended as the row says.
func (a *Attempt[ID, R]) end(ctx context.Context, r Row, stored []byte) {
	a.completed = true
	a.d.pace.learn(r)
	found := remembered{row: r, stored: stored, kept: !r.Failed && r.Result.Place != Omitted}
	a.mu.Lock()
	a.remembered = found
	a.mu.Unlock()
	a.d.cache.put(found, a.d.options.Now())
	a.d.note(ctx, EventCompleted, r)
}

// Fail ends the attempt with an error: as Options.OnError says, the id is forgotten and the next
// call runs the effect again, or the error is remembered. A [ForgetError] is always forgotten.
//
// Errors: [InvalidError] for a nil error. [LostError], as with Complete. [ErrEnded] after Complete.
// Another one where the store failed: call Fail again, or wait for the lease to end.
func (a *Attempt[ID, R]) Fail(ctx context.Context, why error) error {
	if err := a.made(); err != nil {
		return err
	}
	if why == nil {
		return missing("error")
	}
	if a.d.options.Off {
		return nil
	}
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.failed {
		return nil
	}
	message := shorten(messageOf(why))
	judged := false
	defer func() {
		if !judged {
			// OnError panicked, and its panic goes on. The next call need not wait for the lease.
			_ = a.giveBack(ctx, message)
		}
	}()
	failure := Forget
	if _, forgotten := errors.AsType[*ForgetError](why); !forgotten {
		failure = a.d.options.OnError(why)
	}
	judged = true
	if failure == Remember {
		now := ddb.ToMillis(a.d.options.Now())
		validUntil, expiresOn := a.d.validity(now, time.Time{})
		return a.complete(ctx, nil, func(r Row) Row {
			r = r.asCompleted(now, validUntil, expiresOn)
			r.Failed, r.Error = true, message
			return r
		})
	}
	return a.giveBack(ctx, message)
}

// messageOf is the text of an error, also of one whose Error method panics.
func messageOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = "an error whose text cannot be had"
		}
	}()
	return err.Error()
}

// giveBack lets the next call run the effect.
func (a *Attempt[ID, R]) giveBack(ctx context.Context, why string) error {
	r, failed, err := a.swap(ctx, func(r Row) Row {
		r.LeaseUntil, r.Error, r.Payload = longAgo, why, nil
		return r
	})
	switch {
	case err != nil:
		return err
	case failed || a.owns(r) && r.givenBack():
		a.failed = true
		a.d.note(ctx, EventFailed, r)
		return nil
	case a.owns(r):
		return ErrEnded
	}
	return a.lost(ctx)
}

// Extend moves the end of the lease to that long from now, 10 ms to 24 hours; a lease that ends
// later stays as it is. An attempt whose lease is over can be extended as long as nobody has taken
// it.
//
// Errors: [InvalidError], [LostError], [ErrEnded] after Complete or Fail, and those of the store.
func (a *Attempt[ID, R]) Extend(ctx context.Context, lease time.Duration) error {
	if err := a.made(); err != nil {
		return err
	}
	if err := bounds.Check("lease", lease, shortestLease, longestLease); err != nil {
		return err
	}
	if a.d.options.Off {
		return nil
	}
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.failed {
		return ErrEnded
	}
	now := ddb.ToMillis(a.d.options.Now())
	until := now.Add(lease)
	r, _, err := a.swap(ctx, func(r Row) Row {
		// A lease that ends later is stored again: so we learn whether it is ours.
		if r.LeaseUntil.Before(until) {
			r.LeaseUntil = until
			r.ValidUntil, r.ExpiresOn = a.d.validity(now, until)
		}
		return r
	})
	switch {
	case err != nil:
		return err
	case !a.owns(r):
		return a.lost(ctx)
	case r.completed() || r.givenBack():
		return ErrEnded
	}
	a.row = r
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run.LeaseUntil = r.LeaseUntil
	return nil
}

func (a *Attempt[ID, R]) owns(r Row) bool {
	return r.Exists() && r.Token == a.row.Token && r.Fence == a.row.Fence
}

func (a *Attempt[ID, R]) lost(ctx context.Context) error {
	run := a.Run()
	a.d.note(ctx, EventLost, Row{Key: run.Key, Fence: run.Fence, Attempt: run.Attempt,
		LeaseUntil: run.LeaseUntil})
	return &LostError{Key: run.Key, Attempt: run.Attempt, Fence: run.Fence}
}
