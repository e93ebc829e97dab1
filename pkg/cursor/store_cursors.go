package cursor

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

func (s *requests) cursorKey(queue string) ddb.Item {
	return ddb.Fields{s.queueKey: ddb.Text(queue)}.Item()
}

func (s *requests) decodeCursor(it ddb.Item) (Cursor, error) {
	return ddb.Decoded(it, func(it ddb.Item) (Cursor, error) { return decodeCursor(it, s.names) })
}

// CreateCursor stores c if its queue has no cursor, and returns the cursor that is stored
// afterwards: c itself, or the one that was there. One PutItem; 1 write unit.
//
// Lost response: the repeat finds our own cursor and returns it. Another did it first: theirs is
// returned. We die right after: a cursor without messages, which is a queue at its start.
func (s *requests) CreateCursor(ctx context.Context, c Cursor) (Cursor, error) {
	a, err := s.put(ctx, "create cursor", s.cursors, encodeCursor(c, s.names), s.queueKey.Missing())
	if err != nil || a.Held {
		return c, err
	}
	return s.decodeCursor(a.Item)
}

// Cursor reads a queue's cursor; the zero Cursor where none exists. One GetItem; 1 read unit
// strong, half a unit otherwise.
func (s *requests) Cursor(ctx context.Context, queue string, strong bool) (Cursor, error) {
	it, err := s.get(ctx, "get cursor", s.cursors, s.cursorKey(queue), strong)
	if err != nil {
		return Cursor{}, err
	}
	return s.decodeCursor(it)
}

// update changes a queue's cursor if the condition holds.
func (s *requests) update(ctx context.Context, op, queue string, condition ddb.Cond,
	do ...ddb.Action) (Cursor, bool, error) {
	a, err := s.engine.Do(ctx, ddb.Update{
		Op: ddb.Op{Op: op, Table: s.cursors}, Key: s.cursorKey(queue), If: condition, Do: do,
	})
	if err != nil {
		return Cursor{}, false, err
	}
	c, err := s.decodeCursor(a.Item)
	return c, a.Held, err
}

// Queues in arrival order and keyed ones have a tail, and keyed ones a greatest key.
var (
	isNumbered     = attrTailFrom.Missing()
	isArrivalOrder = attrFingerprintsFrom.Exists()
	isKeyed        = attrHigh.Exists()
)

// Move sets the position of a numbered queue to over.To if it is over.From, and MovedAt to now,
// unless it would fill a gap that the caller does not know of: Parked is at most parked, or beyond
// over.To.
//
// Lost response: the repeat fails, and the cursor it returns is at over.To or beyond. Another did
// it first: the same. We die right after: what is parked beyond over.To waits for the next writer,
// the stream's handler or the sweep.
func (s *requests) Move(ctx context.Context, queue string, over Range, parked int64,
	now time.Time) (Cursor, bool, error) {
	known := ddb.Or(attrMaxParked.Le(ddb.Int(parked)), attrMaxParked.Gt(ddb.Int(over.To)))
	return s.update(ctx, "move", queue,
		ddb.And(attrPosition.Eq(ddb.Int(over.From)), known, isNumbered),
		attrPosition.Set(ddb.Int(over.To)), attrMovedAt.Set(ddb.Millis(now)), changeAdvance)
}

// MoveAndPark is Move, and raises Parked to parked, if it is less than that. The message under
// parked, beyond over.To, must be stored: where it is the next one, the gap that it leaves open is
// not, and brings the sweep.
//
// Lost response, another did it first: as with Move; or Parked is higher, and the position is
// over.From. We die right after: what waits beyond is on record.
func (s *requests) MoveAndPark(ctx context.Context, queue string, over Range, parked int64,
	now time.Time) (Cursor, bool, error) {
	return s.update(ctx, "move and park", queue,
		ddb.And(attrPosition.Eq(ddb.Int(over.From)), attrMaxParked.Lt(ddb.Int(parked)), isNumbered),
		attrPosition.Set(ddb.Int(over.To)), attrMaxParked.Set(ddb.Int(parked)),
		attrMovedAt.Set(ddb.Millis(now)), changeAdvance)
}

