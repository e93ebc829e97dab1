package cursor

import (
	"context"
	"time"
)

// Store is the sorter's view of its tables. [Dynamo] is the real one,
// [Memory] the one for tests and simulation; package cursortest holds every
// implementation to what is said here.
//
// Every method is exactly one request. Writes are atomic and durable when the
// method returns nil; a strong read sees every write that was answered before
// it began; a read that is not strong may show an older state. All methods may
// be called by any number of goroutines.
//
// A method that returns an error may have taken effect all the same, and a
// request may take effect twice (the SDK repeats one whose response is lost).
// So each write is made such that its second run changes nothing, and answers
// with the item that stands there: the caller looks, then decides.
type Store interface {
	// CreateCursor stores c if its queue has no cursor, and returns the cursor
	// that stands there afterwards: c itself, or the one that was there.
	//
	// Lost response: the repeat finds our own cursor and returns it. Another
	// did it first: theirs is returned. We die right after: a cursor without
	// messages, which is a queue at its start.
	CreateCursor(ctx context.Context, c Cursor) (Cursor, error)

	// Cursor reads a queue's cursor; the zero Cursor where there is none.
	Cursor(ctx context.Context, queue string, strong bool) (Cursor, error)

	// Move sets the position of a numbered queue to `to` if it is `from`, and
	// GapSince to now. It
	// returns the cursor that stands there afterwards, and whether this
	// request moved it.
	//
	// Lost response: the repeat fails, and the cursor it returns is at `to` or
	// beyond. Another did it first: the same. We die right after: what is
	// parked beyond `to` waits for the next writer, the stream's handler or
	// the sweep.
	Move(ctx context.Context, queue string, from, to int64, now time.Time) (Cursor, bool, error)

	// OpenGap raises Parked to seq of a numbered queue and sets GapSince to now, if the position
	// is before seq-1, no gap is open, and Parked is less than seq. It returns
	// the cursor that stands there afterwards.
	//
	// Lost response: the repeat fails, and returns Parked at seq. Another did
	// it first: theirs is returned, and may need WidenGap. We die right after:
	// the gap is on record, which was all.
	OpenGap(ctx context.Context, queue string, seq int64, now time.Time) (Cursor, error)

	// WidenGap raises Parked to seq and keeps GapSince, if the position is
	// before seq-1, a gap is open, and Parked is less than seq. The rest is as
	// with OpenGap.
	WidenGap(ctx context.Context, queue string, seq int64) (Cursor, error)

	// Configure changes the settings of a queue that exists, where First and
	// Kind, if given, are the queue's. It returns the cursor that stands there
	// afterwards (the zero Cursor where there is none) and whether the change
	// was made.
	//
	// Lost response: the repeat sets the same values again. Another did it
	// first: the last one wins, setting by setting. We die right after:
	// nothing is left to do.
	Configure(ctx context.Context, queue string, change Change) (Cursor, bool, error)

	// Announce notes which gap was announced: Announced becomes seq, or -1, if
	// it was `was`. It reports whether Announced is seq afterwards.
	//
	// Lost response: the repeat fails on its own value and reports true.
	// Another did it first: reported as it stands. We die right after: the
	// announcement went out before, and is not repeated under another id.
	Announce(ctx context.Context, queue string, was, seq int64) (bool, error)

	// Nudge sets Nudged to now, if the queue has a cursor: the cursors' stream
	// then has a record of an advance over nothing, which wakes the queue's
	// consumers up.
	//
	// Lost response, another did it first: one more record, of no effect. We
	// die right after: nothing is left to do.
	Nudge(ctx context.Context, queue string, now time.Time) error

	// RaiseFloor raises Floor and sets FloorSince to now, if the position is not below it. It returns the
	// cursor that stands there afterwards, the zero Cursor where there is none.
	//
	// Lost response: the repeat fails, and returns the floor raised. Another
	// did it first: theirs is returned, which may be higher. We die right
	// after: messages that nobody needs stay until the next call.
	RaiseFloor(ctx context.Context, queue string, floor int64, now time.Time) (Cursor, error)

	// Cursors reads one page of one segment of all cursors, not strongly.
	Cursors(ctx context.Context, scan CursorScan) (CursorPage, error)

	// PutMessage stores m if nothing is stored under its queue and seq, and
	// returns the message that stands there afterwards.
	//
	// Lost response: the repeat fails, and the message returned bears our own
	// Op. Another did it first: theirs is returned. We die right after: the
	// message waits for the stream's handler or the sweep.
	PutMessage(ctx context.Context, m Message) (Message, error)

	// Message reads one message strongly, and whether there is one.
	Message(ctx context.Context, queue string, seq int64) (Message, bool, error)

	// Messages reads the messages of a range in the order of their seqs, or
	// backwards. Order items are no messages: a queue in arrival order has none.
	Messages(ctx context.Context, query Query) (Page, error)

	// KeepUntil pushes a message's ExpiresOn to a later time, if the message
	// is there and its time is earlier, and reports whether the message is
	// there. A message that is gone stays gone.
	//
	// Lost response, another did it first: the time is as late as asked for or
	// later, and the repeat changes nothing. We die right after: nothing is
	// left to do.
	KeepUntil(ctx context.Context, queue string, seq int64, until time.Time) (there bool, err error)

	// DeleteMessages deletes up to 25 messages, whether or not they are there,
	// and returns the seqs of those that the server left undone.
	//
	// Lost response, another did it first: nothing is there, as asked for. We
	// die right after: nothing is left to do.
	DeleteMessages(ctx context.Context, queue string, seqs []int64) (left []int64, err error)

	ArrivalStore

	// SweepProgress reads strongly how far a sweep has come; the zero Progress
	// where it never ran.
	SweepProgress(ctx context.Context, name string) (Progress, error)

	// SaveSweepProgress stores how far a sweep has come.
	//
	// Lost response: the repeat stores the same. Another did it first: either
	// value is a place up to which everything was visited. We die right after:
	// the next run goes on from here.
	SaveSweepProgress(ctx context.Context, p Progress) error
}

