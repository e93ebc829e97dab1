package dedup

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// flights are the keys that calls of this process are busy with: one of them asks the table, and
// the others wait for the answer.
type flights struct {
	mu sync.Mutex
	of map[Key]*flight
}

type flight struct {
	// ended is closed when the call is over. found, where the call has found out how the effect
	// ended, is read only then.
	ended chan struct{}
	found remembered

	mu    sync.Mutex
	until time.Time
}

// expect notes until when the owner may hold the key.
func (f *flight) expect(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = until
}

func (f *flight) expected() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until
}

// left is how long until the key can be taken, even if the call goes on: its effect may never
// return. At first it is unknown.
func (f *flight) left(now time.Time, margin time.Duration) time.Duration {
	until := f.expected()
	if until.IsZero() {
		return longestLease
	}
	return max(until.Add(margin).Sub(now), 0)
}

// join returns the flight of a key, and whether it is the caller's own to end. One whose lease is
// over is not joined.
func (f *flights) join(k Key, now time.Time, margin time.Duration) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.of[k]; other != nil && other.left(now, margin) > 0 {
		return other, false
	}
	own := &flight{ended: make(chan struct{})}
	if f.of == nil {
		f.of = map[Key]*flight{}
	}
	f.of[k] = own
	return own, true
}

// end ends the caller's own flight, if it has one: those who wait for it go on.
func (f *flights) end(k Key, own *flight) {
	if own == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[k] == own {
		delete(f.of, k)
	}
	close(own.ended)
}

// enter is the start of a call: it finds in this process how the effect ended, or makes the caller
// the one of this process that asks the table (a.shared, to be ended).
//
// Calls share what was found out, and neither a deadline nor an error: where the one that asks
// gives up or fails, or its lease is over, the next one asks.
func (d *Deduplicator[ID, R]) enter(ctx context.Context, a *request) (remembered, error) {
	for {
		// What another call has found out meanwhile may be here by now.
		if found, here := d.cache.get(a.key, d.options.Now()); here {
			return found, d.matches(found.row, a.payload)
		}
		f, first := d.flights.join(a.key, d.options.Now(), d.options.Margin)
		if first {
			if lease, err := d.leaseFor(ctx); err == nil {
				f.expect(d.options.Now().Add(lease))
			}
			a.shared = f
			return remembered{}, nil
		}
		over, err := d.follow(ctx, a, f)
		if err != nil {
			return remembered{}, err
		}
		if over && f.found.row.Exists() {
			d.note(ctx, EventWaited, f.found.row)
			return f.found, d.matches(f.found.row, a.payload)
		}
		if d.patience(ctx, a) <= 0 {
			return remembered{}, d.impatient(ctx, a.key, f)
		}
	}
}

// follow waits for another call of this process, for as long as this one may: until that one is
// over, or its lease is (false).
func (d *Deduplicator[ID, R]) follow(ctx context.Context, a *request, f *flight) (bool, error) {
	began := time.Now()
	defer func() { a.waited += time.Since(began) }()
	patience, left := d.patience(ctx, a), f.left(d.options.Now(), d.options.Margin)
	timer := time.NewTimer(min(patience, left))
	defer timer.Stop()
	select {
	case <-f.ended:
		return true, nil
	case <-timer.C:
		if left < patience {
			return false, nil
		}
	case <-ctx.Done():
	}
	return false, d.impatient(ctx, a.key, f)
}

// impatient is the error of a call whose wait for another one is over.
func (d *Deduplicator[ID, R]) impatient(ctx context.Context, k Key, f *flight) error {
	until := f.expected()
	d.note(ctx, EventStillRunning, Row{Key: k, LeaseUntil: until})
	return &StillRunningError{Key: k, Until: until, Cause: ctx.Err()}
}

// matches reports a payload that is not the row's.
func (d *Deduplicator[ID, R]) matches(r Row, payload []byte) error {
	if payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) {
		return &PayloadMismatchError{Key: r.Key}
	}
	return nil
}
