package cursor

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// keptUpTo is what became of a piece of keeping.
type keptUpTo struct {
	// To is the seq that it came to; More reports that there is another piece behind it.
	To   int64
	More bool
	// Pushed is how many messages had their expiry pushed forward.
	Pushed int
}

// pieceSeqs is how many messages a piece of keeping looks at, at most: so many that looking costs a
// request for many, and so few that any invocation has time for one.
const pieceSeqs = maxBatchSize

// KeepUndelivered pushes the expiry of every message after a seq forward once half the retention is
// gone, so that none is deleted before it was passed and every consumer is past it. It does a piece
// of them, of a page at most: where there is more, call it again with To as after. after is first
// the lowest seq that a consumer is at, or the position without one. Run it for every queue at
// least once in a quarter of the retention: then a message also outlives its passing by a quarter,
// by which late duplicates are known.
//
// It costs a strong query over all that it looks at, and one write a message that is pushed, side
// by side.
func (s inside) KeepUndelivered(ctx context.Context, queue string, after int64) (keptUpTo, error) {
	if s.retention == 0 {
		return keptUpTo{To: after}, nil
	}
	cur, arrival, err := s.arrivalQueue(ctx, queue, MaxSeq)
	if err != nil {
		return keptUpTo{}, err
	}
	if arrival {
		return s.keepArrivals(ctx, cur, after)
	}
	page, err := s.store.Messages(ctx, queuelog.Query{
		Queue: queue, First: after + 1, Last: MaxSeq, Limit: pieceSeqs, Strong: true, HeadsOnly: true,
	})
	if err != nil {
		return keptUpTo{}, err
	}
	kept := keptUpTo{To: after, More: page.More}
	if n := len(page.Messages); n > 0 {
		kept.To = page.Messages[n-1].Seq
	}
	kept.Pushed, _, err = s.keepAll(ctx, queue, page.Messages)
	return kept, err
}

// keepAll pushes the expiry of each of the messages that is due. It returns how many it pushed, and
// the highest that is not there any more; -1 where none exists.
func (s *Sorter) keepAll(ctx context.Context, queue string,
	messages []Message) (pushed int, gone int64, err error) {
	due := slices.DeleteFunc(messages, func(m Message) bool { return !s.expiresSoon(m.ExpiresOn) })
	var mu sync.Mutex
	gone = -1
	s.forEach(len(due), func(i int) {
		mu.Lock()
		failed := err != nil
		mu.Unlock()
		if failed {
			return
		}
		there, errKeep := s.store.KeepUntil(ctx, queue, due[i].Seq, s.expiry())
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errKeep != nil:
			err = errKeep
		case there:
			pushed++
		default:
			gone = max(gone, due[i].Seq)
		}
	})
	return pushed, gone, err
}

// expiresSoon reports whether an expiry has to be pushed forward, where what expires is needed.
func (s *Sorter) expiresSoon(expiresOn time.Time) bool {
	return s.retention > 0 && !expiresOn.IsZero() && expiresOn.Before(s.now().Add(s.retention/2))
}

// KeepBack makes sure that what lies before upTo is stored and stays so: it walks down towards the
// message behind after, and pushes each expiry that is due. It handles one piece, of a page at
// most, and everything from behind To up to upTo is then there, and retained for half the retention
// at least. Where there is more, call it again with To as upTo. Where there is not, To is after, or
// the first seq, from above, that is not stored.
//
// It walks down because messages expire from below: what it has passed stays whole while it goes
// on. It costs a strong query over all that it looks at, and one write a message that is pushed,
// side by side.
func (s inside) KeepBack(ctx context.Context, queue string, after, upTo int64) (keptUpTo, error) {
	cur, arrival, err := s.arrivalQueue(ctx, queue, upTo)
	if err != nil {
		return keptUpTo{}, err
	}
	if upTo <= after {
		return keptUpTo{To: after}, nil
	}
	if arrival {
		return s.keepArrivalsBack(ctx, cur, after, upTo)
	}
	page, err := s.store.Messages(ctx, queuelog.Query{
		Queue: queue, First: after + 1, Last: upTo, Limit: pieceSeqs, Strong: true, Backwards: true,
		HeadsOnly: true,
	})
	if err != nil {
		return keptUpTo{}, err
	}
	run, to, whole := runDown(page.Messages, upTo)
	kept := keptUpTo{To: to, More: whole && page.More && to > after}
	var gone int64
	if kept.Pushed, gone, err = s.keepAll(ctx, queue, run); gone > kept.To {
		kept.To, kept.More = gone, false
	}
	return kept, err
}

