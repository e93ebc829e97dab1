package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Gap is a run of seqs that are missing while later ones are stored.
type Gap struct {
	// Missing are the seqs From < seq <= To.
	Missing Range
	// Since is when the gap opened or the position last moved, for the gap
	// that stops the queue; the zero time for those behind it, whose age is
	// not kept.
	Since time.Time
}

// GapList is a queue's gaps in the order of their seqs.
type GapList struct {
	Cursor Cursor
	Gaps   []Gap
	// More is true where there are more gaps than were asked for.
	More bool
}

// Gaps lists the first gaps of a queue, at most limit (1 or more). It costs
// one strong read for the cursor and strong queries over what is parked up to
// the last gap listed.
func (s *Sorter) Gaps(ctx context.Context, queue string, limit int) (GapList, error) {
	cur, err := s.Status(ctx, queue)
	if err != nil {
		return GapList{}, err
	}
	list := GapList{Cursor: cur}
	expect := cur.Position + 1
	for cur.GapOpen() && expect <= cur.Parked {
		page, err := s.store.Messages(ctx, Query{
			Queue: queue, First: expect, Last: cur.Parked, Limit: maxBatchSize, Strong: true, HeadsOnly: true,
		})
		if err != nil {
			return GapList{}, err
		}
		for _, m := range page.Messages {
			if m.Seq > expect {
				if len(list.Gaps) == limit {
					list.More = true
					return list, nil
				}
				gap := Gap{Missing: Range{expect - 1, m.Seq - 1}}
				if len(list.Gaps) == 0 && expect == cur.Position+1 {
					gap.Since = cur.GapSince
				}
				list.Gaps = append(list.Gaps, gap)
			}
			if m.Seq == MaxSeq {
				return list, nil
			}
			expect = m.Seq + 1
		}
		if !page.More {
			break
		}
	}
	return list, nil
}

// SkipGap writes tombstones, with the reason, into the gap that stops the
// queue, if it is open for at least age, and moves the cursor on. It returns
// the seqs that this call skipped (empty where there was nothing to skip),
// and what moved. At most limit tombstones are written a call; a longer gap is
// finished by further calls.
//
// Only the seqs before the first stored one are skipped: the age of the gaps
// behind it is not known. Tombstones are written from the top down, so that
// the position, and with it the gap's age, stays until the last one is in. A
// tombstone is stored under the condition of a message: one that arrives in
// that instant wins, and one that arrives later is told Late.
//
// Lost response of a tombstone: the repeat finds it there. Another skipped
// first: the same. We die right after: the next call goes on below the
// tombstones that are there.
func (s *Sorter) SkipGap(ctx context.Context, queue, reason string, age time.Duration, limit int) (Range, Advance, error) {
	cur, err := s.readCursor(ctx, queue)
	if err != nil {
		return Range{}, Advance{}, err
	}
	if !cur.GapOpen() || s.now().Sub(cur.GapSince) < age {
		return Range{}, Advance{Cursor: cur}, nil
	}
	stored, err := s.firstStored(ctx, queue, cur.Position)
	if err != nil {
		return Range{}, Advance{Cursor: cur}, err
	}
	var skipped Range
	if stored > cur.Position+1 {
		skipped = Range{max(cur.Position, stored-1-int64(limit)), stored - 1}
		for seq := skipped.To; seq > skipped.From; seq-- {
			if err := s.putTombstone(ctx, queue, seq, reason); err != nil {
				return Range{seq, skipped.To}, Advance{Cursor: cur}, err
			}
		}
	}
	advance, err := s.heal(ctx, queue, newSeqSet(), true)
	return skipped, advance, err
}

// Skip stores that a seq will never come, with the reason, unless something is
// stored there, and moves the cursor over what is without a gap then. The reason
// has 1 to 500 bytes. 1 write, and what [Sorter.Heal] costs.
//
// Lost response: the repeat finds it there. Another skipped first, or put a
// message: that stays. We die right after: the sweep moves the cursor.
func (s *Sorter) Skip(ctx context.Context, queue string, seq int64, reason string) (Advance, error) {
	if err := (&Message{Queue: queue, Seq: seq}).Validate(); err != nil {
		return Advance{}, err
	}
	if len(reason) == 0 || len(reason) > maxReason {
		return Advance{}, &InvalidError{Field: "reason", Code: invalid.TextCode(reason, maxReason), Problem: "must be 1 to 500 bytes"}
	}
	if err := s.putTombstone(ctx, queue, seq, reason); err != nil {
		return Advance{}, err
	}
	return s.Heal(ctx, queue, seq)
}

// maxReason bounds why a seq is skipped.
const maxReason = 500

// putTombstone stores a tombstone, unless something is stored there.
func (s *Sorter) putTombstone(ctx context.Context, queue string, seq int64, reason string) error {
	_, err := s.store.PutMessage(ctx, Message{
		Queue: queue, Seq: seq, Tombstone: reason,
		Op: s.newOp(), EnqueuedAt: ddb.ToMillis(s.now()), ExpiresOn: s.expiry(),
	})
	return err
}
