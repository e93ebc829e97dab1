package cursor

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Sorter stores messages that arrive in any order and moves each queue's cursor over every gap-free
// run. A Sorter may be used by any number of goroutines, and any number of Sorters in any number of
// processes may work on the same tables.
type Sorter struct {
	store    *requests
	defaults Settings
	// retention is how long a message is retained after it was stored or last pushed forward; 0
	// means for ever.
	retention time.Duration
	now       func() time.Time
	newOp     func() []byte
	forEach   func(n int, do func(i int))
	wakeUp    func(queue string, due time.Time)
	moved     func(queue string, position int64)
	pause     func(ctx context.Context, most time.Duration) error
	seen      *seenCursors
}

// Options are the parts of a [Sorter] that have defaults. A nil Options means all of them.
type Options struct {
	// Defaults are the settings of queues that a put makes; nil means DefaultSettings().
	Defaults *Settings
	// Retention is how long a message is retained: 4 hours to 10 years, and 14 days where it is 0.
	// Messages that are not yet passed are retained longer, as long as the sweep runs. KeepForever
	// switches deletion off.
	Retention   time.Duration
	KeepForever bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// NewOp returns the mark of a put, 8 bytes that no other put has; nil means random ones.
	NewOp func() []byte
	// ForEach runs do(0) … do(n-1) and returns when all have returned: a group put stores its
	// messages through it, and a sweep walks its segments. nil means side by side, up to 64 at a
	// time; no operation starts a goroutine but by this. The simulator hands in one that runs them
	// one after the other.
	ForEach func(n int, do func(i int))
	// WakeUp, if not nil, is called with when a queue's gap will be as old as its policy allows, up
	// to an hour ahead: by the writer that opens the gap, by the visit that skips what is before
	// it, and by the sweep of those that are due later. The last call for a queue replaces those
	// before it. [Sorter.Wake] should be called then. Nothing depends on it: the sweep finds what
	// is due. It may be called from several goroutines at once, and must not wait for anything.
	WakeUp func(queue string, due time.Time)
	// Moved, if not nil, is called with the position that a queue has by a write of this Sorter.
	// Nothing depends on it: the stream of the cursors has each move. It may be called from several
	// goroutines at once, and must not wait for anything.
	Moved func(queue string, position int64)
	// Pause waits for a time that chance decides, from 0 to most, or returns the context's error:
	// who lost a move of a keyed queue to another does, before the next try. nil means a timer.
	Pause func(ctx context.Context, most time.Duration) error
}

const (
	defaultRetention = 14 * 24 * time.Hour
	// defaultBatchSize is the most messages that the first page of a look-ahead reads. It reads
	// fewer where they are large; each further page is twice as large as the one before, up to
	// maxBatchSize.
	defaultBatchSize = 25
	maxBatchSize     = 1000
)

// New returns a Sorter on the store, or an [InvalidError] that names the option that is out of its
// bounds.
func New(store *Store, options *Options) (*Sorter, error) {
	if options == nil {
		options = &Options{}
	}
	s := &Sorter{
		defaults:  DefaultSettings(),
		retention: defaultRetention,
		now:       options.Now,
		newOp:     options.NewOp,
		forEach:   options.ForEach,
		wakeUp:    options.WakeUp,
		moved:     options.Moved,
		pause:     options.Pause,
	}
	if store != nil { // without one, the options are checked
		s.store = &store.requests
	}
	if options.Defaults != nil {
		s.defaults = *options.Defaults
	}
	if err := s.defaults.validate(); err != nil {
		return nil, err
	}
	switch {
	case options.KeepForever:
		s.retention = 0
	case options.Retention != 0:
		s.retention = options.Retention
		if err := bounds.Check("retention", s.retention, MinRetention, MaxRetention); err != nil {
			return nil, err
		}
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.newOp == nil {
		s.newOp = func() []byte {
			op := make([]byte, 8)
			_, _ = rand.Read(op) // crypto/rand never fails: it ends the program instead
			return op
		}
	}
	if s.forEach == nil {
		s.forEach = fanout.SideBySide
	}
	if s.pause == nil {
		s.pause = func(ctx context.Context, most time.Duration) error {
			return pause.For(ctx, mathrand.N(most))
		}
	}
	s.seen = newSeenCursors(s.now)
	return s, nil
}

// inside are the steps of the sweep and of delivery.
type inside struct{ *Sorter }

// Inside are the steps of the sweep and of delivery one by one, for this module alone.
func (s *Sorter) Inside(queuelog.Inside) inside { return inside{s} }

// Defaults are the settings that a new queue gets.
func (s *Sorter) Defaults() Settings { return s.defaults }

// expiry is when a message that is stored or pushed forward now may be deleted. DynamoDB's TTL
// counts in whole seconds.
func (s *Sorter) expiry() time.Time {
	if s.retention == 0 {
		return time.Time{}
	}
	return time.Unix(s.now().Add(s.retention).Unix(), 0).UTC()
}

// readCursor is a strong read of a queue's cursor that is remembered.
func (s *Sorter) readCursor(ctx context.Context, queue string) (Cursor, error) {
	return s.remembering(func() (Cursor, error) { return s.store.Cursor(ctx, queue, true) })
}

// erasedSince is [ErrErased] where a queue was erased since it was remembered: that may be why
// nothing is stored under a seq that was passed. One strong read.
func (s *Sorter) erasedSince(ctx context.Context, queue string) error {
	if _, err := s.readCursor(ctx, queue); errors.Is(err, ErrErased) {
		return err
	}
	return nil
}

// remembering makes a request that returns a cursor, and remembers it with the time at which the
// request began: what it shows may be that old. The cursor of a queue that was erased is an error.
func (s *Sorter) remembering(request func() (Cursor, error)) (Cursor, error) {
	began := s.now()
	cur, err := request()
	switch {
	case err != nil || !cur.Exists():
		return cur, err
	case cur.Erased():
		s.seen.forget(cur.Queue)
		return Cursor{}, &InvalidError{Field: "queue", Code: invalid.Clash, Queue: cur.Queue,
			Problem: "was erased: its name cannot be used again", Err: ErrErased}
	}
	s.seen.put(cur, began)
	return cur, nil
}

// existing is a cursor that must be there: [ErrNoQueue] where it is not.
func existing(cur Cursor, err error) (Cursor, error) {
	if err == nil && !cur.Exists() {
		return Cursor{}, ErrNoQueue
	}
	return cur, err
}

// moving is remembering for a request that may move the position of a queue that is there, and
// reports whether it did.
func (s *Sorter) moving(request func() (Cursor, bool, error)) (cur Cursor, moved bool, err error) {
	cur, err = existing(s.remembering(func() (cur Cursor, err error) {
		cur, moved, err = request()
		return cur, err
	}))
	if err == nil && moved && s.moved != nil {
		s.moved(cur.Queue, cur.Position)
	}
	return cur, moved, err
}

// Glance reads a queue's cursor as it may have been a moment ago: half a read unit.
func (s inside) Glance(ctx context.Context, queue string) (Cursor, error) {
	return s.store.Cursor(ctx, queue, false)
}
