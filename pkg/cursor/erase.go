package cursor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/pkg/table"
)

// ErrErased: the queue was erased, and takes nothing any more. What comes of it is an InvalidError
// of the queue, which is no caller's to repair.
var ErrErased = errors.New("the queue was erased")

// EraseGrace is how long after a queue was erased what is stored is looked at once more before the
// queue counts as empty: longer than a writer goes by a cursor that it remembers, and than an
// invocation runs, with a quarter of an hour for clocks. A later write is found by the messages'
// stream, and by the full round of each sweep.
const EraseGrace = memoAge + 30*time.Minute

// Erasure is what is left of a queue that was erased.
type Erasure struct {
	// At is when it was asked for, to the millisecond; Op what it was called.
	At time.Time `ddb:"erased"`
	Op string    `ddb:"eraseOp"`
	// Last is the position that the queue had.
	Last int64 `ddb:"lastSeq"`
	// Emptied is when nothing of it was stored any more, to the millisecond; the zero time before.
	Emptied time.Time `ddb:"emptied,omitzero"`
}

// Erased reports whether the queue was erased.
func (c Cursor) Erased() bool { return !c.Erasure.At.IsZero() }

// Erase makes a queue take nothing any more, for ever, and returns its cursor: a stub. A queue that
// was never put to is ErrNoQueue. What is stored is deleted by EraseMore, which the sweep calls
// too. 1 write.
//
// In synchronous mode and in arrival order, no put that begins after Erase has returned is answered
// as stored, but for one whose answer is Deferred, as the cursor did not answer. In asynchronous
// mode a Sorter that remembers the queue may answer so for half an hour. What these have stored is
// not delivered, and is deleted.
//
// Lost response, another did it first: the repeat finds the stub. We die right after: the sweep
// deletes.
func (s *Sorter) Erase(ctx context.Context, queue, op string) (Cursor, error) {
	if err := ValidateQueue(queue); err != nil {
		return Cursor{}, err
	}
	s.seen.forget(queue)
	return existing(s.store.MarkErased(ctx, queue, op, s.now()))
}

// ErasureOf reads strongly how far the erasing of a queue is: the cursor's Erasure is zero where it
// was not asked for.
func (s inside) ErasureOf(ctx context.Context, queue string) (Cursor, error) {
	if err := ValidateQueue(queue); err != nil {
		return Cursor{}, err
	}
	return existing(s.store.Cursor(ctx, queue, true))
}

// Remains is how much is stored of a queue.
type Remains struct {
	// Messages counts tombstones and order items too: it is what is there to delete.
	Messages, Arrivals int
	// More says that there may be more than that.
	More bool
}

// maxCountPages bounds what a count reads of each table: pages of 1 MB.
const maxCountPages = 8

// Remaining counts what is stored of a queue, a bounded part of it.
func (s inside) Remaining(ctx context.Context, queue string) (Remains, error) {
	messages, moreMessages, err := s.count(ctx, s.store.messages, queue)
	if err != nil {
		return Remains{}, err
	}
	arrivals, moreArrivals, err := s.count(ctx, s.store.arrivals, queue)
	return Remains{Messages: messages, Arrivals: arrivals, More: moreMessages || moreArrivals}, err
}

func (s *Sorter) count(ctx context.Context, in *table.Definition,
	queue string) (n int, more bool, err error) {
	var keys []ddb.Item
	var after ddb.Item
	more = true
	for page := 0; more && page < maxCountPages; page++ {
		if keys, more, err = s.store.Keys(ctx, in, queue, after, 0, false); err != nil {
			return n, true, err
		}
		if n += len(keys); len(keys) > 0 {
			after = keys[len(keys)-1]
		}
	}
	return n, more, nil
}

// Queues reads a page of at most so many of all queues, in no order, behind one of them: those that
// were erased too, and those that cannot be read in Unreadable. 1 read unit for about 70.
func (s *Sorter) Queues(ctx context.Context, after string, limit int) (cursorPage, error) {
	return s.store.Cursors(ctx, cursorScan{Segments: 1, After: after, Limit: limit})
}

