package cursor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	// maxPlacing is how many places one move gives in a keyed queue: so many that they cost a tenth
	// of a write unit each, the order items included.
	maxPlacing = 6 * queuelog.OrderItemEntries
	// maxClockAhead is how far ahead of a clock read now the clock of who stored a message may be.
	// One that is further ahead is wrong, and its message would wait for it for ever.
	maxClockAhead = 5 * time.Minute
)

// Settled is what a call did to a keyed queue, and what it saw.
type Settled struct {
	// Cursor is the queue's cursor as it was last seen.
	Cursor Cursor
	// Moves are the moves made, by which Placed messages got their places, of which Late were late,
	// Dropped of these dropped, and Unlinked marked so.
	Moves                           []Range
	Placed, Late, Dropped, Unlinked int
	// Stale is how many messages it found of which nobody can say any more whether they have a
	// place: what the log knew of them is gone, or they have seen a position that the queue has not
	// had since its tables were restored. They get none.
	Stale int
	// Waiting is what it saw that waits still.
	Waiting waitCount
	// Overdue is how long ago the first of those was due that had no place when it saw them,
	// whether they have one now or not; 0 where none was due.
	Overdue time.Duration
	// More reports that the time did not last for all of it: call it again.
	More bool
}

// Settle gives the messages of a keyed queue their places that have waited for the settle window,
// and all before these, in the order of their sort keys. It looks at those up to upTo;
// [EverySortKey] is all. What is late gets its place behind the others.
//
// Call it when messages are due; any number may run at once. The functions do it by wake-ups of the
// timer, of which each has the greatest sort key of a batch as upTo, and the sweep does it in each
// round.
//
// It costs two strong reads at least, of the cursor and of what waits, which shows also what was
// placed last; and a write for 144 messages, two more for 24. It does what it can in half of the
// time that the context has left, a move at a time.
//
// We die after any of its steps: what is left is what waits, or a tail that is too long, and the
// next one handles both.
func (s *Sorter) Settle(ctx context.Context, queue string, upTo sortkey.SortKey) (Settled, error) {
	if err := ValidateQueue(queue); err != nil {
		return Settled{}, err
	}
	run := settling{sorter: s, queue: queue, upTo: upTo, goOn: margin.Half(ctx)}
	err := run.all(ctx)
	return run.done, err
}

type settling struct {
	sorter *Sorter
	queue  string
	upTo   sortkey.SortKey
	goOn   func() bool
	// losses is how many looks in a row placed nothing, for another did meanwhile.
	losses int
	done   Settled
	// closing: all that waits is due, whatever its window.
	closing bool
}

// all looks until there is nothing more to do.
func (r *settling) all(ctx context.Context) error {
	for {
		again, err := r.look(ctx)
		if err != nil || !again {
			return err
		}
		if !r.goOn() || r.losses > maxLosses {
			r.done.More = true
			return nil
		}
		if err := r.sorter.waitAfterLoss(ctx, r.losses); err != nil {
			return err
		}
	}
}

type settleLook struct {
	*settling
	// now is from before the cursor was read: who was stored after that may be unseen, and with a
	// later clock would be passed over.
	now time.Time
	cur Cursor
	// first is the watermark when the look began.
	first sortkey.SortKey
	// ahead are the messages beyond the watermark that have no place yet.
	ahead []*incoming
	// placed reports that the look gave places, lost that another did meanwhile.
	placed, lost bool
	// latest is the position as it was looked at again, once, because a message had seen more.
	latest *int64
	// dueBeyond reports that one of those ahead that are not held is due.
	dueBeyond bool
}

// look is steps 2 to 5b, once: it reads what waits, page by page, and gives places to what is due.
// It reports whether it has to begin again.
func (r *settling) look(ctx context.Context) (again bool, err error) {
	l := settleLook{settling: r, now: r.sorter.now()}
	r.done.Waiting, r.done.Stale = waitCount{}, 0
	if l.cur, err = existing(r.sorter.readCursor(ctx, r.queue)); err != nil {
		return false, err
	}
	if !keyed(l.cur) {
		return false, &InvalidError{Field: "queue", Code: invalid.Clash,
			Problem: "is not settled: it is not a keyed queue", Queue: r.queue}
	}
	defer func() {
		r.done.Cursor = l.cur
		if r.losses++; !l.lost || l.placed {
			r.losses = 0
		}
	}()
	l.first = l.cur.High
	// Should who filled the tail have died, all moves would find no room.
	if l.cur, err = r.sorter.flush(ctx, l.cur, queuelog.OrderItemEntries); err != nil {
		return false, err
	}
	after, more := l.cur.Low, l.cur.Low < r.upTo
	for more && !l.lost {
		if !r.goOn() {
			r.done.More = true
			// What was read below the watermark has its place: the next call begins behind it.
			return false, l.raiseLow(ctx, min(after, l.first))
		}
		page, err := r.sorter.store.Waiting(ctx,
			queuelog.WaitingQuery{Queue: r.queue, After: after, UpTo: r.upTo, Strong: true, HeadsOnly: true})
		if err != nil {
			return false, err
		}
		later := r.sorter.now()
		if n := len(page.Waiting); n > 0 {
			after = page.Waiting[n-1].sortKey()
		}
		if more = page.More; !more {
			after = r.upTo
		}
		if again, err = l.page(ctx, page.Waiting, after, later); err != nil || again {
			return again, err
		}
	}
	for _, w := range l.ahead {
		l.done.Waiting.add(w.Arrival, l.cur.Settings.Settle)
	}
	if !l.lost && !l.placed && r.upTo == sortkey.EverySortKey {
		err = l.raiseLow(ctx, l.first)
	}
	return l.lost, err
}

