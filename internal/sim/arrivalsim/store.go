package arrivalsim

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// store is the tables as one process sees them. What is not here, queues in
// arrival order do not ask for, or it decides nothing.
type store struct {
	*cursor.Memory
	*model
	p *sim.Proc
}

var _ cursor.Store = (*store)(nil)

// cursorAnswer is a cursor, whether a write had its effect, and when: what a
// process remembers of a cursor has an age.
type cursorAnswer struct {
	cursor.Cursor
	done bool
	at   time.Time
}

// Hash implements [sim.Hasher].
func (a cursorAnswer) Hash(d *sim.Digest) {
	hashCursor(d, a.Cursor)
	d.Bool(a.done)
	d.Int(a.at.Unix())
}

// String is for traces: the entries of a tail are no text.
func (a cursorAnswer) String() string {
	return fmt.Sprintf("position %d, tail of %d entries from %d, done %v", a.Position, a.Tail.Len(), a.TailFrom, a.done)
}

func hashCursor(d *sim.Digest, c cursor.Cursor) {
	d.Int(c.Position)
	d.Int(c.TailFrom)
	d.Text(string(c.Tail))
	d.Int(c.PrintsFrom)
	d.Text(string(c.Prints))
	d.Int(c.GapSince.Unix())
}

func hashArrival(d *sim.Digest, a cursor.Arrival) {
	d.Text(string(a.Op))
	d.Int(a.Seen)
	d.Int(a.ExpiresOn.Unix())
	d.Int(int64(len(a.Messages)))
	d.Text(string(a.Digest))
}

// writeCursor is a write of the cursor.
func (s *store) writeCursor(label sim.Label, request func() (cursor.Cursor, bool, error)) (cursor.Cursor, bool, error) {
	answer, err := sim.Do(s.p, label, true, func() (cursorAnswer, error) {
		s.changed = true
		c, done, err := request()
		return cursorAnswer{c, done, s.now}, err
	})
	return answer.Cursor, answer.done, err
}

func (s *store) CreateCursor(ctx context.Context, c cursor.Cursor) (cursor.Cursor, error) {
	there, _, err := s.writeCursor(sim.Labelf("create cursor"), func() (cursor.Cursor, bool, error) {
		there, err := s.Memory.CreateCursor(ctx, c)
		return there, true, err
	})
	return there, err
}

func (s *store) Cursor(ctx context.Context, queue string, strong bool) (cursor.Cursor, error) {
	var older []func() (cursorAnswer, error)
	if !strong && len(s.seen) > 1 {
		older = append(older, func() (cursorAnswer, error) { return cursorAnswer{s.seen[0], true, s.now}, nil })
	}
	answer, err := sim.Read(s.p, sim.Labelf("get cursor, strong %v", strong), func() (cursorAnswer, error) {
		c, err := s.Memory.Cursor(ctx, queue, strong)
		return cursorAnswer{c, true, s.now}, err
	}, older...)
	return answer.Cursor, err
}

// arrivalAnswer is what stands there after a put; mine tells whether it is the
// very one that was put.
type arrivalAnswer struct {
	cursor.Arrival
	mine bool
}

// String is for traces.
func (a arrivalAnswer) String() string {
	return fmt.Sprintf("%s, seen %d, expires %s, mine %v", a.ID, a.Seen, a.ExpiresOn.Format(time.TimeOnly), a.mine)
}

// Hash implements [sim.Hasher].
func (a arrivalAnswer) Hash(d *sim.Digest) {
	hashArrival(d, a.Arrival)
	d.Bool(a.mine)
}

func (s *store) PutArrival(ctx context.Context, a cursor.Arrival) (cursor.Arrival, error) {
	answer, err := sim.Do(s.p, sim.Labelf("put %s, seen %d", a.ID, a.Seen), true, func() (arrivalAnswer, error) {
		s.changed = true
		before, there := s.stored(cursor.HashOf(a.ID))
		answer, err := s.Memory.PutArrival(ctx, a)
		after, _ := s.stored(cursor.HashOf(a.ID))
		if there && (before.ExpiresOn.IsZero() || before.ExpiresOn.After(s.now)) && !bytes.Equal(before.Op, after.Op) {
			s.run.Violation("S4: what is stored under %s was replaced", a.ID)
		}
		return arrivalAnswer{answer, bytes.Equal(answer.Op, a.Op)}, err
	})
	return answer.Arrival, err
}