// EraseMore deletes what is stored of an erased queue, for half of the time that the context has
// left, and returns how much it deleted; More is false where nothing is left. others, where it is
// not nil, deletes what others have stored of the queue, and reports whether something of it is
// left. Where one part fails, the other parts go all the same.
//
// It finds what is to be deleted by looking: so it may be stopped anywhere, and run by any number
// at once.
//
// It costs a query over the keys of what is stored, which is priced as the whole, and a write unit
// for each KB. Once nothing was left, the look is not strong, and one read unit: what came later is
// found by the next day's.
func (s inside) EraseMore(ctx context.Context, c Cursor,
	others func(context.Context, Cursor) (left bool, err error)) (Remains, error) {
	goOn := margin.Half(ctx)
	var left bool
	var failed error
	if others != nil {
		left, failed = others(ctx, c)
	}
	sure := c.Erasure.Emptied.IsZero()
	messages, moreMessages, errMessages := s.eraseTable(ctx, s.store.messages, c.Queue, sure, goOn)
	arrivals, moreArrivals, errArrivals := s.eraseTable(ctx, s.store.arrivals, c.Queue, sure, goOn)
	return Remains{
		Messages: messages, Arrivals: arrivals, More: left || failed != nil ||
			moreMessages || moreArrivals,
	}, errors.Join(failed, errMessages, errArrivals)
}

// erasePage is how many items are deleted between two looks at the time: 25 in each of the requests
// that are made side by side, so that a partition's 1,000 write units a second are not all taken.
const erasePage = 500

// eraseTable deletes what a table has of a queue until a look shows none, a strong one where it is
// to be sure. It returns how much it deleted, and whether there may be more.
func (s *Sorter) eraseTable(
	ctx context.Context, in *table.Definition, queue string, sure bool, goOn func() bool,
) (deleted int, more bool, err error) {
	var after ddb.Item
	for strong := false; goOn(); {
		keys, more, err := s.store.Keys(ctx, in, queue, after, erasePage, strong)
		if err != nil {
			return deleted, true, err
		}
		if len(keys) == 0 && !more && (strong || !sure) && !after.Exists() {
			return deleted, false, nil
		}
		n, err := s.deleteSideBySide(ctx, in, keys)
		if deleted += n; err != nil {
			return deleted, true, err
		}
		if after, strong = (ddb.Item{}), true; more {
			after, strong = keys[len(keys)-1], false
		}
	}
	return deleted, true, nil
}

// deleteSideBySide deletes the items of these keys, 25 a request, and returns how many are gone.
// What the server leaves undone is found by the next look; where that is all, it is ErrThrottled.
func (s *Sorter) deleteSideBySide(ctx context.Context, in *table.Definition,
	keys []ddb.Item) (int, error) {
	requests := slices.Collect(slices.Chunk(keys, maxDelete))
	gone, errs := make([]int, len(requests)), make([]error, len(requests))
	s.forEach(len(requests), func(i int) {
		left, err := s.store.DeleteKeys(ctx, in, requests[i])
		if gone[i], errs[i] = len(requests[i])-left, err; err != nil {
			gone[i] = 0
		}
	})
	total := 0
	for _, g := range gone {
		total += g
	}
	err := errors.Join(errs...)
	if err == nil && len(keys) > 0 && total == 0 {
		err = ErrThrottled
	}
	return total, err
}

// deleteMessages deletes what is known to be stored under seqs of a queue, and returns how much is
// gone: all, or there is an error.
func (s *Sorter) deleteMessages(ctx context.Context, queue string, known []int64) (int, error) {
	seqs := slices.Compact(slices.Sorted(slices.Values(known)))
	keys := make([]ddb.Item, len(seqs))
	for i, seq := range seqs {
		keys[i] = s.store.messageKey(queue, seq)
	}
	n, err := s.deleteSideBySide(ctx, s.store.messages, keys)
	if err == nil && n < len(keys) {
		err = ErrThrottled
	}
	return n, err
}
