package cursor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// SweepOptions are the parts of a sweep that have defaults. Each zero field means its default.
type SweepOptions struct {
	// Segments is how many parts the cursors are read in, side by side where the Sorter's ForEach
	// does so; 1 to 100, and 4 where it is 0.
	Segments int
	// Every is the time from the start of one round of the gaps to the start of the next; each run
	// begins one where it is 0, and none is under way.
	Every time.Duration
	// FullEvery is the time between two full rounds, 24 hours where it is 0. It must be at most a
	// quarter of the retention: no undelivered message expires then.
	FullEvery time.Duration
	// SkipLimit is the most tombstones that are written to one queue a run; 0 means as many as
	// there is time for: half of what the context has left.
	SkipLimit int
	// Beside is what looks after the queues in the same rounds.
	Beside Beside
	// Delivered says which seq the slowest consumer of a queue is at: what lies behind it is kept
	// from expiring. nil, or false, means that nobody reads the queue but by its stream.
	Delivered func(ctx context.Context, queue string) (seq int64, any bool, err error)
	// Erase deletes what others have stored of a queue that was erased, and reports whether
	// something of it is left: see EraseMore. nil means that nobody has.
	Erase func(context.Context, Cursor) (left bool, err error)
	// Gap gets each queue with an open gap that the round of the gaps sees, whatever the gap's age
	// and the queue's policy. nil means that nobody listens.
	Gap func(of Cursor, age time.Duration)
	// Overdue gets how long ago the first message of each keyed queue in which some wait was due
	// when it was seen; 0 where none was. nil means that nobody listens.
	Overdue func(queue string, age time.Duration)
	// Left gets each queue for which the run had no time: [Sorter.Wake], and [Sorter.Settle] of a
	// keyed one, go on with it. nil leaves it to the next round.
	Left func(Cursor)
	// Announce hands an announcement on. An error keeps it due: the next run tries again. nil means
	// that nobody listens.
	Announce func(context.Context, Announcement) error
}

// Beside is what looks after the queues in the rounds of a sweep, so that the cursors are read once
// for both.
type Beside struct {
	// Visit handles a queue that moved, or was notified, since the round before began, or lately;
	// in the full round, to every queue. nil means nobody. A visit that fails has the next round
	// look as far back as this one.
	Visit func(ctx context.Context, c Cursor, full bool, seen *tally.Tally) error
	// GoOn goes on with what a visit had no time for in its turn. It is called when a round is
	// over; nil where a visit never leaves anything.
	GoOn func(ctx context.Context)
	// Quiet reports that nothing waits in a queue that was neither moved nor notified for two full
	// rounds: those then leave it out, and so does the keeping.
	Quiet bool
	// Of: the name of the visitor, where Quiet depends on it: a full round for somebody else is the
	// first of its name, and leaves nothing out.
	Of string
}