func (s *store) Ticket(ctx context.Context, queue string, entries cursor.Tail, seen cursor.Range, now time.Time) (cursor.Cursor, bool, error) {
	return s.writeCursor(sim.Labelf("ticket for %d, seen %d", entries.Len(), seen.From), func() (cursor.Cursor, bool, error) {
		before := s.cursor()
		after, done, err := s.Memory.Ticket(ctx, queue, entries, seen, now)
		if done {
			s.given(before, after)
		}
		return after, done, err
	})
}

func (s *store) PutOrderItem(ctx context.Context, o cursor.OrderItem) (cursor.OrderItem, error) {
	_, err := sim.Do(s.p, sim.Labelf("put order item up to %d", o.Last), true, func() (bool, error) {
		s.changed = true
		there, err := s.Memory.PutOrderItem(ctx, o)
		if there.Entries != o.Entries {
			s.run.Violation("O2: two order items up to %d", o.Last)
		}
		return true, err
	})
	return o, err
}

func (s *store) TrimTail(ctx context.Context, seen cursor.Cursor) (cursor.Cursor, bool, error) {
	return s.writeCursor(sim.Labelf("trim tail from %d", seen.TailFrom), func() (cursor.Cursor, bool, error) {
		return s.Memory.TrimTail(ctx, seen)
	})
}

type orderAnswer struct{ cursor.OrderPage }

// String is for traces.
func (a orderAnswer) String() string {
	text := ""
	for _, o := range a.Items {
		text += fmt.Sprintf("%d-%d ", o.Last-o.Entries.Seqs()+1, o.Last)
	}
	return text
}

// Hash implements [sim.Hasher].
func (a orderAnswer) Hash(d *sim.Digest) {
	for _, o := range a.Items {
		d.Int(o.Last)
		d.Text(string(o.Entries))
	}
	d.Bool(a.More)
}

func (s *store) OrderItems(ctx context.Context, query cursor.Query) (cursor.OrderPage, error) {
	page := func() (orderAnswer, error) {
		page, err := s.Memory.OrderItems(ctx, query)
		return orderAnswer{page}, err
	}
	var older []func() (orderAnswer, error)
	if !query.Strong {
		// One that is not strong may miss the first one, the last one, or all.
		for _, shown := range []func(items []cursor.OrderItem) []cursor.OrderItem{
			func(items []cursor.OrderItem) []cursor.OrderItem { return items[min(1, len(items)):] },
			func(items []cursor.OrderItem) []cursor.OrderItem { return items[:max(len(items)-1, 0)] },
			func([]cursor.OrderItem) []cursor.OrderItem { return nil },
		} {
			older = append(older, func() (orderAnswer, error) {
				answer, err := page()
				answer.Items = shown(answer.Items)
				return answer, err
			})
		}
	}
	answer, err := sim.Read(s.p, sim.Labelf("order items from %d to %d, strong %v", query.First, query.Last, query.Strong), page, older...)
	return answer.OrderPage, err
}

type arrivalsAnswer []cursor.Arrival

// String is for traces.
func (a arrivalsAnswer) String() string {
	text := ""
	for _, found := range a {
		text += found.ID + " "
	}
	return text
}

// Hash implements [sim.Hasher].
func (a arrivalsAnswer) Hash(d *sim.Digest) {
	for _, found := range a {
		hashArrival(d, found)
	}
}

func (s *store) Arrivals(ctx context.Context, query cursor.ArrivalQuery) ([]cursor.Arrival, []cursor.Hash, error) {
	read := func() (arrivalsAnswer, error) {
		found, _, err := s.Memory.Arrivals(ctx, query)
		return found, err
	}
	var older []func() (arrivalsAnswer, error)
	if !query.Strong {
		older = append(older, func() (arrivalsAnswer, error) {
			found, err := read()
			return found[:max(len(found)-1, 0)], err
		})
	}
	answer, err := sim.Read(s.p, sim.Labelf("%d arrivals, strong %v", len(query.Keys), query.Strong), read, older...)
	return answer, nil, err
}

func (s *store) KeepArrival(ctx context.Context, queue string, key cursor.Hash, seen int64, until time.Time) (bool, error) {
	return sim.Do(s.p, sim.Labelf("keep arrival %x", key[:2]), true, func() (bool, error) {
		s.changed = true
		return s.Memory.KeepArrival(ctx, queue, key, seen, until)
	})
}

func (s *store) KeepUntil(ctx context.Context, queue string, seq int64, until time.Time) (bool, error) {
	return sim.Do(s.p, sim.Labelf("keep order item up to %d", seq), true, func() (bool, error) {
		s.changed = true
		return s.Memory.KeepUntil(ctx, queue, seq, until)
	})
}
