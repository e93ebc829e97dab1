package dedup

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"
)

// flights are the keys that calls of this process are busy with: one of them
// asks the table, and the others wait for what it is told.
type flights struct {
	mu sync.Mutex
	of map[Key]*flight
}

// flight is one such call.
type flight struct {
	// ended is closed when the call is over. found and err are read only then.
	ended chan struct{}
	found remembered
	err   error

	mu    sync.Mutex
	until time.Time
}

// expect notes until when whoever has the key may keep it.
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

// join returns the flight of a key, and whether it is the caller's own to end.
func (f *flights) join(k Key) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.of[k]; other != nil {
		return other, false
	}
	own := &flight{ended: make(chan struct{})}
	if f.of == nil {
		f.of = map[Key]*flight{}
	}
	f.of[k] = own
	return own, true
}

// end ends the caller's own flight: those who wait for it go on.
func (f *flights) end(k Key, own *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, k)
	close(own.ended)
}

// enter is the begin of a call: it finds in this process how the effect ended
// (found), or makes the caller the one of this process that asks the table
// (own, to be ended).
func (d *Deduplicator[ID, R]) enter(ctx context.Context, k Key, payload []byte) (found remembered, own *flight, err error) {
	waited := false
	var timeout <-chan time.Time
	for {
		// What another call has found out meanwhile may be here by now.
		if found, here := d.cache.get(k, d.options.Now()); here {
			return found, nil, d.matches(found.row, payload)
		}
		f, first := d.flights.join(k)
		if first {
			if lease, err := d.leaseFor(ctx); err == nil {
				f.expect(d.options.Now().Add(lease))
			}
			return remembered{}, f, nil
		}
		if !waited {
			waited = true
			timer := time.NewTimer(d.longestWait(ctx))
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-f.ended:
		case <-timeout:
			return remembered{}, nil, &StillRunningError{Key: k, Until: f.expected()}
		case <-ctx.Done():
			return remembered{}, nil, &StillRunningError{Key: k, Until: f.expected(), Cause: ctx.Err()}
		}
		var busy *StillRunningError
		switch {
		case f.found.row.Exists():
			d.note(ctx, EventWaited, f.found.row)
			return f.found, nil, d.matches(f.found.row, payload)
		case errors.As(f.err, &busy) && busy.Cause == nil:
			// It waited as long as any call does: to wait once more, one after
			// the other, helps nobody.
			return remembered{}, nil, busy
		}
	}
}

// matches reports a payload that is not the row's.
func (d *Deduplicator[ID, R]) matches(r Row, payload []byte) error {
	if payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) {
		return &PayloadMismatchError{Key: r.Key}
	}
	return nil
}