// OpenGap raises Parked to seq of a numbered queue and sets MovedAt to now, if the position is
// before seq-1 and no gap is open.
//
// Lost response: the repeat fails, and returns Parked at seq. Another did it first: theirs is
// returned. We die right after: the gap is on record, which was all.
func (s *requests) OpenGap(ctx context.Context, queue string, seq int64,
	now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, "open gap", queue,
		ddb.And(attrPosition.Lt(ddb.Int(seq-1)), attrMaxParked.Le(attrPosition.Ref()), isNumbered),
		attrMaxParked.Set(ddb.Int(seq)), attrMovedAt.Set(ddb.Millis(now)), changePark)
	return c, err
}

// LeaveToSweep raises Parked to seq of a numbered queue and sets MovedAt to now, if the position is
// before seq and no gap is open: the sweep then looks at the queue. The message under seq must be
// stored.
//
// Lost response: the repeat fails, and the gap is open. Another did it first: the gap that is open
// brings the sweep as well. We die right after: the same.
func (s *requests) LeaveToSweep(ctx context.Context, queue string, seq int64,
	now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, "leave to sweep", queue,
		ddb.And(attrPosition.Lt(ddb.Int(seq)), attrMaxParked.Le(attrPosition.Ref()), isNumbered),
		attrMaxParked.Set(ddb.Int(seq)), attrMovedAt.Set(ddb.Millis(now)), changePark)
	return c, err
}

// Configure changes the settings of a queue that exists, where First, Kind and KeyType, if given,
// are the queue's, and it is a keyed one where Settle or Late are, with times in its keys where
// ClockAhead is.
//
// Lost response: the repeat sets the same values again. Another did it first: the last one wins,
// setting by setting. We die right after: nothing is left to do.
func (s *requests) Configure(ctx context.Context, queue string,
	change Change) (Cursor, bool, error) {
	return s.update(ctx, "configure", queue, ddb.And(isLive, change.fits()),
		append(change.actions(), changeOther)...)
}

// fits is the condition that a queue's settings that are fixed are those of the change.
func (c Change) fits() ddb.Cond {
	var first, kind, keyType, keyed ddb.Cond
	if c.KeyType != nil {
		keyType = attrKeyType.Eq(ddb.Text(string(*c.KeyType)))
	}
	if c.Settle != nil || c.Late != nil {
		keyed = isKeyed
	}
	if c.ClockAhead != nil {
		keyed = attrClockAhead.Exists()
	}
	if c.First != nil {
		first = attrFirst.Eq(ddb.Int(*c.First))
	}
	if c.Kind != nil {
		kind = map[Kind]ddb.Cond{KindNumbered: isNumbered, KindArrival: isArrivalOrder,
			KindKeyed: isKeyed}[*c.Kind]
	}
	return ddb.And(first, kind, keyType, keyed)
}

// actions make the change in a cursor's item.
func (c Change) actions() (actions []ddb.Action) {
	for name, value := range changes.All(&c) {
		if value.Kind() != ddb.None {
			actions = append(actions, name.Set(value))
		}
	}
	return actions
}

// Announce notes which gap was announced: Announced becomes seq, or -1, if it was `was`. It reports
// whether Announced is seq afterwards.
//
// Lost response: the repeat fails on its own value and reports true. Another did it first: reported
// as it stands. We die right after: the announcement went out before, and is not repeated under
// another id.
func (s *requests) Announce(ctx context.Context, queue string, was, seq int64) (bool, error) {
	is := attrAnnounced.Missing()
	if was != noneAnnounced {
		is = attrAnnounced.Eq(ddb.Int(was))
	}
	c, _, err := s.update(ctx, "announce", queue,
		ddb.And(isLive, is), attrAnnounced.Set(announced(seq)), changeOther)
	return c.Exists() && c.Announced == seq, err
}

