package cursor

import (
	"context"
	"time"
)

// KeepUndelivered pushes the expiry of every message after a seq forward once half
// the retention is gone, so that none is deleted before it was passed and every
// consumer is past it, and returns how many it pushed.
// after is the lowest seq that a consumer is at, or the position where there is
// none. Run it for every queue at least once in a quarter of the retention:
// then a message also outlives its passing by a quarter, by which late duplicates
// are known.
//
// It costs a strong query over all that it looks at, and one write a message
// that is pushed.
func (s *Sorter) KeepUndelivered(ctx context.Context, queue string, after int64) (int, error) {
	if s.retention == 0 {
		return 0, nil
	}
	cur, arrival, err := s.arrivalQueue(ctx, queue, MaxSeq)
	if err != nil {
		return 0, err
	}
	if arrival {
		return s.keepArrivals(ctx, cur, after)
	}
	pushed := 0
	for next := after; next < MaxSeq; {
		page, err := s.store.Messages(ctx, Query{
			Queue: queue, First: next + 1, Last: MaxSeq, Limit: maxBatchSize, Strong: true, HeadsOnly: true,
		})
		if err != nil {
			return pushed, err
		}
		for _, m := range page.Messages {
			next = m.Seq
			if !s.keepDue(m) {
				continue
			}
			if _, err := s.store.KeepUntil(ctx, queue, m.Seq, s.expiry()); err != nil {
				return pushed, err
			}
			pushed++
		}
		if !page.More {
			break
		}
	}
	return pushed, nil
}

// keepDue reports whether a message's expiry has to be pushed forward, where
// the message is needed.
func (s *Sorter) keepDue(m Message) bool { return s.expiresSoon(m.ExpiresOn) }

func (s *Sorter) expiresSoon(expiresOn time.Time) bool {
	return s.retention > 0 && !expiresOn.IsZero() && expiresOn.Before(s.now().Add(s.retention/2))
}

// KeepBack makes sure that what lies before upTo is stored and stays so: it
// walks down to the message behind after, and pushes each expiry that is due.
// It returns the first seq, from above, that is not stored, and after where
// none is missing: everything from there up to upTo is there, and kept for half
// the retention at least.
//
// It walks down because messages expire from below: what it has passed stays
// whole while it goes on. It costs a strong query over all that it looks at,
// and one write a message that is pushed.
func (s *Sorter) KeepBack(ctx context.Context, queue string, after, upTo int64) (missing int64, err error) {
	cur, arrival, err := s.arrivalQueue(ctx, queue, upTo)
	if err != nil {
		return 0, err
	}
	if arrival {
		return s.keepArrivalsBack(ctx, cur, after, upTo)
	}
	for expect := upTo; expect > after; {
		page, err := s.store.Messages(ctx, Query{
			Queue: queue, First: after + 1, Last: expect, Strong: true, Backwards: true, HeadsOnly: true,
		})
		if err != nil {
			return 0, err
		}
		for _, m := range page.Messages {
			if m.Seq != expect {
				return expect, nil
			}
			if s.keepDue(m) {
				there, err := s.store.KeepUntil(ctx, queue, m.Seq, s.expiry())
				if err != nil {
					return 0, err
				}
				if !there {
					return expect, nil
				}
			}
			expect--
		}
		if !page.More && expect > after {
			return expect, nil
		}
	}
	return after, nil
}

// Oldest is the lowest seq of a queue that is stored, and its head; found is
// false where nothing is.
func (s *Sorter) Oldest(ctx context.Context, queue string) (head Message, found bool, err error) {
	cur, arrival, err := s.arrivalQueue(ctx, queue, MaxSeq)
	if err != nil {
		return Message{}, false, err
	}
	if arrival {
		return s.oldestArrival(ctx, cur)
	}
	page, err := s.store.Messages(ctx, Query{Queue: queue, First: 0, Last: MaxSeq, Limit: 1, Strong: true, HeadsOnly: true})
	if err != nil || len(page.Messages) == 0 {
		return Message{}, false, err
	}
	return page.Messages[0], true, nil
}

// Nudge wakes up whoever is behind the cursors' stream: a record of an advance
// over nothing. 1 write.
func (s *Sorter) Nudge(ctx context.Context, queue string) error {
	return s.store.Nudge(ctx, queue, s.now())
}

// DeleteAfter is how long a message outlives the moment at which the last
// consumer was known to be past it, where delivered messages are deleted: a
// writer that remembers an older position must still find it, or a late
// duplicate would be stored anew and never be handed on.
const DeleteAfter = 2 * memoAge

// RaiseFloor notes that every consumer is past a seq: nobody can be set back
// behind it from then on. It returns the cursor as it is then. 1 write.
func (s *Sorter) RaiseFloor(ctx context.Context, queue string, floor int64) (Cursor, error) {
	return s.store.RaiseFloor(ctx, queue, floor, s.now())
}

// DeleteUpTo deletes what is stored up to a seq, at most limit messages, and
// returns how many. The seq must be at or under the queue's floor for
// DeleteAfter at least. It costs a strong query over what it deletes, and one
// write unit for each KB.
//
// Of a queue in arrival order it deletes nothing: an arrival stays for its
// retention, because a repeat is known by it.
func (s *Sorter) DeleteUpTo(ctx context.Context, queue string, upTo int64, limit int) (int, error) {
	if _, arrival, err := s.arrivalQueue(ctx, queue, upTo); err != nil || arrival {
		return 0, err
	}
	deleted := 0
	for deleted < limit {
		page, err := s.store.Messages(ctx, Query{
			Queue: queue, First: 0, Last: upTo, Limit: min(maxDelete, limit-deleted), Strong: true, HeadsOnly: true,
		})
		if err != nil || len(page.Messages) == 0 {
			return deleted, err
		}
		seqs := make([]int64, len(page.Messages))
		for i, m := range page.Messages {
			seqs[i] = m.Seq
		}
		left, err := s.store.DeleteMessages(ctx, queue, seqs)
		deleted += len(seqs) - len(left)
		if err != nil {
			return deleted, err
		}
		if len(left) > 0 {
			return deleted, ErrThrottled
		}
		if !page.More {
			break
		}
	}
	return deleted, nil
}
