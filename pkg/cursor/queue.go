package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// Status reads a queue's cursor strongly. A queue that was never put to is ErrNoQueue.
func (s *Sorter) Status(ctx context.Context, queue string) (Cursor, error) {
	if err := ValidateQueue(queue); err != nil {
		return Cursor{}, err
	}
	return existing(s.readCursor(ctx, queue))
}

// Settings returns a queue's settings, which may be half an hour old; its kind and its key type
// never change. A queue that was never put to is ErrNoQueue. It makes no request where this Sorter
// has seen the queue in the last half hour, and a strong read otherwise.
func (s *Sorter) Settings(ctx context.Context, queue string) (Settings, error) {
	if cur, known := s.seen.get(queue); known {
		return cur.Settings, nil
	}
	cur, err := s.Status(ctx, queue)
	return cur.Settings, err
}

type waitCount struct {
	// Count is how many messages there are; More reports that there may be further ones, which were
	// not read.
	Count int
	More  bool
	// Oldest is when the first of them was stored; in a numbered queue, since when the gap counts.
	// Due is when that of a keyed queue is to have its place. Both are zero where none waits.
	Oldest, Due time.Time
}

func (w *waitCount) add(a Arrival, settle time.Duration) {
	if w.Count++; w.Count == 1 || a.EnqueuedAt.Before(w.Oldest) {
		w.Oldest, w.Due = a.EnqueuedAt, a.EnqueuedAt.Add(settle)
	}
}

// Waiting counts the messages that are stored and wait, as far as one request shows: behind the gap
// of a numbered queue, or for the settle window of a keyed one. It costs one query, not strong, of
// at most 1,000 messages and 1 MB; nothing where no gap is open, and in arrival order.
func (s *Sorter) Waiting(ctx context.Context, cur Cursor) (w waitCount, err error) {
	switch {
	case keyed(cur):
		page, err := s.store.Waiting(ctx, queuelog.WaitingQuery{Queue: cur.Queue, After: cur.High,
			UpTo: sortkey.EverySortKey, Limit: maxBatchSize, HeadsOnly: true})
		w.More = page.More
		for _, a := range page.Waiting {
			w.add(a, cur.Settings.Settle)
		}
		return w, err
	case !cur.GapOpen():
		return w, nil
	}
	page, err := s.store.Messages(ctx, queuelog.Query{
		Queue: cur.Queue, First: cur.Position + 1, Last: MaxSeq, Limit: maxBatchSize, HeadsOnly: true,
	})
	w.More, w.Oldest = page.More, cur.MovedAt
	for i, m := range page.Messages {
		if i == 0 {
			w.Oldest = cur.gapSince(m)
		}
		if m.Tombstone == "" {
			w.Count++
		}
	}
	return w, err
}

// Configure changes settings of a queue, or makes the queue with these settings and the Sorter's
// defaults for the others, and returns its cursor. First, Kind and KeyType can only be given while
// the queue is made: [ErrFixed] where they differ later. Other processes may go on with the
// settings that they remember for up to half an hour.
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
		canonical, err := sortkey.ParseKeyType(string(*change.KeyType))
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
		return fixed("kind", *c.Kind, there.Kind)
	case c.First != nil && *c.First != there.First:
		return fixed("first", *c.First, there.First)
	case there.Kind != KindKeyed:
		return c.checkUnkeyed()
	case c.checkAhead(there) != nil:
		return c.checkAhead(there)
	}
	return fixed("keyType", *c.KeyType, there.KeyType)
}