// Notify sets Notified to now, if the queue has a cursor: the cursors' stream then has a record of
// an advance over nothing, which wakes the queue's consumers up.
//
// Lost response, another did it first: one more record, of no effect. We die right after: nothing
// is left to do.
func (s *requests) Notify(ctx context.Context, queue string, now time.Time) error {
	_, _, err := s.update(ctx, "notify", queue, isLive,
		attrNotified.Set(ddb.Millis(now)), changeAdvance)
	return err
}

// RaiseFloor raises Floor and sets FloorSince to now, if the position is not below it.
//
// Lost response: the repeat fails, and returns the floor raised. Another did it first: theirs is
// returned, which may be higher. We die right after: messages that nobody needs stay until the next
// call.
func (s *requests) RaiseFloor(ctx context.Context, queue string, floor int64,
	now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, "raise floor", queue,
		ddb.And(attrPosition.Ge(ddb.Int(floor)),
			ddb.Or(attrFloor.Missing(), attrFloor.Lt(ddb.Int(floor)))),
		attrFloor.Set(ddb.Int(floor)), attrFloorAt.Set(ddb.Millis(now)), changeOther)
	return c, err
}

type cursorScan struct {
	// Segment is from 0 to Segments-1: each cursor is in exactly one segment.
	Segment, Segments int
	// After is the Next of the page before, empty for the first.
	After string
	// Limit is the most cursors that are looked at; 0 means as many as 1 MB has.
	Limit int
	// Only leaves queues out. The price is the same.
	Only cursorFilter
}

// cursorFilter says which cursors a scan shows: those that one of its fields asks for. The zero
// CursorFilter is all.
type cursorFilter struct {
	// Gaps asks for queues with an open gap or with an announced one, for keyed queues, and for
	// those that are being erased.
	Gaps bool
	// MovedSince, where it is not zero, asks for queues whose position was moved or notified at
	// that time or later.
	MovedSince time.Time
}

func (f cursorFilter) all() bool { return !f.Gaps && f.MovedSince.IsZero() }

func (f cursorFilter) condition() ddb.Cond {
	var asked []ddb.Cond
	if f.Gaps {
		asked = append(asked, attrMaxParked.Gt(attrPosition.Ref()), attrAnnounced.Exists(),
			isKeyed, isBeingErased)
	}
	if !f.MovedSince.IsZero() {
		since := ddb.Millis(f.MovedSince)
		asked = append(asked, attrMovedAt.Ge(since), attrNotified.Ge(since))
	}
	return ddb.Or(asked...)
}

type cursorPage struct {
	Cursors []Cursor
	// Unreadable are the queues whose items are no cursors, or those of a newer version. The page
	// has the others all the same.
	Unreadable []unreadableError
	// Next is where the next page starts; empty after the last.
	Next string
}

// unreadableError says what is wrong with the item that a queue has for a cursor.
type unreadableError struct {
	Queue string
	Err   error
}

func (e unreadableError) Error() string { return fmt.Sprintf("queue %q: %v", e.Queue, e.Err) }

// Unwrap is what is wrong.
func (e unreadableError) Unwrap() error { return e.Err }

// Cursors reads one page of one segment of all cursors, not strongly. One Scan; half a unit for
// each 4 KB that are looked at, about 35 cursors.
func (s *requests) Cursors(ctx context.Context, scan cursorScan) (cursorPage, error) {
	r := ddb.Scan{
		Op: ddb.Op{Op: "scan cursors", Table: s.cursors}, Filter: scan.Only.condition(),
		Segment: scan.Segment, Segments: scan.Segments, Limit: scan.Limit,
	}
	if scan.After != "" {
		r.After = s.cursorKey(scan.After)
	}
	a, err := s.engine.Do(ctx, r)
	if err != nil {
		return cursorPage{}, err
	}
	page := cursorPage{Next: a.Next.Get(s.queueKey).Str()}
	for _, it := range a.Items {
		c, err := s.decodeCursor(it)
		if err != nil {
			page.Unreadable = append(page.Unreadable, unreadableError{it.Get(s.queueKey).Str(), err})
			continue
		}
		page.Cursors = append(page.Cursors, c)
	}
	return page, nil
}