// Query asks for the messages with First <= seq <= Last.
type Query struct {
	Queue       string
	First, Last int64
	// Limit is the most that is returned; 0 means as much as one request can
	// read (1 MB).
	Limit int
	// Strong asks for a strong read, at twice the price.
	Strong bool
	// Backwards reads from Last down to First.
	Backwards bool
	// HeadsOnly leaves out bodies, attributes, ids and digests. The price is
	// the same: DynamoDB reads the whole item.
	HeadsOnly bool
}

// Page is a part of an answer.
type Page struct {
	Messages []Message
	// More is true where the range may hold more than this page.
	More bool
}

// CursorScan asks for a page of all cursors.
type CursorScan struct {
	// Segment is from 0 to Segments-1: each cursor is in exactly one segment.
	Segment, Segments int
	// After is the CursorPage.Next of the page before, empty for the first.
	After string
	// Limit is the most cursors that are looked at.
	Limit int
	// Only leaves queues out. The price is the same.
	Only CursorFilter
}

// CursorFilter says which cursors a scan shows. The zero CursorFilter is all.
type CursorFilter struct {
	// Gaps leaves out queues without an open gap and without an announced one.
	Gaps bool
	// MovedSince, where it is not zero, leaves out queues whose position was
	// neither moved nor nudged at that time or later.
	MovedSince time.Time
}

// CursorPage is a page of all cursors.
type CursorPage struct {
	Cursors []Cursor
	// Next is where the next page starts; empty after the last.
	Next string
}

// Progress is how far a sweep has come in one segment.
type Progress struct {
	// Name is the sweep's name.
	Name string
	// After is the last page's CursorPage.Next; empty between two rounds.
	After string
	// Began is when the round began, to the millisecond; Before, where a visit
	// failed in it.
	Began time.Time
	// Before is when the round before it began; the zero time where there was
	// none.
	Before time.Time
	// Finished is when the last whole round ended, to the millisecond.
	Finished time.Time
}
