package cursor

import "context"

// KeepUndelivered pushes the expiry of every message beyond the position
// forward once half the retention is gone, so that none is deleted before it
// was passed, and returns how many it pushed. Run it for every queue with an
// open gap at least once in a quarter of the retention: then a message also
// outlives its passing by a quarter, which is what late duplicates are told
// by.
//
// It costs a strong query over all that is parked, and one write a message
// that is pushed.
func (s *Sorter) KeepUndelivered(ctx context.Context, it Cursor) (int, error) {
	if s.retention == 0 {
		return 0, nil
	}
	due := s.now().Add(s.retention / 2)
	pushed := 0
	for next := it.Position; next < MaxSeq; {
		page, err := s.store.Messages(ctx, Query{
			Queue: it.Queue, First: next + 1, Last: MaxSeq, Limit: maxBatchSize, Strong: true, HeadsOnly: true,
		})
		if err != nil {
			return pushed, err
		}
		for _, m := range page.Messages {
			next = m.Seq
			if m.ExpiresOn.IsZero() || !m.ExpiresOn.Before(due) {
				continue
			}
			if err := s.store.KeepUntil(ctx, it.Queue, m.Seq, s.expiry()); err != nil {
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
