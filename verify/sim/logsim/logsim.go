// Package logsim is what the simulators of queues with a log share, those in arrival order and
// keyed ones: [Reader] reads such a queue, [Whole] checks that its log is, and [Store] and
// [Shown] are for their tables.
package logsim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// IsFault reports whether an error is one that the simulator made.
func IsFault(err error) bool { return errors.Is(err, sim.ErrFault) || errors.Is(err, sim.ErrDead) }

// Shown is an answer that shows a part of the items only, as a weak read may.
func Shown(now func() (ddb.Answer, error), part func(items []ddb.Item) []ddb.Item) func() (ddb.Answer, error) {
	return func() (ddb.Answer, error) {
		a, err := now()
		a.Items = part(slices.Clip(a.Items))
		return a, err
	}
}

// WithoutFirst and WithoutLast are parts to show.
func WithoutFirst(items []ddb.Item) []ddb.Item { return items[min(1, len(items)):] }

// WithoutLast is all but the last.
func WithoutLast(items []ddb.Item) []ddb.Item { return items[:max(len(items)-1, 0)] }

// Whole checks that the log of a queue is in its order items and in the tail of its cursor, but
// for what may be gone, up to a seq. The order items that others made do not expire, and may
// stand before one that has. same checks a run of entries behind a seq; name is the invariant's.
func Whole(name string, c cursor.Cursor, items []queuelog.OrderItem, gone func() int64, same func(entries queuelog.Tail, after int64) error) error {
	at := c.TailFrom
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Last > at {
			continue // in the tail still
		}
		if items[i].Last < at && at > gone() {
			return fmt.Errorf("%s: no place is known of seq %d", name, at)
		}
		at = items[i].Last - items[i].Entries.Seqs()
		if err := same(items[i].Entries, at); err != nil {
			return err
		}
	}
	if at > gone() {
		return fmt.Errorf("%s: no place is known of seq %d", name, at)
	}
	return same(c.Tail, c.TailFrom)
}

// Reader reads what has come to a queue, so many times, each time in a process that knows
// nothing. Position is how far the queue is; Sorter makes a process; Take gets each message,
// with the seq before it.
type Reader struct {
	Run      *sim.Run
	Queue    string
	Position func() int64
	Sorter   func(*sim.Proc) *cursor.Sorter
	Take     func(after int64, m cursor.Message) error
	// Delivered is the seq up to which it has read, Running how many of the model's actors are
	// in the middle of something.
	Delivered *int64
	Running   *int
}

// Go has it read.
func (r *Reader) Go(times int) {
	r.Run.Go("reader", func(p *sim.Proc) {
		for i := range times {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("look"), func() bool { return r.Position() > *r.Delivered }, "") < 0 {
				return
			}
			*r.Running++
			err := r.once(p)
			*r.Running--
			if p.Dead() {
				return
			}
			if err != nil {
				r.Run.Violation("the reader: %v", err)
			}
		}
	})
}

func (r *Reader) once(p *sim.Proc) error {
	s := r.Sorter(p)
	cur, err := s.Status(context.Background(), r.Queue)
	if err != nil {
		return nil
	}
	after := *r.Delivered
	for m, err := range s.Read(context.Background(), r.Queue, after, cur.Position) {
		if p.Dead() || IsFault(err) {
			return nil
		}
		if err == nil {
			err = r.Take(after, m)
		}
		if err != nil {
			return err
		}
		after = m.Seq
	}
	*r.Delivered = after
	return nil
}
