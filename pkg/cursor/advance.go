package cursor

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
)

type progress struct {
	// cur is the last cursor seen, fresh whether it was seen after the messages that are known to
	// be stored were.
	cur   Cursor
	fresh bool
	// glance is how many messages one read unit is likely to show; 0 where nothing is known of
	// their size.
	glance int
	// full is set when the last look at the messages ended before the run did.
	full bool
	// behind is set when a move of ours found a gap open: what was stored beyond it meanwhile may
	// be on no record.
	behind bool
	// pieces is how many more full pieces it moves over behind what was known; 0 where that does
	// not matter.
	pieces int
	// aged reports that a write of ours set the age of the queue's gap.
	aged bool
	// moves are the moves made, touching ones joined.
	moves []Range
	// err is why the advance did not end.
	err error
}

func (p *progress) moved(from, to int64) {
	if last := len(p.moves) - 1; last >= 0 && p.moves[last].To == from {
		p.moves[last].To = to
		return
	}
	p.moves = append(p.moves, Range{from, to})
}

// advance moves the cursor as far as the messages that are known to be stored (own) and those found
// behind them reach, and records the gap that stops it.
func (s *Sorter) advance(ctx context.Context, own seqSet, p *progress) error {
	highest := NoSeq
	for seq := range own {
		highest = max(highest, seq)
	}
	for {
		if to := own.runEnd(p.cur.Position); to > p.cur.Position {
			beyond, err := s.moveOn(ctx, to, p)
			if err != nil {
				return err
			}
			highest = max(highest, beyond)
			continue
		}
		if !p.fresh {
			cur, err := existing(s.readCursor(ctx, p.cur.Queue))
			if err != nil {
				return err
			}
			p.cur, p.fresh = cur, true
			continue
		}
		if highest <= p.cur.Position || p.cur.onRecord(highest) {
			return nil
		}
		if err := s.park(ctx, highest, p); err != nil {
			return err
		}
	}
}

// writerPieces is how many full pieces a call of a producer moves over; Heal moves over all.
const writerPieces = 2

// moveOn moves the cursor to `to`, and on over what is parked behind it, until a look at the
// messages that came after the last move finds nothing more. Where there is much more, a writer
// leaves it, and its caller does not wait for that: the gap stays on record, and the record of what
// it stored brings the stream's handler, which goes on. It returns the first seq that its last look
// saw beyond a hole, and none beyond the position where it saw none.
//
// It looks behind a move that found a gap open until there is nothing: who stored beyond that gap
// while it was open has left it at that, and who moves on from there knows of no gap.
func (s *Sorter) moveOn(ctx context.Context, to int64, p *progress) (int64, error) {
	look := piece{end: to, beyond: to}
	if p.cur.GapOpen() {
		// A gap is being filled: one move to the end of the run, not two.
		var err error
		if look, err = s.scan(ctx, p, to); err != nil {
			return NoSeq, err
		}
	}
	for look.end > p.cur.Position {
		mine, err := s.move(ctx, look, p)
		if err != nil {
			return NoSeq, err
		}
		if !p.behind {
			return NoSeq, nil
		}
		if mine && look.full {
			if p.pieces--; p.pieces == 0 {
				return NoSeq, nil
			}
		}
		if look, err = s.scan(ctx, p, p.cur.Position); err != nil {
			return NoSeq, err
		}
	}
	return look.beyond, nil
}

// move makes one move, to the end of a piece, and reports whether the cursor came there by it. One
// that failed and finds the cursor there counts as ours: it may be our own, whose response was
// lost, and then no other writer looks behind it.
//
// What is seen to wait beyond a gap that the move fills is put on record by the same write. And a
// full piece of a run that nobody has on record farther than that leaves its last message parked:
// the one that goes on may die, and the run must not be forgotten then.
func (s *Sorter) move(ctx context.Context, look piece, p *progress) (bool, error) {
	over := Range{p.cur.Position, look.end}
	parked := p.cur.MaxParked
	if parked <= look.end && look.beyond > look.end {
		parked = look.beyond
	}
	if look.full && parked <= look.end {
		over.To, parked = look.end-1, look.end
	}
	cur, moved, err := s.moving(func() (Cursor, bool, error) {
		if parked > p.cur.MaxParked {
			return s.store.MoveAndPark(ctx, p.cur.Queue, over, parked, s.now())
		}
		return s.store.Move(ctx, p.cur.Queue, over, parked, s.now())
	})
	if err != nil {
		return false, err
	}
	p.cur, p.fresh = cur, true
	if !moved && cur.Position != over.To {
		return false, nil
	}
	p.moved(over.From, over.To)
	p.behind = p.behind || cur.MaxParked > over.From
	p.aged = p.aged || moved
	return true, nil
}

// park records that seq is stored beyond a gap that is not on record. Whether it did or not, the
// cursor that it returns was seen after the put: the caller decides again.
func (s *Sorter) park(ctx context.Context, seq int64, p *progress) error {
	now := s.now()
	cur, err := existing(s.remembering(func() (Cursor, error) {
		return s.store.OpenGap(ctx, p.cur.Queue, seq, now)
	}))
	if err != nil {
		return err
	}
	p.aged = p.aged || cur.MovedAt.Equal(ddb.ToMillis(now))
	p.cur, p.fresh = cur, true
	return nil
}

// piece is what a look at the messages behind a position found, and what one move goes over.
type piece struct {
	// end is the last seq of the run; the position itself where nothing is there.
	end int64
	// beyond is the first seq that was seen beyond it; end where none was.
	beyond int64
	// full is set when the look ended at its bound, and the run may go on.
	full bool
}

// scan looks at the run that is stored from position+1 on, as far as one piece goes: 1,000 messages
// or a page of 1 MB. So there is a move after a few requests, however long the run is, and a crash
// after it leaves less to do.
//
// A strong query pays for the bodies beyond a hole. So the first look is at no more messages than
// one read unit is likely to show, and at one alone where nothing is known of their size; that one
// then shows it. Pages grow, so that a short run reads little and a long one needs few requests;
// behind a full piece they are as large as they get. Behind a move that filled a gap the look is a
// query all the same, which shows the first message beyond a hole.
func (s *Sorter) scan(ctx context.Context, p *progress, position int64) (piece, error) {
	end, limit := position, min(p.glance, defaultBatchSize)
	if p.full {
		limit = maxBatchSize
	}
	p.full = false
	if limit < 2 && end < MaxSeq && (p.cur.GapOpen() || !p.behind) {
		m, found, err := s.store.Message(ctx, p.cur.Queue, end+1)
		if err != nil || !found {
			return piece{end: end, beyond: end}, err
		}
		end, limit = end+1, min(max(readUnit/m.size(), 2), defaultBatchSize)
	}
	for whole := true; end < MaxSeq; {
		room := maxBatchSize - (end - position)
		if room <= 0 || !whole {
			p.full = true
			break
		}
		limit = int(min(max(int64(limit), 1), room))
		page, err := s.store.Messages(ctx, queuelog.Query{
			Queue: p.cur.Queue, First: end + 1, Last: MaxSeq, Limit: limit, Strong: true, HeadsOnly: true,
		})
		if err != nil {
			return piece{end: position, beyond: position}, err
		}
		for _, m := range page.Messages {
			if m.Seq != end+1 {
				return piece{end: end, beyond: m.Seq}, nil
			}
			end = m.Seq
		}
		if !page.More {
			break
		}
		whole = len(page.Messages) == limit
		limit = 2 * limit
	}
	return piece{end: end, beyond: end, full: p.full}, nil
}
