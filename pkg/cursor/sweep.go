package cursor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// SweepOptions are the parts of a sweep that have defaults. Each zero field
// means its default.
type SweepOptions struct {
	// Segments is how many parts the cursors are read in, side by side where
	// the Sorter's ForEach does so; 1 to 1,000, and 4 where it is 0.
	Segments int
	// Limit is how many cursors a run looks at in each of its rounds; at
	// least one page a segment. The next run goes on where it stopped.
	// 10,000 where it is 0.
	Limit int
	// FullEvery is the time between two full rounds, 24 hours where it is 0.
	// It must be at most a quarter of the retention: see KeepUndelivered.
	FullEvery time.Duration
	// SkipLimit is the most tombstones that are written to one queue a run; 0
	// means as many as there is time for: half of what the context has left.
	SkipLimit int
	// Delivered says which seq the slowest consumer of a queue is at: what lies
	// behind it is kept from expiring. nil, or false, means that nobody reads
	// the queue but by its stream.
	Delivered func(ctx context.Context, queue string) (seq int64, any bool, err error)
	// Erase deletes what others have stored of a queue that was erased, and reports
	// whether something of it is left: see [Sorter.EraseMore]. nil means that nobody has.
	Erase func(context.Context, Cursor) (left bool, err error)
	// Announce hands an announcement on. An error keeps it due: the next run
	// tries again. nil means that nobody listens.
	Announce func(context.Context, Announcement) error
}

func (s *Sorter) sweepOptions(o SweepOptions) (SweepOptions, error) {
	if o.Segments == 0 {
		o.Segments = 4
	}
	if o.Limit == 0 {
		o.Limit = 10_000
	}
	if o.FullEvery == 0 {
		o.FullEvery = 24 * time.Hour
		if s.retention > 0 {
			o.FullEvery = min(o.FullEvery, s.retention/4)
		}
	}
	if o.SkipLimit == 0 {
		o.SkipLimit = MaxMaxAhead // no gap is longer
	}
	if o.Announce == nil {
		o.Announce = func(context.Context, Announcement) error { return nil }
	}
	switch {
	case o.Segments < 1 || o.Segments > 1000:
		return o, &InvalidError{Field: "segments", Code: invalid.OutOfRange, Problem: "must be from 1 to 1000"}
	case o.Limit < 1:
		return o, &InvalidError{Field: "limit", Code: invalid.OutOfRange, Problem: "must be 1 or more"}
	case o.SkipLimit < 1:
		return o, &InvalidError{Field: "skipLimit", Code: invalid.OutOfRange, Problem: "must be 1 or more"}
	case s.retention > 0 && (o.FullEvery < 0 || o.FullEvery > s.retention/4):
		return o, &InvalidError{Field: "fullEvery", Code: invalid.OutOfRange, Problem: "must be at most a quarter of the retention, " + (s.retention / 4).String()}
	}
	return o, nil
}

// SweepReport is what a run of the sweep saw and did.
type SweepReport struct {
	// Queues is how many cursors were looked at, by the rounds of the gaps and of all
	// queues.
	Queues int
	// OpenGaps is how many queues with an open gap were seen, OldestGap the
	// age of the oldest.
	OpenGaps  int
	OldestGap time.Duration
	// Moves is how many moves of cursors were made up for.
	Moves int
	// Skipped is how many seqs were skipped, Kept how many messages had their
	// expiry pushed forward, Announced how many announcements were handed on.
	Skipped, Kept, Announced int
	// Erased is how many messages and arrivals of erased queues were deleted.
	Erased int
	// Failed is how many queues could not be seen to; they are tried again by
	// the next run.
	Failed int
}

func (r *SweepReport) add(o SweepReport) {
	r.Queues += o.Queues
	r.OpenGaps += o.OpenGaps
	r.OldestGap = max(r.OldestGap, o.OldestGap)
	r.Moves += o.Moves
	r.Skipped += o.Skipped
	r.Kept += o.Kept
	r.Announced += o.Announced
	r.Erased += o.Erased
	r.Failed += o.Failed
}

