package cursor

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// RestartedBy reports whether it was the order of this name that last had the queue's keys begin
// anew.
func (c Cursor) RestartedBy(op string) bool { return c.Restart == string(sortkey.TieBreak(op)) }

// RestartKeys begins the keys of a keyed queue anew, for senders whose counter began again: it
// gives all that waits its place at once, whatever the settle window, and closes this era of the
// queue by an entry in the log. Readers get that as a tombstone. What is put from then on belongs
// to the next era, whose keys are greater than all before: order holds within each era. The order
// op is a name for the restart; the same one again does nothing, unless another came in between.
//
// A message is known by key and id within its era: what was put before, and is put again later, is
// another message. One whose writer had looked at the queue before, up to 10 seconds ago, or that
// was stored while this call ran, is of the era before: it stands late behind the entry, is never
// dropped, and under a key and id of that era it is a duplicate or a conflict.
//
// Cost: that of [Sorter.Settle], a read, and a write.
//
// Lost response: the cursor has the hash of op, so a repeat finds what it did. Another gave places
// first: all is looked at anew. We die before the write: the queue is settled early, and nothing
// else. We die right after it: nothing is left to do.
func (s *Sorter) RestartKeys(ctx context.Context, queue, op string) (Cursor, error) {
	if err := ValidateQueue(queue); err != nil {
		return Cursor{}, err
	}
	run := settling{sorter: s, queue: queue, upTo: sortkey.EverySortKey,
		goOn: margin.Half(ctx), closing: true}
	for lost := 0; ; lost++ {
		cur, err := s.readCursor(ctx, queue)
		if err != nil || cur.RestartedBy(op) {
			return cur, err
		}
		if err := run.all(ctx); err != nil {
			return cur, err
		}
		if cur = run.done.Cursor; run.done.More || lost > maxLosses {
			return cur, fmt.Errorf("queue %q: what waits is not settled yet: %w", queue, ErrThrottled)
		}
		if cur.High.Era() == sortkey.LastEra {
			return cur, fmt.Errorf("queue %q: its keys began anew too often: use another queue", queue)
		}
		p := newPlacing(cur)
		// What was stored beside the look is found behind Low, and late.
		p.High, p.LateInRow, p.Restart = cur.High.Era().Next().Begin(), 0, string(sortkey.TieBreak(op))
		p.Entries = queuelog.NewTail(queuelog.Entry{
			Key: p.High, Count: 1, Seen: queuelog.ShortSeen(cur.Position),
			Mark: queuelog.MarkKeyed | queuelog.MarkDropped | queuelog.MarkRestart,
		})
		cur, given, err := s.give(ctx, cur, p)
		if err != nil || given {
			return cur, err
		}
	}
}