// runDown is the run of what is stored from a seq downwards, as far as a page of what is at or
// under it shows, and the seq before the run; whole is false where something is missing there.
func runDown(page []Message, upTo int64) (run []Message, to int64, whole bool) {
	for _, m := range page {
		if m.Seq != upTo {
			break
		}
		run, upTo = append(run, m), m.Seq-1
	}
	return run, upTo, len(run) == len(page)
}

// Oldest is the lowest seq of a queue that is stored, and its head; found is false where nothing
// is.
func (s inside) Oldest(ctx context.Context, queue string) (head Message, found bool, err error) {
	cur, arrival, err := s.arrivalQueue(ctx, queue, MaxSeq)
	if err != nil {
		return Message{}, false, err
	}
	if arrival {
		return s.oldestArrival(ctx, cur)
	}
	page, err := s.store.Messages(ctx,
		queuelog.Query{Queue: queue, First: 0, Last: MaxSeq, Limit: 1, Strong: true, HeadsOnly: true})
	if err != nil || len(page.Messages) == 0 {
		return Message{}, false, err
	}
	return page.Messages[0], true, nil
}

// Notify wakes up the readers of the cursors' stream: a record of an advance over nothing. 1 write.
func (s *Sorter) Notify(ctx context.Context, queue string) error {
	return s.store.Notify(ctx, queue, s.now())
}

// DeleteAfter is how long a message outlives the moment at which the last consumer was known to be
// past it, where delivered messages are deleted: a writer that remembers an older position must
// still find it, or a late duplicate would be stored again and never be delivered.
const DeleteAfter = 2 * memoAge

// RaiseFloor notes that every consumer is past a seq: nobody can be set back behind it from then
// on. It returns the cursor as it is then. 1 write.
func (s inside) RaiseFloor(ctx context.Context, queue string, floor int64) (Cursor, error) {
	return s.store.RaiseFloor(ctx, queue, floor, s.now())
}

// DeleteUpTo deletes what is stored up to a seq, at most limit items, and returns how many. The seq
// must be at or under the queue's floor for DeleteAfter at least. It costs a strong query over what
// it deletes, and one write unit for each KB.
//
// Strong, though a message that is missed is deleted by a later call: nothing says that a read that
// is not strong ever shows one, and a fortieth of the deletion's costs would be saved.
//
// In a queue in arrival order it deletes nothing: an arrival stays for its retention, because a
// repeat is known by it.
func (s inside) DeleteUpTo(ctx context.Context, queue string, upTo int64, limit int) (int, error) {
	_, arrival, err := s.arrivalQueue(ctx, queue, upTo)
	if err != nil || arrival {
		return 0, err
	}
	deleted := 0
	for deleted < limit {
		page, err := s.store.Messages(ctx, queuelog.Query{
			Queue: queue, First: 0, Last: upTo, Limit: min(maxDelete, limit-deleted), Strong: true,
			HeadsOnly: true,
		})
		if err != nil {
			return deleted, err
		}
		var seqs []int64
		for _, m := range page.Messages {
			seqs = append(seqs, m.Seq)
		}
		n, err := s.deleteMessages(ctx, queue, seqs)
		if deleted += n; err != nil || n == 0 || !page.More {
			return deleted, err
		}
	}
	return deleted, nil
}
