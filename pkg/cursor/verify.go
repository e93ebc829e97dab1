package cursor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// Bounds of what [Sorter.Verify] reports.
const (
	// maxFaults is how many faults are named; the rest are counted.
	maxFaults = 100
	// maxHoles is how many holes are remembered until it is known whether what was there expired;
	// the last one goes on over what is stored then.
	maxHoles = 100_000
)

// standsAfter is how long a message may be stored behind the position: its writer, or the next one,
// moves it.
const standsAfter = time.Minute

// logFault is something of a queue that must not be.
type logFault struct {
	// Range is the seqs that it is about.
	Range
	// Problem says what is wrong with them.
	Problem string
}

// Verified is what [Sorter.Verify] has found so far.
type Verified struct {
	// Cursor is the queue's as the reading began.
	Cursor Cursor
	// Range is what is looked at, Last the seq up to which it is.
	Range
	Last int64
	// Messages are those that are there, Tombstones the seqs that were skipped or dropped.
	Messages, Tombstones int64
	// Gone is how many seqs are not stored any more because they expired or were deleted, and
	// GoneTo the last of them.
	Gone, GoneTo int64
	// Faults are the first of what must not be, and Wrong how many there are. Both are whole at the
	// end.
	Faults []logFault
	Wrong  int
}

// Verify reads what a queue has stored of a range, and proves that it is whole: each seq up to the
// position is stored once, alone or by one place of the order, and is what was put, as its digest
// says. To may be MaxSeq, for the position. What expired, or was deleted below the floor, is no
// fault. It reads only, and yields what it has found after each request; the last is the result.
//
// It costs 1 read unit for each 4 KB, all reads being strong, and for each arrival of a queue in
// arrival order, and two reads of the cursor. A queue that is not there is [ErrNoQueue].
func (s *Sorter) Verify(ctx context.Context, queue string, of Range) iter.Seq2[Verified, error] {
	return func(yield func(Verified, error) bool) {
		v, err := s.verifier(ctx, queue, of)
		if err != nil {
			yield(Verified{}, err)
			return
		}
		walk := v.items
		if !numbered(v.Cursor) {
			walk = v.places
		}
		for err := range walk(ctx) {
			if !yield(v.Verified, err) || err != nil {
				return
			}
		}
		err = v.end(ctx)
		yield(v.Verified, err)
	}
}

type verifier struct {
	*Sorter
	Verified
	// holes are seqs that are not stored, where nobody knows yet whether they must be.
	holes []Range
	// first is the first seq that is stored, where any is; expires reports whether it does at all.
	// expired is the last one that did, and is stored still.
	stored, expires bool
	first, expired  int64
}

func (s *Sorter) verifier(ctx context.Context, queue string, of Range) (*verifier, error) {
	if err := ValidateQueue(queue); err != nil {
		return nil, err
	}
	cur, err := existing(s.readCursor(ctx, queue))
	if err != nil {
		return nil, err
	}
	of.From, of.To = max(of.From, cur.Settings.First-1), min(of.To, cur.Position)
	return &verifier{Sorter: s, Verified: Verified{Cursor: cur, Range: of, Last: of.From},
		expired: of.From}, nil
}

// items looks at the messages of a numbered queue, as they are stored.
func (v *verifier) items(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		for more := true; more && v.Last < v.To; {
			page, err := v.store.Messages(ctx,
				queuelog.Query{Queue: v.Cursor.Queue, First: v.Last + 1, Last: v.To, Strong: true})
			for _, m := range page.Messages {
				v.item(m)
			}
			if more = err == nil && page.More; !yield(err) {
				return
			}
		}
		v.upTo(v.To)
	}
}

func (v *verifier) item(m Message) {
	at := Range{m.Seq - 1, m.Seq}
	v.upTo(at.From)
	v.expiry(at, m.ExpiresOn)
	switch {
	case m.Tombstone != "":
		v.Tombstones++
	case !bytes.Equal(m.digest(), m.Digest):
		v.wrong(at, "is not what was put: its digest is another")
	default:
		v.Messages++
	}
	v.Last = m.Seq
}

// places looks at the order of a queue in arrival order, or of a keyed one, and at what has its
// places.
func (v *verifier) places(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		for v.Last < v.To {
			whole, err := v.order(ctx, yield)
			switch {
			case errors.Is(err, errEnough):
				return
			case err == nil && whole:
				v.upTo(v.To)
				return
			case err == nil:
				err = v.overHole(ctx)
			}
			if err != nil {
				yield(err)
				return
			}
		}
	}
}

// errEnough: the reader wants no more.
var errEnough = errors.New("enough")

// order looks at the places up to the first order item that is not there, and reports whether there
// was none.
func (v *verifier) order(ctx context.Context, yield func(error) bool) (whole bool, err error) {
	most := maxArrivals
	if keyed(v.Cursor) {
		most = maxWaiting
	}
	for part, err := range v.parts(ctx, v.Cursor, v.Last, v.To) {
		if errors.As(err, new(*MissingError)) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if part.after < v.Last && v.Last > v.From {
			v.wrong(Range{part.after, v.Last}, "has two places in the order")
		}
		for places := part.within(v.Last,
			v.To); len(places) > 0; places = places[min(most, len(places)):] {
			if err := v.arrived(ctx, places[:min(most, len(places))]); err != nil {
				return false, err
			}
			if !yield(nil) {
				return false, errEnough
			}
		}
	}
	return true, nil
}

