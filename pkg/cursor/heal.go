package cursor

import (
	"context"
	"errors"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// Heal advances a queue's cursor over what is stored, where no writer did: after a crash, a lost
// response, or in asynchronous mode, where no writer moves it. known are seqs that are known to be
// stored, such as those named by records of the messages' stream.
//
// It costs one strong read where there is nothing to do.
//
// It moves the cursor a piece at a time, of at most 1,000 messages, and returns when nothing is
// left to move over. Where the context ends first, it returns that error and what was moved until
// then: call it again.
//
// In a queue that was erased it deletes what is known to be stored, and returns [ErrErased].
//
// Died right after any of its steps: what is left is what a writer leaves that dies there, and the
// next call, record or sweep takes it up.
func (s inside) Heal(ctx context.Context, queue string, known ...int64) (Advance, error) {
	advance, err := s.heal(ctx, queue, slices.Max(append([]int64{NoSeq}, known...)), false)
	if errors.Is(err, ErrErased) {
		if _, failed := s.deleteMessages(ctx, queue, known); failed != nil {
			return advance, failed
		}
	}
	return advance, err
}

// Recheck is Heal without anything known: it looks beyond the position even where nothing says that
// messages wait there. After a crash whose stream record was dropped there is no other trace. It
// costs two or three strong reads.
func (s inside) Recheck(ctx context.Context, queue string) (Advance, error) {
	return s.heal(ctx, queue, NoSeq, true)
}

// LeaveToSweep puts it on record that a message is stored that the cursor may not have moved over,
// so that the next run of the sweep heals the queue. It is ErrNoQueue for a queue that has no
// cursor yet. 1 write.
func (s inside) LeaveToSweep(ctx context.Context, queue string, seq int64) error {
	_, err := existing(s.store.LeaveToSweep(ctx, queue, seq, s.now()))
	return err
}

// Advance is what a call did to a queue.
type Advance struct {
	// Cursor is the queue's cursor as it was last seen.
	Cursor Cursor
	// Moves are the moves made: see Result.Moves.
	Moves []Range
}

// heal moves the cursor over what is stored, and puts the gap that stops it on record: up to known,
// where that is beyond it.
func (s *Sorter) heal(ctx context.Context, queue string, known int64,
	always bool) (Advance, error) {
	cur, err := s.readCursor(ctx, queue)
	if err == nil && !cur.Exists() {
		// Somebody wrote messages by another way than this package, or the cursor was lost.
		cur, err = s.create(ctx, queue, s.settingsOf(KindNumbered))
	}
	if err != nil {
		return Advance{}, err
	}
	if !numbered(cur) {
		return Advance{Cursor: cur}, nil // an allocation is the move itself
	}
	p := progress{cur: cur, fresh: true}
	defer func() {
		if p.aged {
			s.schedule(p.cur)
		}
	}()
	if !always && !cur.GapOpen() && known <= cur.Position {
		return Advance{Cursor: cur}, nil
	}
	for {
		beyond, err := s.sweepUp(ctx, always, &p)
		if err != nil {
			return Advance{p.cur, p.moves}, err
		}
		known = max(known, beyond)
		hole := p.cur.Position + 1
		if known > hole && !p.cur.onRecord(known) {
			if err := s.park(ctx, known, &p); err != nil {
				return Advance{p.cur, p.moves}, err
			}
		}
		if p.cur.Position+1 == hole && (known <= hole || p.cur.onRecord(known)) {
			return Advance{p.cur, p.moves}, nil
		}
	}
}

// sweepUp moves the cursor, a piece at a time, until a scan from where it stands is empty. It does
// not trust another mover to do the rest, for that one may have died; so it scans again after every
// move, whether the move was its own or not. It returns the highest of the first seqs that were
// seen beyond a hole, so that the gap is put on record; NoSeq where none was.
func (s *Sorter) sweepUp(ctx context.Context, always bool, p *progress) (beyond int64, err error) {
	for beyond = NoSeq; ; {
		look, err := s.scan(ctx, p, p.cur.Position)
		if err != nil {
			return beyond, err
		}
		if look.end == p.cur.Position {
			if always && !p.cur.GapOpen() {
				first, err := s.firstStored(ctx, p.cur)
				if err != nil {
					return beyond, err
				}
				look.beyond = first.Seq
			}
			if look.beyond > p.cur.Position {
				beyond = max(beyond, look.beyond)
			}
			return beyond, nil
		}
		if look.beyond > look.end {
			beyond = max(beyond, look.beyond)
		}
		if _, err := s.move(ctx, look, p); err != nil {
			return beyond, err
		}
	}
}

// firstStored reads the head of the first message or tombstone beyond the position. Its Seq is the
// position where none is stored.
func (s *Sorter) firstStored(ctx context.Context, cur Cursor) (Message, error) {
	heads, err := s.heads(ctx, cur, 1)
	if err != nil || len(heads) == 0 {
		return Message{Seq: cur.Position}, err
	}
	return heads[0], nil
}

// heads reads the heads of the first messages and tombstones beyond the position, at most limit.
func (s *Sorter) heads(ctx context.Context, cur Cursor, limit int) ([]Message, error) {
	if cur.Position == MaxSeq {
		return nil, nil
	}
	page, err := s.store.Messages(ctx, queuelog.Query{
		Queue: cur.Queue, First: cur.Position + 1, Last: MaxSeq, Limit: min(limit, maxBatchSize),
		Strong: true, HeadsOnly: true,
	})
	return page.Messages, err
}
