package cursor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/streamsort/streamsort/internal/ddb"
)

// keepRound is a round over all queues that keeps what is not delivered from expiring.
// How far it is within a queue is kept with the round: however large a backlog is, the
// next run goes on in it.
func (s *Sorter) keepRound(ctx context.Context, walk Walk, delivered func(context.Context, string) (int64, bool, error), note func(SweepReport, error)) error {
	if s.retention == 0 {
		return nil
	}
	var (
		mu   sync.Mutex
		errs []error
	)
	s.forEach(walk.Segments, func(segment int) {
		if err := s.keepSegment(ctx, walk, segment, delivered, note); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	})
	return in("keeping", errors.Join(errs[:min(len(errs), 10)]...))
}

// keepSegment goes on with the round in one segment, or begins it where it is due.
func (s *Sorter) keepSegment(ctx context.Context, walk Walk, segment int, delivered func(context.Context, string) (int64, bool, error), note func(SweepReport, error)) error {
	progress, due, err := s.round(ctx, walk, segment)
	if err != nil || !due {
		return err
	}
	var firstErr error
	for looked := 0; looked < max(walk.Limit/walk.Segments, 1); looked += walkPage {
		page, err := s.store.Cursors(ctx, CursorScan{Segment: segment, Segments: walk.Segments, After: progress.After, Limit: walkPage})
		if err != nil {
			return errors.Join(firstErr, fmt.Errorf("%s: %w", progress.Name, err))
		}
		for _, c := range page.Cursors {
			err := s.keepQueue(ctx, c, &progress, delivered, note)
			if ctx.Err() != nil {
				return errors.Join(firstErr, s.saveLast(ctx, progress))
			}
			if err != nil {
				note(SweepReport{Failed: 1}, nil)
				if firstErr == nil {
					firstErr = fmt.Errorf("%s, queue %q: %w", progress.Name, c.Queue, err)
				}
			}
			progress.After, progress.Queue, progress.Kept = c.Queue, "", 0
		}
		if progress.After = page.Next; page.Next == "" {
			progress.Finished = ddb.ToMillis(s.now())
		}
		if err := s.store.SaveSweepProgress(ctx, progress); err != nil {
			return errors.Join(firstErr, fmt.Errorf("%s: %w", progress.Name, err))
		}
		if page.Next == "" {
			break
		}
	}
	return firstErr
}

// keepQueue keeps what is not yet delivered of a queue, piece by piece, from where the
// round is in it.
func (s *Sorter) keepQueue(ctx context.Context, cur Cursor, progress *Progress, delivered func(context.Context, string) (int64, bool, error), note func(SweepReport, error)) error {
	if cur.Erased() {
		return nil
	}
	after := cur.Position
	if delivered != nil {
		seq, any, err := delivered(ctx, cur.Queue)
		if err != nil {
			return err
		}
		if any {
			after = min(after, seq)
		}
	}
	if progress.Queue == cur.Queue {
		after = max(after, progress.Kept)
	}
	for {
		kept, err := s.KeepUndelivered(ctx, cur.Queue, after)
		note(SweepReport{Kept: kept.Pushed}, nil)
		if errors.Is(err, ErrErased) {
			return nil // since it was seen
		}
		if err != nil || !kept.More {
			return err
		}
		after = kept.To
		progress.Queue, progress.Kept = cur.Queue, after
		if err := s.store.SaveSweepProgress(ctx, *progress); err != nil {
			return err
		}
	}
}