// overHole goes on behind an order item that is not there.
func (v *verifier) overHole(ctx context.Context) error {
	page, err := v.store.OrderItems(ctx, queuelog.Query{Queue: v.Cursor.Queue, First: v.Last + 1,
		Last: v.Cursor.TailFrom, Limit: 1, Strong: true})
	if err != nil {
		return err
	}
	next := v.Cursor.TailFrom
	if len(page.Items) > 0 {
		next = page.Items[0].After()
	}
	v.upTo(min(max(next, v.Last+1), v.To))
	return nil
}

func (v *verifier) arrived(ctx context.Context, places []place) error {
	found, err := v.arrivals(ctx, v.Cursor.Queue, places, false, true)
	if err != nil {
		return err
	}
	for _, p := range places {
		a, there := found[p.Entry]
		in := min(p.seqs.To, v.To) - max(p.seqs.From, v.Last)
		switch {
		case p.Has(queuelog.MarkDropped):
			v.Tombstones += in
		case !there:
			v.upTo(min(p.seqs.To, v.To))
		case !a.isAsPut():
			v.wrong(p.seqs, "is not what was put: its digest is another")
		default:
			v.Messages += in
		}
		if there {
			v.expiry(p.seqs, a.ExpiresOn)
		}
		v.Last = min(max(v.Last, p.seqs.To), v.To)
	}
	return nil
}

// isAsPut reports whether an arrival that was read is the one that was put. A message that has the
// arrival's id is stored without it.
func (a *Arrival) isAsPut() bool {
	if bytes.Equal(a.digest(), a.Digest) {
		return true
	}
	if len(a.Messages) != 1 || a.Messages[0].ID != "" {
		return false
	}
	named := Arrival{Prev: a.Prev, Messages: []Message{a.Messages[0]}}
	named.Messages[0].ID = a.ID
	return bytes.Equal(named.digest(), a.Digest)
}

func (v *verifier) expiry(of Range, on time.Time) {
	if !v.stored {
		v.stored, v.first, v.expires = true, of.From+1, !on.IsZero()
	}
	if !on.IsZero() && !v.now().Before(on) {
		v.expired = max(v.expired, of.To)
	}
}

// upTo notes a hole up to a seq, if there is one.
func (v *verifier) upTo(seq int64) {
	if seq <= v.Last {
		return
	}
	hole := Range{v.Last, seq}
	v.Last = seq
	if n := len(v.holes); n > 0 && (v.holes[n-1].To == hole.From || n == maxHoles) {
		v.holes[n-1].To = seq
		return
	}
	v.holes = append(v.holes, hole)
}

func (v *verifier) wrong(at Range, problem string) {
	if v.Wrong++; v.Wrong <= maxFaults {
		v.Faults = append(v.Faults, logFault{at, problem})
	}
}

// end tells what is missing from what expired or was deleted, and whether the queue stands still.
func (v *verifier) end(ctx context.Context) error {
	cur, err := v.readCursor(ctx, v.Cursor.Queue) // what was deleted meanwhile is below its floor
	if err != nil {
		return err
	}
	gone := max(cur.Floor, v.expired)
	if len(v.holes) > 0 && (!v.stored || v.expires && v.holes[0].To < v.first) {
		below, err := v.storedUpTo(ctx, v.From)
		switch {
		case err != nil:
			return err
		case !below && !v.stored:
			gone = v.To
		case !below:
			gone = max(gone, v.first-1)
		}
	}
	for _, hole := range v.holes {
		switch {
		case hole.To <= gone:
			v.Gone += hole.To - hole.From
			v.GoneTo = hole.To
		default:
			hole.From = max(hole.From, min(cur.Floor, hole.To-1))
			v.wrong(hole, "is not stored")
		}
	}
	if v.To < v.Cursor.Position {
		return nil
	}
	return v.stands(ctx, cur)
}

// storedUpTo reports whether anything is stored at or under a seq.
func (v *verifier) storedUpTo(ctx context.Context, seq int64) (bool, error) {
	if seq < v.Cursor.Settings.First {
		return false, nil
	}
	q := queuelog.Query{Queue: v.Cursor.Queue, First: v.Cursor.Settings.First, Last: seq, Limit: 1,
		Strong: true, HeadsOnly: true}
	if !numbered(v.Cursor) {
		page, err := v.store.OrderItems(ctx, q)
		return len(page.Items) > 0, err
	}
	page, err := v.store.Messages(ctx, q)
	return len(page.Messages) > 0, err
}

// stands looks whether the message behind the position is stored, and has been for long.
func (v *verifier) stands(ctx context.Context, cur Cursor) error {
	if !numbered(cur) || cur.Position == MaxSeq {
		return nil
	}
	m, there, err := v.store.Message(ctx, cur.Queue, cur.Position+1)
	if err != nil || !there {
		return err
	}
	if age := v.now().Sub(m.EnqueuedAt); age > standsAfter {
		v.wrong(Range{cur.Position, m.Seq},
			fmt.Sprintf("is stored since %v, and the position is not moved over it", age.Round(time.Second)))
	}
	return nil
}