// Sweep looks after all queues; run it every few minutes. It makes three rounds.
//
// The round of the gaps looks at every cursor and sees to those with an open
// gap: it heals, and does what the queue's policy says. The full round, once
// in FullEvery, sees to every queue: a crash whose stream record was lost
// leaves no mark. The third round, as often, keeps undelivered messages from expiring:
// beside the others, so that none of their work waits for a large backlog.
//
// A run looks at no more than Limit cursors a round, and ends before the
// context does; where it stopped is kept in the sweeps table, and the next run
// goes on from there. Any number of sweeps may run at once: all that they do
// can be done twice.
//
// Cost of a run with nothing to do: one read unit for about 70 queues, and two
// requests a segment.
//
// The error joins the first failures; the report is true beside it.
func (s *Sorter) Sweep(ctx context.Context, options SweepOptions) (SweepReport, error) {
	o, err := s.sweepOptions(options)
	if err != nil {
		return SweepReport{}, err
	}
	var (
		mu     sync.Mutex
		report SweepReport
		errs   []error
	)
	note := func(r SweepReport, err error) {
		mu.Lock()
		defer mu.Unlock()
		report.add(r)
		if err != nil {
			errs = append(errs, err)
		}
	}
	s.forEach(2, func(i int) {
		if i == 0 {
			note(SweepReport{}, s.sweepRounds(ctx, o, note))
			return
		}
		walk := Walk{Name: "kept", Segments: o.Segments, Limit: o.Limit, Every: o.FullEvery}
		note(SweepReport{}, s.keepRound(ctx, walk, o.Delivered, note))
	})
	return report, errors.Join(errs...)
}

// sweepRounds are the rounds of the gaps and of all queues. An eighth of the time is
// the second one's.
func (s *Sorter) sweepRounds(ctx context.Context, o SweepOptions, note func(SweepReport, error)) error {
	visit := func(full bool) func(context.Context, Cursor) error {
		return func(ctx context.Context, c Cursor) error {
			run := sweepRun{sorter: s, options: o, full: full}
			err := run.queue(ctx, c)
			run.report.Queues++
			if err != nil {
				run.report.Failed++
			}
			note(run.report, nil)
			return err
		}
	}
	gaps := Walk{Name: "gaps", Segments: o.Segments, Limit: o.Limit, Only: func(Progress) CursorFilter { return CursorFilter{Gaps: true} }}
	all := Walk{Name: "full", Segments: o.Segments, Limit: o.Limit, Every: o.FullEvery}
	most, cancel := margin.Most(ctx)
	defer cancel()
	return errors.Join(
		in("sweep of gaps", s.Walk(most, gaps, visit(false))),
		in("sweep of full", s.Walk(ctx, all, visit(true))))
}

func in(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// sweepRun is what one round of a run does with one queue.
type sweepRun struct {
	sorter  *Sorter
	options SweepOptions
	full    bool
	report  SweepReport
}

// queue sees to one queue.
func (r *sweepRun) queue(ctx context.Context, seen Cursor) error {
	s := r.sorter
	if seen.Erased() {
		return r.erase(ctx, seen)
	}
	advance, err := s.Recheck(ctx, seen.Queue)
	r.report.Moves += len(advance.Moves)
	if errors.Is(err, ErrErased) {
		return nil // since it was seen: the next run sees to it
	}
	if err != nil {
		return err
	}
	cur := advance.Cursor
	if cur, err = r.gap(ctx, cur); err != nil {
		return err
	}
	return r.settle(ctx, cur)
}

// erase deletes what is stored of a queue that was erased. Where it is empty already, the
// full round looks whether something was stored since.
func (r *sweepRun) erase(ctx context.Context, seen Cursor) error {
	var others func(context.Context) (bool, error)
	if r.options.Erase != nil {
		others = func(ctx context.Context) (bool, error) { return r.options.Erase(ctx, seen) }
	}
	began := r.sorter.now()
	deleted, err := r.sorter.EraseMore(ctx, seen, others)
	r.report.Erased += deleted.Messages + deleted.Arrivals
	if err != nil || deleted.More {
		return err
	}
	return r.sorter.endErase(ctx, seen, began)
}

// gap does what the queue's policy says of an open gap, and returns the cursor
// as it is afterwards.
func (r *sweepRun) gap(ctx context.Context, cur Cursor) (Cursor, error) {
	s := r.sorter
	if !cur.GapOpen() {
		return cur, nil
	}
	age := s.now().Sub(cur.MovedAt)
	if !r.full {
		r.report.OpenGaps++
		r.report.OldestGap = max(r.report.OldestGap, age)
	}
	if cur.Settings.Policy == PolicyWait || age < cur.Settings.GapAfter {
		return cur, nil
	}
	if cur, err := r.announceOpen(ctx, cur, age); err != nil || cur.Settings.Policy != PolicySkip {
		return cur, err
	}
	reason := fmt.Sprintf("skipped after %s", cur.Settings.GapAfter)
	skipped, advance, err := s.skipGap(ctx, cur.Queue, reason, cur.Settings.GapAfter, r.options.SkipLimit, margin.Half(ctx))
	r.report.Skipped += int(skipped.To - skipped.From)
	r.report.Moves += len(advance.Moves)
	if err != nil {
		return cur, err
	}
	announced := cur.Position + 1
	cur = advance.Cursor
	cur.Announced = announced
	return cur, nil
}
