package cursor

import "context"

// progress is what an advance has done so far.
type progress struct {
	// cur is the last cursor seen, fresh whether it was seen after the messages
	// that are known to be stored were.
	cur   Cursor
	fresh bool
	// glance is how many messages one read unit is likely to show; 0 where
	// nothing is known of their size.
	glance int
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

// advance moves the cursor as far as the messages that are known to be stored
// (own) and those found behind them reach, and records the gap that stops it.
//
// Why no wake-up is lost: a writer stores, then looks at the cursor; a mover
// moves the cursor, then looks at the messages. Both looks are strong, so one
// of the two sees the other.
func (s *Sorter) advance(ctx context.Context, own seqSet, p *progress) error {
	highest, _ := own.max()
	for {
		if to := own.runEnd(p.cur.Position); to > p.cur.Position {
			if err := s.moveOn(ctx, to, p); err != nil {
				return err
			}
			continue
		}
		if !p.fresh {
			cur, err := s.readCursor(ctx, p.cur.Queue)
			if err != nil {
				return err
			}
			if !cur.Exists() {
				return ErrNoQueue
			}
			p.cur, p.fresh = cur, true
			continue
		}
		if highest <= p.cur.Position || p.cur.Parked >= highest {
			return nil
		}
		if err := s.park(ctx, highest, p); err != nil {
			return err
		}
	}
}

// moveOn moves the cursor to `to`, and on over what is parked behind it, until
// a look at the messages that came after the last move finds nothing more.
func (s *Sorter) moveOn(ctx context.Context, to int64, p *progress) error {
	if p.cur.Parked > to {
		// A gap is being filled: one move to the end of the run, not two.
		end, _, err := s.scan(ctx, p, to)
		if err != nil {
			return err
		}
		to = end
	}
	for to > p.cur.Position {
		mine, err := s.move(ctx, to, p)
		if err != nil {
			return err
		}
		if !mine || !p.cur.GapOpen() {
			return nil
		}
		if to, _, err = s.scan(ctx, p, p.cur.Position); err != nil {
			return err
		}
	}
	return nil
}

// move makes one move, and reports whether the cursor came to `to` by it. One
// that failed and finds the cursor at `to` counts as ours: it may be our own,
// whose response was lost, and then nobody else looks behind it.
func (s *Sorter) move(ctx context.Context, to int64, p *progress) (bool, error) {
	from := p.cur.Position
	moved := false
	cur, err := s.remembering(func() (cur Cursor, err error) {
		cur, moved, err = s.store.Move(ctx, p.cur.Queue, from, to, s.now())
		return cur, err
	})
	if err != nil {
		return false, err
	}
	if !cur.Exists() {
		return false, ErrNoQueue
	}
	p.cur, p.fresh = cur, true
	if !moved && cur.Position != to {
		return false, nil
	}
	p.moved(from, to)
	return true, nil
}

// park records that seq is stored beyond a gap. Whether it did or not, the
// cursor that it returns was seen after the put: the caller decides again.
func (s *Sorter) park(ctx context.Context, seq int64, p *progress) error {
	cur, err := s.remembering(func() (Cursor, error) {
		if p.cur.GapOpen() {
			return s.store.WidenGap(ctx, p.cur.Queue, seq)
		}
		return s.store.OpenGap(ctx, p.cur.Queue, seq, s.now())
	})
	if err != nil {
		return err
	}
	if !cur.Exists() {
		return ErrNoQueue
	}
	p.cur, p.fresh = cur, true
	return nil
}

// scan is the end of the run that is stored from position+1 on (position where
// nothing is there), and the first seq that was seen beyond it (end where none
// was).
//
// A strong query pays for the bodies beyond a hole. So the first look is at no
// more messages than one read unit is likely to show, and at one alone where
// nothing is known of their size; that one then shows it. Pages grow, so that a
// short run reads little and a long one needs few requests.
func (s *Sorter) scan(ctx context.Context, p *progress, position int64) (end, beyond int64, err error) {
	end = position
	limit := min(p.glance, s.batchSize)
	if limit < 2 && end < MaxSeq {
		m, found, err := s.store.Message(ctx, p.cur.Queue, end+1)
		if err != nil || !found {
			return end, end, err
		}
		end, limit = end+1, min(max(readUnit/m.size(), 2), s.batchSize)
	}
	for end < MaxSeq {
		if ahead := p.cur.Parked - end; ahead > 0 {
			limit = int(min(int64(limit), ahead))
		} else if ahead == 0 && end > position {
			// Who stored a message beyond the mark has not looked at the
			// cursor yet; when they do, they see this move.
			return end, end, nil
		}
		page, err := s.store.Messages(ctx, Query{
			Queue: p.cur.Queue, First: end + 1, Last: MaxSeq, Limit: limit, Strong: true, HeadsOnly: true,
		})
		if err != nil {
			return position, position, err
		}
		for _, m := range page.Messages {
			if m.Seq != end+1 {
				return end, m.Seq, nil
			}
			end = m.Seq
		}
		if !page.More {
			return end, end, nil
		}
		limit = min(2*limit, maxBatchSize)
	}
	return end, end, nil
}
