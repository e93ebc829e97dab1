package cursor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Walk is a look at all queues, a bounded part of it a run. Where a run
// stopped is kept in the sweeps table, and the next one goes on from there.
type Walk struct {
	// Name keeps walks apart.
	Name string
	// Segments is how many parts the cursors are read in, side by side where
	// the Sorter's ForEach does so; 1 to 1,000.
	Segments int
	// Limit is how many cursors a run looks at, at least one page a segment.
	Limit int
	// Every is the time from the end of one round to the begin of the next;
	// 0 means that each run begins one, where none is under way.
	Every time.Duration
	// Only says which cursors a round visits, by what is known of the segment's
	// last round; nil means all.
	Only func(last Progress) CursorFilter
}

// walkPage is how many cursors one request of a walk looks at.
const walkPage = 250

// Walk visits the queues of one run. A visit that fails stops no other: the
// error joins the first of each segment, and the round counts as one that began
// when the round before it did, so that the next one looks as far back. It ends when the context does. Any
// number of runs may walk at once: each then visits what it comes to.
//
// Cost beside that of the visits: one read unit for about 70 queues, and two
// requests a segment.
func (s *Sorter) Walk(ctx context.Context, walk Walk, visit func(context.Context, Cursor) error) error {
	var (
		mu   sync.Mutex
		errs []error
	)
	s.forEach(walk.Segments, func(segment int) {
		if err := s.walkSegment(ctx, walk, segment, visit); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	})
	return errors.Join(errs[:min(len(errs), 10)]...)
}

// round is the round that is under way in a segment, or a new one where it is due.
func (s *Sorter) round(ctx context.Context, walk Walk, segment int) (progress Progress, due bool, err error) {
	name := fmt.Sprintf("%s %d/%d", walk.Name, segment, walk.Segments)
	last, err := s.store.SweepProgress(ctx, name)
	switch {
	case err != nil:
		return last, false, fmt.Errorf("%s: %w", name, err)
	case last.After != "" || last.Queue != "":
		return last, true, nil
	case walk.Every > 0 && !last.Finished.IsZero() && s.now().Sub(last.Finished) < walk.Every:
		return last, false, nil
	}
	return Progress{Name: name, Began: ddb.ToMillis(s.now()), Finished: last.Finished, Before: last.Began}, true, nil
}

// walkSegment goes on with the round in one segment, or begins it where it is
// due.
func (s *Sorter) walkSegment(ctx context.Context, walk Walk, segment int, visit func(context.Context, Cursor) error) error {
	progress, due, err := s.round(ctx, walk, segment)
	if err != nil || !due {
		return err
	}
	name := progress.Name
	var only CursorFilter
	if walk.Only != nil {
		only = walk.Only(progress)
	}
	var firstErr error
	for looked := 0; looked < max(walk.Limit/walk.Segments, 1); looked += walkPage {
		page, err := s.store.Cursors(ctx, CursorScan{
			Segment: segment, Segments: walk.Segments, After: progress.After, Limit: walkPage, Only: only,
		})
		if err != nil {
			return errors.Join(firstErr, fmt.Errorf("%s: %w", name, err))
		}
		for _, c := range page.Cursors {
			if err := visit(ctx, c); err != nil {
				progress.Began = progress.Before
				if firstErr == nil {
					firstErr = fmt.Errorf("%s, queue %q: %w", name, c.Queue, err)
				}
			}
			if ctx.Err() != nil {
				// What was under way is for the next round: one queue does not hold
				// the others up.
				progress.After = c.Queue
				return errors.Join(firstErr, s.saveLast(ctx, progress))
			}
		}
		progress.After = page.Next
		if page.Next == "" {
			progress.Finished = ddb.ToMillis(s.now())
		}
		if err := s.store.SaveSweepProgress(ctx, progress); err != nil {
			return errors.Join(firstErr, fmt.Errorf("%s: %w", name, err))
		}
		if page.Next == "" {
			break
		}
	}
	return firstErr
}

// saveWithin is how long a run whose time is up may take to note where it stopped.
const saveWithin = 2 * time.Second

// saveLast notes how far a run came whose context has ended.
func (s *Sorter) saveLast(ctx context.Context, p Progress) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveWithin)
	defer cancel()
	return s.store.SaveSweepProgress(ctx, p)
}