func (s *Sorter) sweepOptions(o SweepOptions) (SweepOptions, error) {
	if o.Segments == 0 {
		o.Segments = 4
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
	if o.Gap == nil {
		o.Gap = func(Cursor, time.Duration) {}
	}
	if o.Overdue == nil {
		o.Overdue = func(string, time.Duration) {}
	}
	if o.Left == nil {
		o.Left = func(Cursor) {}
	}
	if o.Announce == nil {
		o.Announce = func(context.Context, Announcement) error { return nil }
	}
	switch {
	case o.Every < 0:
		return o, invalid.New(invalid.OutOfRange, "every", "must be 0 or more")
	case o.SkipLimit < 1:
		return o, invalid.New(invalid.OutOfRange, "skipLimit", "must be 1 or more")
	case s.retention > 0 && (o.FullEvery < 0 || o.FullEvery > s.retention/4):
		return o, invalid.New(invalid.OutOfRange, "fullEvery",
			"must be at most a quarter of the retention, "+(s.retention/4).String())
	}
	return o, bounds.Check("segments", o.Segments, 1, 100)
}

// SweepReport is what a run of the sweep saw and did.
type SweepReport struct {
	// Round is where the round of the gaps is at the end of the run, FullRound that of all queues,
	// and KeepingRound that which keeps messages from expiring.
	Round, FullRound, KeepingRound Round
	// Queues is how many cursors were seen to, by the rounds of the gaps and of all queues.
	Queues int
	// OpenGaps is how many queues with an open gap a whole round saw that ended in this run,
	// OldestGap the age of the oldest; 0 where none ended.
	OpenGaps  int
	OldestGap time.Duration
	// Moves is how many moves of cursors were made up for.
	Moves int
	// Skipped is how many seqs were skipped, Kept how many messages had their expiry pushed
	// forward, Announced how many announcements went out.
	Skipped, Kept, Announced int
	// Placed is how many messages of keyed queues got their places, of which Late were late,
	// Dropped of these dropped, and Unlinked marked so; Stale how many get none, for the log of
	// their queue is not whole.
	Placed, Late, Dropped, Unlinked, Stale int
	// Waiting is how many messages a whole round left waiting in keyed queues, and Overdue how long
	// ago the first of those was due that it found without a place: of a round that ended in this
	// run. Wake-ups keep Overdue near 0; without them it is the time between two rounds, and more
	// where a queue cannot be settled.
	Waiting int
	Overdue time.Duration
	// Erased is how many messages and arrivals of erased queues were deleted.
	Erased int
	// Failed is how many queues a round could not see to. The next round of its kind tries them
	// again: that of the gaps after Every, the full round and the keeping after FullEvery.
	Failed int
}

func (r *SweepReport) add(o SweepReport) {
	r.Queues += o.Queues
	r.Moves += o.Moves
	r.Skipped += o.Skipped
	r.Kept += o.Kept
	r.Announced += o.Announced
	r.Placed += o.Placed
	r.Late += o.Late
	r.Dropped += o.Dropped
	r.Unlinked += o.Unlinked
	r.Stale += o.Stale
	r.Erased += o.Erased
	r.Failed += o.Failed
}

// Sweep looks after all queues; run it every minute or few. It makes three rounds.
//
// The round of the gaps looks at every cursor and handles those with an open gap: it heals, and
// does what the queue's policy says. It settles every keyed queue. The full round, once in
// FullEvery, handles every queue: a crash whose stream record was lost leaves no mark. The third
// round, as often, keeps undelivered messages from expiring: beside the others, so that none of
// their work waits for a large backlog.
//
// A run goes on until its rounds are over or its context ends; where it stopped is stored in the
// sweeps table, and the next run goes on from there. A queue has a few seconds of a round; what it
// then still needs is gone on with when the round is over, in the time that the run has left, and
// else by the next round of its kind. Any number of sweeps may run at once: all that they do can be
// done twice.
//
// Cost of a run with nothing to do: one read unit for about 70 queues, and a request a segment, or
// for 1 MB of cursors; two requests a round.
//
// The error joins the first failures; the report is true beside it.
func (s *Sorter) Sweep(ctx context.Context, options SweepOptions) (SweepReport, error) {
	o, err := s.sweepOptions(options)
	if err != nil {
		return SweepReport{}, err
	}
	run := &sweep{sorter: s, options: o}
	s.forEach(2, func(i int) {
		if i == 0 {
			run.rounds(ctx)
			return
		}
		// The queues that may have messages whose TTL has to be extended.
		needed := func(p roundProgress) cursorFilter {
			long := run.longQuiet(p)
			return cursorFilter{Gaps: !long.IsZero(), MovedSince: long}
		}
		walk := walking{Name: "kept", Segments: o.Segments, Every: o.FullEvery, Only: needed}
		round, err := s.keepRound(ctx, walk, o.Delivered, run.note)
		run.report.KeepingRound = round
		run.note(SweepReport{Failed: round.Unreadable}, err)
	})
	return run.report, errors.Join(run.errs...)
}

type sweep struct {
	sorter  *Sorter
	options SweepOptions
	// repeats is how many announcements of the run were repeats.
	repeats atomic.Int64

	mu     sync.Mutex
	report SweepReport
	errs   []error
	// rest are the queues for which the time that a queue has in a round was too short.
	rest []Cursor
}

func (w *sweep) note(r SweepReport, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.add(r)
	if err != nil && len(w.errs) < maxErrors {
		w.errs = append(w.errs, err)
	}
}

// rounds are the rounds of the gaps and of all queues. An eighth of the time is the second one's.
func (w *sweep) rounds(ctx context.Context) {
	most, cancel := margin.Most(ctx)
	defer cancel()
	o := w.options
	var since, long time.Time
	waiting := func(p roundProgress) cursorFilter {
		filter := cursorFilter{Gaps: true}
		if o.Beside.Visit != nil {
			since = movedSince(p).MovedSince
			filter.MovedSince, filter.Gaps = since, !since.IsZero()
		}
		return filter
	}
	round, err := w.sorter.walkAll(most, walking{Name: "gaps", Segments: o.Segments, Every: o.Every,
		Only: waiting, PassOver: true}, func(ctx context.Context, c Cursor, seen *tally.Tally) error {
		if c.GapOpen() || c.Announced != noneAnnounced || keyed(c) ||
			c.Erased() && c.Erasure.Emptied.IsZero() {
			w.visit(ctx, c, false, seen)
		}
		return w.beside(ctx, c, since, false, seen)
	})
	w.report.Round = round
	w.report.OpenGaps, w.report.OldestGap = round.Seen.Count(tallyGaps),
		round.Seen.Longest(tallyGapAge)
	w.report.Waiting, w.report.Overdue = round.Seen.Count(tallyWaiting),
		round.Seen.Longest(tallyOverdue)
	w.note(SweepReport{Failed: round.Unreadable}, in("sweep of gaps", err))
	w.goOnWithRest(most)

	all := func(p roundProgress) cursorFilter {
		long = w.longQuiet(p)
		return cursorFilter{}
	}
	round, err = w.sorter.walkAll(ctx, walking{Name: "full" + o.Beside.Of, Segments: o.Segments,
		Every: o.FullEvery, Only: all}, func(ctx context.Context, c Cursor, _ *tally.Tally) error {
		w.visit(ctx, c, true, &tally.Tally{})
		return w.beside(ctx, c, long, true, &tally.Tally{})
	})
	w.report.FullRound = round
	w.note(SweepReport{Failed: round.Unreadable}, in("sweep of full", err))
	w.goOnWithRest(ctx)
}

// What the visits of the round of the gaps count.
const tallyGaps, tallyGapAge, tallyWaiting, tallyOverdue = "gaps", "gapAge", "waiting", "overdue"

// longQuiet is the time since which a queue moved, or was notified, that is not left out by the
// full round and by the keeping; the zero time where none is left out.
func (w *sweep) longQuiet(p roundProgress) time.Time {
	if p.Since.IsZero() || !w.options.Beside.Quiet {
		return time.Time{}
	}
	return movedSince(p).MovedSince.Add(-w.options.FullEvery)
}

// beside has a queue looked after by who sweeps beside, if it moved since.
func (w *sweep) beside(ctx context.Context, c Cursor, since time.Time, full bool,
	seen *tally.Tally) error {
	visit := w.options.Beside.Visit
	if visit == nil || c.MovedAt.Before(since) && c.Notified.Before(since) {
		return nil
	}
	return visit(ctx, c, full, seen)
}

// turn is how long a queue may take in a round.
const turn = 5 * time.Second

// visit handles a queue for a turn. What it then still needs is left for when the round is over.
func (w *sweep) visit(ctx context.Context, c Cursor, full bool, seen *tally.Tally) {
	within, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	run := sweepRun{sweep: w, full: full, seen: seen}
	err := run.queue(within, c)
	if run.more || within.Err() != nil && ctx.Err() == nil {
		w.mu.Lock()
		w.rest = append(w.rest, c)
		w.mu.Unlock()
		err = nil
	}
	run.report.Queues++
	w.saw(c, run.report, err)
}

// goOnWithRest goes on with the queues that have had their turn in the round that is over, and so
// does who sweeps beside.
func (w *sweep) goOnWithRest(ctx context.Context) {
	rest := w.rest
	w.rest = nil
	var all []func()
	for _, c := range rest {
		all = append(all, func() {
			run := sweepRun{sweep: w, full: true, seen: &tally.Tally{}}
			err := run.queue(ctx, c)
			if run.more {
				w.options.Left(c)
			}
			w.saw(c, run.report, err)
		})
	}
	if goOn := w.options.Beside.GoOn; goOn != nil {
		all = append(all, func() { goOn(ctx) })
	}
	w.sorter.forEach(len(all), func(i int) { all[i]() })
}

func (w *sweep) saw(c Cursor, did SweepReport, err error) {
	if err != nil {
		did.Failed++
		err = fmt.Errorf("sweep of queue %q: %w", c.Queue, err)
	}
	w.note(did, err)
}

func in(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

type sweepRun struct {
	*sweep
	full   bool
	seen   *tally.Tally
	report SweepReport
	// skipped are the seqs that it gave up.
	skipped []Range
	// more reports that there was not time for all of it.
	more bool
}

func (r *sweepRun) queue(ctx context.Context, seen Cursor) error {
	s := r.sorter
	if seen.Erased() {
		return r.erase(ctx, seen)
	}
	if keyed(seen) {
		return r.settleKeyed(ctx, seen)
	}
	if !seen.GapOpen() && seen.Announced == noneAnnounced {
		if found, err := r.beyond(ctx, seen); err != nil || !found {
			return err
		}
	}
	advance, err := inside{s}.Recheck(ctx, seen.Queue)
	r.report.Moves += len(advance.Moves)
	if errors.Is(err, ErrErased) {
		return nil // since it was seen: the next run handles it
	}
	if err != nil {
		return err
	}
	cur := advance.Cursor
	if cur, err = r.gap(ctx, cur); err != nil {
		return err
	}
	if cur.Announced <= cur.Position {
		_, err = r.settled(ctx, cur)
	}
	return err
}

// erase deletes what is stored of a queue that was erased. Where it is empty already, the full
// round looks whether something was stored since.
func (r *sweepRun) erase(ctx context.Context, seen Cursor) error {
	began, goOn := r.sorter.now(), margin.Half(ctx)
	deleted, err := inside{r.sorter}.EraseMore(ctx, seen, r.options.Erase)
	r.report.Erased += deleted.Messages + deleted.Arrivals
	if err != nil || deleted.More {
		r.more = !goOn()
		return err
	}
	// It is empty where a run that began late enough left nothing behind.
	if seen.Erasure.Emptied.IsZero() && began.Sub(seen.Erasure.At) >= EraseGrace {
		_, err = r.sorter.store.EndErase(ctx, seen.Queue, r.sorter.now())
	}
	return err
}

// beyond reports whether something is stored beyond the position of a queue without a gap. It may
// be an older state: what it is there for was stored long before. Half a read unit.
func (r *sweepRun) beyond(ctx context.Context, seen Cursor) (bool, error) {
	if !numbered(seen) || seen.Position == MaxSeq {
		return false, nil // an allocation is the move itself
	}
	page, err := r.sorter.store.Messages(ctx, queuelog.Query{
		Queue: seen.Queue, First: seen.Position + 1, Last: MaxSeq, Limit: 1, HeadsOnly: true,
	})
	return len(page.Messages) > 0, err
}

// gap does what the queue's policy says of an open gap, and returns the cursor as it is afterwards.
func (r *sweepRun) gap(ctx context.Context, cur Cursor) (Cursor, error) {
	s := r.sorter
	if !cur.GapOpen() {
		return cur, nil
	}
	behind, err := s.firstStored(ctx, cur)
	if err != nil {
		return cur, err
	}
	since := cur.gapSince(behind)
	if age := s.now().Sub(since); !r.full {
		r.seen.Add(tallyGaps, 1)
		r.seen.Peak(tallyGapAge, age)
		r.options.Gap(cur, age)
	}
	if cur.Settings.Policy == PolicyWait {
		return cur, nil
	}
	if due := since.Add(cur.Settings.GapAfter); s.now().Before(due) {
		if cur.Settings.GapAfter > scheduleAhead || since.Before(cur.MovedAt) {
			s.scheduleAt(cur, due)
		}
		return cur, nil
	}
	cur, err = r.announceOpen(ctx, cur, behind, since)
	if err != nil || cur.Settings.Policy != PolicySkip {
		return cur, err
	}
	reason := fmt.Sprintf("skipped after %s", cur.Settings.GapAfter)
	goOn := margin.Half(ctx)
	after, limit := cur.Settings.GapAfter, r.options.SkipLimit
	skipped, advance, err := inside{s}.SkipGap(ctx, cur.Queue, reason, after, limit, goOn)
	r.skipped, r.more = skipped, !goOn()
	for _, run := range skipped {
		r.report.Skipped += int(run.To - run.From)
	}
	r.report.Moves += len(advance.Moves)
	if err != nil {
		return cur, err
	}
	announced := cur.Position + 1
	cur = advance.Cursor
	cur.Announced = announced
	return cur, nil
}