// raiseLow is step 5b: it notes that everything stored up to a sort key, which is at or under the
// watermark that the look began with, has its place.
func (l *settleLook) raiseLow(ctx context.Context, low sortkey.SortKey) (err error) {
	if l.cur.Low < low {
		l.cur, err = l.sorter.remembering(func() (Cursor, error) {
			return l.sorter.store.RaiseLow(ctx, l.queue, low)
		})
	}
	return err
}

// newer reports whether a message has seen a position that the queue has not had. That is so only
// after a restore: a place before what it has seen is one that no repeat finds. Where the queue has
// moved since the look began, the look is lost.
func (l *settleLook) newer(ctx context.Context, a Arrival) (bool, error) {
	if a.Seen <= l.cur.Position {
		return false, nil
	}
	if l.latest == nil {
		cur, err := l.sorter.readCursor(ctx, l.queue)
		if err != nil {
			return false, err
		}
		l.latest = &cur.Position
	}
	l.lost = *l.latest >= a.Seen
	return true, nil
}

// page gives places to what of a page is late, and to what is due now that it was read. Everything
// up to `read` was read. It reports whether the look has to begin again.
func (l *settleLook) page(ctx context.Context, stored []Arrival, read sortkey.SortKey,
	later time.Time) (again bool, err error) {
	var passed []*incoming
	for _, a := range stored {
		newer, err := l.newer(ctx, a)
		switch {
		case err != nil || l.lost:
			return false, err
		case newer:
			l.done.Stale++
		case a.sortKey() > l.cur.High:
			l.isAhead(a, later)
		case !l.cur.Tail.Contains(a.entry()):
			passed = append(passed, &incoming{Arrival: a, seen: a.Seen})
		}
	}
	if len(passed) > 0 {
		if _, err := l.sorter.lookUp(ctx, passed, l.cur); err != nil {
			return false, err
		}
	}
	late := open(passed)
	for _, w := range passed {
		if w.stale {
			l.done.Stale++
		}
	}
	// All that was under the watermark has its place with the next move; or that which is before
	// the first that the move leaves out.
	low := min(read, l.first)
	if len(late) > maxPlacing {
		late, again = late[:maxPlacing], true
		low = late[maxPlacing-1].sortKey()
	}
	due := l.due(later)
	for len(late)+due > 0 {
		n := min(due, maxPlacing-len(late))
		if err := l.move(ctx, late, l.ahead[:n], max(l.cur.Low, low)); err != nil || l.lost {
			return false, err
		}
		// What came in meanwhile, below what is placed now, was not read.
		low = l.cur.Low
		l.ahead, due, late = l.ahead[n:], due-n, nil
		if again || !l.goOn() {
			l.done.More = !again
			return again, nil
		}
	}
	return l.dueBeyond, nil
}

// maxAheadKept is how many messages that wait a look keeps: some megabytes. Those beyond are
// counted, and looked at again when these have their places.
const maxAheadKept = 4096

// isAhead notes a message beyond the watermark.
func (l *settleLook) isAhead(a Arrival, later time.Time) {
	l.done.Overdue = max(l.done.Overdue, later.Sub(a.EnqueuedAt)-l.cur.Settings.Settle)
	if len(l.ahead) < maxAheadKept {
		l.ahead = append(l.ahead, &incoming{Arrival: a, seen: a.Seen})
		return
	}
	l.dueBeyond = l.dueBeyond || l.isDue(a, later)
	l.done.Waiting.add(a, l.cur.Settings.Settle)
}

// isDue reports whether a message has waited for the window, or its clock was wrong by far.
func (l *settleLook) isDue(a Arrival, later time.Time) bool {
	return l.closing || !a.EnqueuedAt.After(l.now.Add(-l.cur.Settings.Settle)) ||
		a.EnqueuedAt.After(later.Add(maxClockAhead))
}

