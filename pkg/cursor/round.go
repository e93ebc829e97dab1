package cursor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/tally"
)

// Round is where a walk is at the end of a run.
type Round struct {
	// Ended reports that a round ended in this run: Seen is then what all of its runs saw.
	Ended bool
	Seen  tally.Tally
	// Age is how long ago the round began that ended, or is under way; 0 between two.
	Age time.Duration
	// Unreadable is how many cursors this run could not read, and passed over.
	Unreadable int
}

// round is the round that a run goes on with: its segments share the progress.
type round struct {
	store   *requests
	forEach func(n int, do func(i int))
	now     func() time.Time

	// only says which cursors the round visits.
	only cursorFilter

	mu       sync.Mutex
	progress roundProgress
	// saved is when the progress was stored last, or read.
	saved time.Time
	dirty bool
	// unreadable are the cursors that were passed over.
	unreadable int
}

// round goes on with the round of a walk that is under way, or begins one where it is due. Where
// the number of segments has changed, the places do not fit: it then looks at all again.
func (s *Sorter) round(ctx context.Context, walk walking) (r *round, due bool, err error) {
	last, err := s.store.SweepProgress(ctx, walk.Name)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", walk.Name, err)
	}
	now := s.now()
	r = &round{store: s.store, forEach: s.forEach, now: s.now, progress: last, saved: now}
	switch {
	case len(last.Left) > 0 && last.Segments == walk.Segments:
		return r, true, nil
	case len(last.Left) > 0:
		r.progress.Seen = tally.Tally{}
	case walk.Every > 0 && !last.Finished.IsZero() && now.Sub(last.Began) < walk.Every:
		return r, false, nil
	default:
		r.progress = roundProgress{Name: walk.Name, Began: ddb.ToMillis(now), Since: last.Began,
			Finished: last.Finished}
		if last.Failed {
			r.progress.Since = last.Since
		}
	}
	r.progress.Segments, r.progress.Left, r.dirty = walk.Segments, map[int]roundPlace{}, true
	for segment := range walk.Segments {
		r.progress.Left[segment] = roundPlace{}
	}
	return r, true, nil
}

// run does something in each segment, notes where that stopped, and says where the round is. The
// error joins those of the segments.
func (r *round) run(ctx context.Context, walk walking,
	do func(ctx context.Context, segment int) error) (Round, error) {
	if walk.Only != nil {
		r.only = walk.Only(r.progress)
	}
	errs := make([]error, r.progress.Segments)
	r.forEach(len(errs), func(segment int) { errs[segment] = do(ctx, segment) })
	return r.end(ctx, errs)
}

// place is how far the round is in a segment; left is false where it has ended there.
func (r *round) place(segment int) (at roundPlace, left bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, left = r.progress.Left[segment]
	return at, left
}

// step is what a run has done in a segment since the last one.
type step struct {
	place  roundPlace
	left   bool
	seen   tally.Tally
	failed bool
	// keep has the place stored at once.
	keep bool
}

// passedOver counts the cursors of a page that cannot be read. The error is the first of them,
// where nothing else failed.
func (r *round) passedOver(page cursorPage, failed error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unreadable += len(page.Unreadable)
	if failed == nil && len(page.Unreadable) > 0 {
		return page.Unreadable[0]
	}
	return failed
}

// saveEvery is the time between two notes of the places. A run that is killed does again what it
// has done since the last one.
const saveEvery = 10 * time.Second

func (r *round) reached(ctx context.Context, segment int, s step) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.progress
	p.Seen.Merge(s.seen)
	p.Failed = p.Failed || s.failed
	if p.Left[segment] = s.place; !s.left {
		delete(p.Left, segment)
	}
	r.dirty = true
	over := len(p.Left) == 0
	if over {
		p.Finished = ddb.ToMillis(r.now())
	}
	if ctx.Err() != nil || !over && !s.keep && r.now().Sub(r.saved) < saveEvery {
		return nil // the end of the run stores it
	}
	return r.save(ctx)
}

// save stores the progress; the lock is held.
func (r *round) save(ctx context.Context) error {
	if err := r.store.SaveSweepProgress(ctx, r.progress); err != nil {
		return fmt.Errorf("%s: %w", r.progress.Name, err)
	}
	r.saved, r.dirty = r.now(), false
	return nil
}

func (r *round) end(ctx context.Context, errs []error) (Round, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dirty {
		ctx, cancel := margin.Last(ctx)
		defer cancel()
		errs = append(errs, r.save(ctx))
	}
	p := r.progress
	is := Round{Age: r.now().Sub(p.Began), Unreadable: r.unreadable}
	if len(p.Left) == 0 && !r.dirty {
		is.Ended, is.Seen = true,
			tally.Tally{Sums: maps.Clone(p.Seen.Sums), Peaks: maps.Clone(p.Seen.Peaks)}
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	return is, errors.Join(errs[:min(len(errs), maxErrors)]...)
}

const maxErrors = 10
