package cursor

import (
	"context"
	"time"
)

// Status reads a queue's cursor strongly. A queue that was never put to is
// ErrNoQueue.
func (s *Sorter) Status(ctx context.Context, queue string) (Cursor, error) {
	if err := ValidateQueue(queue); err != nil {
		return Cursor{}, err
	}
	cur, err := s.readCursor(ctx, queue)
	if err != nil {
		return Cursor{}, err
	}
	if !cur.Exists() {
		return Cursor{}, ErrNoQueue
	}
	return cur, nil
}

// Settings are a queue's settings, which may be half an hour old; its kind and its key type never
// change. A queue that was never put to is ErrNoQueue. It costs half a read unit where this Sorter
// has not seen the queue lately.
func (s *Sorter) Settings(ctx context.Context, queue string) (Settings, error) {
	if err := ValidateQueue(queue); err != nil {
		return Settings{}, err
	}
	cur, known := s.seen.get(queue)
	if !known {
		var err error
		if cur, err = s.remembering(func() (Cursor, error) { return s.store.Cursor(ctx, queue, false) }); err != nil {
			return Settings{}, err
		}
	}
	if !cur.Exists() {
		return Settings{}, ErrNoQueue
	}
	return cur.Settings, nil
}

// Parked counts the messages that are stored beyond the gap of a queue, as far as one
// request shows, and says since when the gap is there: more is true where there may be further ones. It costs nothing where no gap
// is open, else one query, not strong, of at most 1,000 messages and 1 MB.
func (s *Sorter) Parked(ctx context.Context, cur Cursor) (count int, since time.Time, more bool, err error) {
	if !cur.GapOpen() {
		return 0, time.Time{}, false, nil
	}
	page, err := s.store.Messages(ctx, Query{
		Queue: cur.Queue, First: cur.Position + 1, Last: MaxSeq, Limit: maxBatchSize, HeadsOnly: true,
	})
	since = cur.MovedAt
	for i, m := range page.Messages {
		if i == 0 {
			since = cur.gapSince(m)
		}
		if m.Tombstone == "" {
			count++
		}
	}
	return count, since, page.More, err
}

// Waits is what waits in a keyed queue.
type Waits struct {
	// Count is how many messages there are; More tells that there may be further ones, which
	// were not looked at.
	Count int
	More  bool
	// Oldest is when the first of them was stored, and Due when it is to have its place;
	// zero times where none waits.
	Oldest, Due time.Time
}

// add counts a message that waits.
func (w *Waits) add(a Arrival, settle time.Duration) {
	if w.Count++; w.Count == 1 || a.EnqueuedAt.Before(w.Oldest) {
		w.Oldest, w.Due = a.EnqueuedAt, a.EnqueuedAt.Add(settle)
	}
}

// Waiting counts the messages of a keyed queue that wait for their places, as far as one
// request shows. It costs one query, not strong, of at most 1,000 messages and 1 MB; nothing
// for other queues.
func (s *Sorter) Waiting(ctx context.Context, cur Cursor) (Waits, error) {
	if !keyed(cur) {
		return Waits{}, nil
	}
	page, err := s.store.Waiting(ctx, WaitingQuery{Queue: cur.Queue, After: cur.High, UpTo: EverySortKey, Limit: maxBatchSize, HeadsOnly: true})
	w := Waits{More: page.More}
	for _, a := range page.Waiting {
		w.add(a, cur.Settings.Settle)
	}
	return w, err
}

// Configure changes settings of a queue, or makes the queue with these
// settings and the Sorter's defaults for the others, and returns its cursor.
// First, Kind and KeyType can only be given while the queue is made: ErrFirstFixed,
// ErrKindFixed or ErrKeyTypeFixed where they differ later. Other processes may go on with the settings that they
// remember for up to half an hour.
//
// It costs one write, and two where the queue is new.
func (s *Sorter) Configure(ctx context.Context, queue string, change Change) (Cursor, error) {
	if err := ValidateQueue(queue); err != nil {
		return Cursor{}, err
	}
	if err := change.validate(); err != nil {
		return Cursor{}, err
	}
	if change.KeyType != nil {
		canonical, err := ParseKeyType(string(*change.KeyType))
		if err != nil {
			return Cursor{}, err
		}
		change.KeyType = &canonical
	}
	for {
		changed := false
		cur, err := s.remembering(func() (cur Cursor, err error) {
			cur, changed, err = s.store.Configure(ctx, queue, change)
			return cur, err
		})
		switch {
		case err != nil:
			return Cursor{}, err
		case changed:
			s.schedule(cur)
			return cur, nil
		case cur.Exists():
			return cur, change.refusedBy(cur.Settings)
		}
		settings := s.defaults.With(change).ofKind()
		if err := settings.checkNew(change); err != nil {
			return Cursor{}, err
		}
		cur, err = s.create(ctx, queue, settings)
		if err != nil {
			return Cursor{}, err
		}
		if cur.Settings == settings {
			return cur, nil
		}
		// Another made the queue first: change theirs.
	}
}

// refusedBy is why the change cannot be made to these settings.
func (c Change) refusedBy(there Settings) error {
	switch {
	case c.Kind != nil && *c.Kind != there.Kind:
		return fixed("kind", *c.Kind, there.Kind, ErrKindFixed)
	case c.First != nil && *c.First != there.First:
		return fixed("first", *c.First, there.First, ErrFirstFixed)
	case there.Kind != KindKeyed:
		return c.checkUnkeyed()
	case c.checkAhead(there) != nil:
		return c.checkAhead(there)
	}
	return fixed("keyType", *c.KeyType, there.KeyType, ErrKeyTypeFixed)
}

// Known reports whether a queue is there. It makes no request where this Sorter has
// seen the queue in the last half hour, and a strong read otherwise.
func (s *Sorter) Known(ctx context.Context, queue string) (bool, error) {
	if err := ValidateQueue(queue); err != nil {
		return false, err
	}
	if _, seen := s.seen.get(queue); seen {
		return true, nil
	}
	cur, err := s.readCursor(ctx, queue)
	return cur.Exists(), err
}
