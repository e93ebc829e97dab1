package cursor

import (
	"context"
	"errors"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// settleKeyed makes up for wake-ups that never came: it settles a keyed queue, and announces what
// was late. It costs half a read unit where nothing waits.
func (r *sweepRun) settleKeyed(ctx context.Context, seen Cursor) error {
	cur := seen
	waits, err := r.waits(ctx, seen)
	if err != nil {
		return err
	}
	if waits {
		done, err := r.sorter.Settle(ctx, seen.Queue, sortkey.EverySortKey)
		r.report.add(SweepReport{Moves: len(done.Moves), Placed: done.Placed, Late: done.Late,
			Dropped: done.Dropped, Unlinked: done.Unlinked, Stale: done.Stale})
		r.seen.Peak(tallyOverdue, done.Overdue)
		r.options.Overdue(seen.Queue, done.Overdue)
		switch {
		case errors.Is(err, ErrErased):
			return nil // since it was seen: the next run handles it
		case err != nil:
			return err
		}
		r.more = done.More
		r.seen.Add(tallyWaiting, done.Waiting.Count)
		cur = done.Cursor
	}
	return r.tellLate(ctx, cur)
}

// waits reports whether a keyed queue has to be settled. It may be an older state: what the sweep
// is there for was stored long before.
func (r *sweepRun) waits(ctx context.Context, seen Cursor) (bool, error) {
	if seen.Low < seen.High {
		return true, nil
	}
	page, err := r.sorter.store.Waiting(ctx,
		queuelog.WaitingQuery{Queue: seen.Queue, After: seen.High, UpTo: sortkey.EverySortKey, Limit: 1,
			HeadsOnly: true})
	return len(page.Waiting) > 0, err
}

// manyLate is how many late messages in a row are announced as KeysBehind.
const manyLate = 20

const maxLateExamples = 10

func (r *sweepRun) tellLate(ctx context.Context, cur Cursor) error {
	if cur.LateSoFar <= cur.LateTold {
		return nil
	}
	a := Announcement{
		Kind: MessageLate, ID: announcementID(MessageLate, cur.Queue, cur.LateSoFar),
		Queue: cur.Queue, Late: cur.LateSoFar - cur.LateTold,
	}
	var err error
	if a.LateExamples, err = r.sorter.lateExamples(ctx, cur); err != nil {
		return err
	}
	if cur.LateInRow >= manyLate {
		behind := a
		behind.Kind, behind.Late = KeysBehind, cur.LateInRow
		behind.ID = announcementID(KeysBehind, cur.Queue, cur.LateSeq-cur.LateInRow+1)
		err = r.announce(ctx, behind)
	}
	if err = errors.Join(err, r.announce(ctx, a)); err != nil {
		return err
	}
	_, err = r.sorter.store.TellLate(ctx, cur, cur.LateSoFar)
	return err
}

// lateExamples are the last late messages of a queue that stand near the last one: in the same
// order item, or in the tail.
func (s *Sorter) lateExamples(ctx context.Context, cur Cursor) ([]LateMessage, error) {
	var examples []LateMessage
	most := min(int64(maxLateExamples), cur.LateSoFar-cur.LateTold)
	for part, err := range s.parts(ctx, cur, cur.LateSeq-1, cur.LateSeq) {
		if errors.As(err, new(*MissingError)) {
			break // how many they are says the most of it
		}
		if err != nil {
			return nil, err
		}
		for p := range placesOf(part.entries, part.after) {
			if p.Has(queuelog.MarkLate) && p.seqs.To <= cur.LateSeq {
				examples = append(examples,
					LateMessage{Seq: p.seqs.To, Key: p.Key.Key(), Dropped: p.Has(queuelog.MarkDropped)})
			}
		}
	}
	return slices.Clone(examples[max(int64(len(examples))-most, 0):]), nil
}