// due is how many of the first messages ahead are to get their places: up to the last one that is
// due itself.
func (l *settleLook) due(later time.Time) int {
	if l.dueBeyond {
		return len(l.ahead)
	}
	for i := len(l.ahead) - 1; i >= 0; i-- {
		if l.isDue(l.ahead[i].Arrival, later) {
			return i + 1
		}
	}
	return 0
}

// move is step 5: it gives places to what is late and to what is due. Where another did so
// meanwhile, or one of the messages is gone, the look is lost.
func (l *settleLook) move(ctx context.Context, late, due []*incoming, low sortkey.SortKey) error {
	s, all := l.sorter, slices.Concat(late, due)
	if err := errors.Join(s.keepStored(ctx, all)...); err != nil {
		if l.lost = errors.Is(err, ErrExpired); l.lost {
			return nil
		}
		return err
	}
	cur, given, err := s.givePlaces(ctx, l.cur, late, due, low)
	if err != nil || !given {
		l.lost = err == nil
		return err
	}
	l.placed = true
	l.done.Moves = append(l.done.Moves, Range{l.cur.Position, cur.Position})
	for _, w := range all {
		l.done.count(w.at.Entry)
	}
	l.cur = cur
	flushed, err := s.flush(ctx, cur, queuelog.OrderItemEntries)
	if err != nil {
		// The places are given. The next move is not made before the tail is flushed.
		l.lost = true
		return nil
	}
	l.lost = flushed.Position != cur.Position // what was read is of another's past
	l.cur = flushed
	return nil
}

func (d *Settled) count(e queuelog.Entry) {
	d.Placed++
	if e.Has(queuelog.MarkLate) {
		d.Late++
	}
	if e.Has(queuelog.MarkDropped) {
		d.Dropped++
	}
	if e.Has(queuelog.MarkUnlinked) {
		d.Unlinked++
	}
}

// givePlaces gives late messages and such as are due the next seqs, and returns the cursor that is
// stored then, and whether it was this request that gave them. The cursor is as it was seen when
// the late ones were looked up.
func (s *Sorter) givePlaces(ctx context.Context, seen Cursor, late, due []*incoming,
	low sortkey.SortKey) (Cursor, bool, error) {
	if int64(len(late)+len(due)) > MaxSeq-seen.Position {
		return Cursor{}, false, fmt.Errorf("queue %q has no seqs left", seen.Queue)
	}
	p := newPlacing(seen)
	p.Low = low
	var entries []queuelog.Entry
	before := seen.Tail.Last()
	add := func(w *incoming, mark queuelog.Mark) {
		e := w.entry()
		e.Mark = queuelog.MarkKeyed | mark
		if w.Prev != "" && !before.IsOf(w.Prev) {
			e.Mark |= queuelog.MarkUnlinked
		}
		if entries = append(entries, e); !e.Has(queuelog.MarkDropped) {
			before = e.Key
		}
		w.at = place{e,
			Range{seen.Position + int64(len(entries)) - 1, seen.Position + int64(len(entries))}}
	}
	for _, w := range late {
		mark := queuelog.MarkLate
		// No equal key is dropped: which is first is a matter of chance. Nor of an era before: its
		// writer did not know that the keys begin anew.
		if seen.Settings.Late == LateDrop && w.Era == seen.High.Era() && w.Key < seen.High.Key() {
			mark |= queuelog.MarkDropped
		}
		add(w, mark)
		p.LateSoFar, p.LateSeq, p.LateInRow = p.LateSoFar+1, w.at.seqs.To, p.LateInRow+1
	}
	for _, w := range due {
		add(w, 0)
		p.High, p.LateInRow = w.sortKey(), 0
	}
	p.Entries = queuelog.NewTail(entries...)
	cur, given, err := s.give(ctx, seen, p)
	if err != nil || !given {
		return cur, false, err
	}
	for _, w := range slices.Concat(late, due) {
		w.found, w.placed = true, true
	}
	return cur, true, nil
}

func newPlacing(seen Cursor) queuelog.Placing {
	return queuelog.Placing{High: seen.High, Low: seen.Low, LateSoFar: seen.LateSoFar,
		LateSeq: seen.LateSeq, LateInRow: seen.LateInRow}
}

// give gives places, and remembers the cursor.
func (s *Sorter) give(ctx context.Context, seen Cursor,
	p queuelog.Placing) (cur Cursor, given bool, err error) {
	return s.moving(func() (Cursor, bool, error) { return s.store.GivePlaces(ctx, seen, p, s.now()) })
}
