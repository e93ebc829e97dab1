package dedup

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// mismatch is the status of a row that was completed or begun with another payload than the
// caller's.
const mismatch Status = "mismatch"

// judge is what a row is at this moment to a caller with this payload: an expired row's payload
// does not count, and neither a remembered result nor a running effect is for another payload.
func (d *Deduplicator[ID, R]) judge(r Row, payload []byte, now time.Time) Status {
	status := r.status(now, d.options.Margin, int64(d.options.MaxAttempts))
	if status != NotStarted && status != Expired && d.matches(r, payload) != nil {
		return mismatch
	}
	return status
}

// remembered is a completed row and its result, encoded.
type remembered struct {
	row    Row
	stored []byte
	// kept is false where there is no result: omitted, or an error.
	kept bool
}

type request struct {
	key     Key
	payload []byte
	// shared is where other calls of this process wait for this one.
	shared *flight
	// waited is the sum of the delays so far, looks how many there were.
	waited time.Duration
	looks  int
	// met: the effect was done or running.
	met bool
}

// acquire makes the caller the owner of a key (true), or finds how its effect ended.
func (d *Deduplicator[ID, R]) acquire(ctx context.Context,
	a *request) (_ remembered, _ Row, mine bool, err error) {
	defer func() {
		if err == nil || a.met {
			d.lately.learn(a.met)
		}
	}()
	r, err := d.firstLook(ctx, a)
	if err != nil {
		return remembered{}, Row{}, false, err
	}
	for {
		now := ddb.ToMillis(d.options.Now())
		status := d.judge(r, a.payload, now)
		a.met = a.met || status == Completed || status == Running
		switch status {
		case NotStarted, Expired, TimedOut, Failed:
			if r, mine, err = d.claim(ctx, a, r, now); err != nil || mine {
				return remembered{}, r, mine, err
			}
			// The stored row is judged by the time of the claim: if that refused it as running, it
			// is running.
			if d.judge(r, a.payload, now) == Running {
				a.met = true
				r, err = d.wait(ctx, a, r)
			}
		case Running:
			r, err = d.wait(ctx, a, r)
		case Completed:
			d.pace.learn(r)
			found, err := d.fetch(ctx, r)
			if !errors.Is(err, errResultGone) {
				return found, Row{}, false, err
			}
			// Invalidated a moment ago, or lost.
			var again Row
			if again, err = d.store.Row(ctx, a.key, true); err != nil {
				return remembered{}, Row{}, false, err
			}
			if again.Fence == r.Fence && again.ValidUntil.Equal(r.ValidUntil) {
				return remembered{}, Row{}, false,
					&RowError{Key: a.key, Field: string(attrResult), Err: errResultGone}
			}
			r = again
		case mismatch:
			return remembered{}, Row{}, false, d.matches(r, a.payload)
		case Quarantined:
			d.note(ctx, EventQuarantined, r)
			return remembered{}, Row{}, false,
				&QuarantinedError{Key: a.key, Attempts: r.Attempt, Last: r.Error}
		}
		if err != nil {
			return remembered{}, Row{}, false, err
		}
	}
}

// firstLook reads the row where duplicates are many lately. What such a read says is taken only
// where it saves a claim: it may be a moment old. It is never so old that it shows what this
// process has invalidated.
func (d *Deduplicator[ID, R]) firstLook(ctx context.Context, a *request) (Row, error) {
	if !d.lately.looks() {
		return Row{}, nil
	}
	r, err := d.store.Row(ctx, a.key, false)
	if err != nil || d.cache.forgot(r) {
		return Row{}, err
	}
	status := d.judge(r, a.payload, d.options.Now())
	if status == Completed || status == Running {
		return r, nil
	}
	return Row{}, nil
}

// claim tries to become the owner of the key. seen is the expired row to replace, else the zero
// Row. It returns the row that is stored afterwards.
//
// A claim whose response was lost is found by its token; its lease counts from when it was sent. If
// the lease has run out when the response arrives, the caller owns nothing.
func (d *Deduplicator[ID, R]) claim(ctx context.Context, a *request, seen Row,
	now time.Time) (Row, bool, error) {
	lease, err := d.leaseFor(ctx)
	if err != nil {
		return Row{}, false, err
	}
	c := Claim{
		Key: a.key, Token: d.options.NewToken(), Now: now, Margin: d.options.Margin,
		LeaseUntil: now.Add(lease), Payload: a.payload, MaxAttempts: int64(d.options.MaxAttempts),
	}
	c.ValidUntil, c.ExpiresOn = d.validity(now, c.LeaseUntil)
	a.shared.expect(c.LeaseUntil)
	var r Row
	var claimed bool
	if seen.Exists() && seen.expired(now) {
		r, claimed, err = d.store.Swap(ctx, seen, c.row(seen))
	} else {
		r, claimed, err = d.store.Claim(ctx, c)
	}
	if err != nil {
		return Row{}, false, err
	}
	mine := claimed || r.Token == c.Token && !r.completed()
	if !mine || !r.LeaseUntil.After(d.options.Now()) {
		return r, false, nil
	}
	if r.Attempt > 1 {
		d.note(ctx, EventTakenOver, r)
	}
	d.note(ctx, EventNew, r)
	return r, true, nil
}

// wait looks again and again until the owner of a row is done or may be replaced. It returns the
// row if it is completed, else the zero Row: the caller then claims, and the claim says what is so.
//
// The looks are not strong. One that shows a lower fence than was seen already is older than that,
// and ignored.
func (d *Deduplicator[ID, R]) wait(ctx context.Context, a *request,
	seen Row) (found Row, err error) {
	ctx, end := d.begin(ctx, "poll", a.key)
	defer func() { end(err) }()
	for {
		a.shared.expect(seen.LeaseUntil)
		left := d.patience(ctx, a)
		if left <= 0 {
			d.note(ctx, EventStillRunning, seen)
			return Row{}, &StillRunningError{Key: a.key, Until: seen.LeaseUntil}
		}
		delay := min(d.delay(a.looks, seen), left)
		if err := d.options.Sleep(ctx, delay); err != nil {
			return Row{}, &StillRunningError{Key: a.key, Until: seen.LeaseUntil, Cause: err}
		}
		a.waited += delay
		a.looks++
		r, err := d.store.Row(ctx, a.key, false)
		if err != nil {
			return Row{}, err
		}
		d.note(ctx, EventLooked, r)
		if r.Fence < seen.Fence {
			r = seen
		}
		switch d.judge(r, a.payload, d.options.Now()) {
		case Running:
			seen = r
		case Completed:
			d.note(ctx, EventWaited, r)
			return r, nil
		default:
			return Row{}, nil
		}
	}
}

// patience is how much longer a call may wait: as the options say, and not so long that no time is
// left to answer.
func (d *Deduplicator[ID, R]) patience(ctx context.Context, a *request) time.Duration {
	left := d.options.longestWait() - a.waited
	if deadline, has := ctx.Deadline(); has {
		left = min(left, time.Until(deadline)-beforeDeadline)
	}
	return max(left, 0)
}
