package cursor

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/tally"
)

// scheduleAhead is how far ahead the writer that opens a gap schedules its wake-up. The sweep,
// which sees every open gap, schedules those that were farther ahead.
const scheduleAhead = time.Hour

// due is when the policy has something done about the queue's gap, at the latest; the zero time
// where it has not, or where all was done.
func (c Cursor) due() time.Time {
	if c.Erased() || !c.GapOpen() || c.Settings.Policy == PolicyWait ||
		c.Settings.Policy == PolicyAlert && c.Announced == c.Position+1 {
		return time.Time{}
	}
	return c.MovedAt.Add(c.Settings.GapAfter)
}

// schedule schedules a wake-up for when the gap of a queue is due at the latest.
func (s *Sorter) schedule(c Cursor) { s.scheduleAt(c, c.due()) }

// scheduleAt schedules a wake-up of a queue, unless that is more than an hour ahead.
func (s *Sorter) scheduleAt(c Cursor, due time.Time) {
	if s.wakeUp != nil && !due.IsZero() && due.Sub(s.now()) <= scheduleAhead {
		s.wakeUp(c.Queue, due)
	}
}

// Wake does for one queue what the sweep does, if its gap is as old as its policy allows. It
// returns when the gap is due: the zero time where none exists, or nothing more is to be done about
// it. Call it when [Options].WakeUp said, or at any other time.
//
// It costs one or two strong reads where nothing is due.
func (s *Sorter) Wake(ctx context.Context, queue string,
	options SweepOptions) (SweepReport, time.Time, error) {
	o, err := s.sweepOptions(options)
	if err == nil {
		err = ValidateQueue(queue)
	}
	if err != nil {
		return SweepReport{}, time.Time{}, err
	}
	cur, err := s.readCursor(ctx, queue)
	if errors.Is(err, ErrErased) {
		return SweepReport{}, time.Time{}, nil
	}
	due := cur.due()
	if err == nil && due.After(s.now()) {
		var behind Message
		behind, err = s.firstStored(ctx, cur)
		due = cur.gapSince(behind).Add(cur.Settings.GapAfter)
	}
	if err != nil || due.IsZero() || due.After(s.now()) {
		return SweepReport{}, due, err
	}
	run := &sweep{sorter: s, options: o}
	run.visit(ctx, cur, true, &tally.Tally{})
	if len(run.rest) == 0 {
		due = time.Time{}
	}
	return run.report, due, errors.Join(run.errs...)
}
