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
	// More is true where there may be more gaps than are listed: messages are
	// parked that were not looked at.
	More bool
}

// maxGapPages bounds what one list of gaps reads: pages of at most 1 MB each.
const maxGapPages = 8

// Gaps lists the first gaps of a queue, at most limit (1 or more). It costs
// one strong read for the cursor and strong queries over what is parked: of no
// more messages than there are gaps to find, at first, and of 8 pages of 1 MB at
// most.
func (s *Sorter) Gaps(ctx context.Context, queue string, limit int) (GapList, error) {
	cur, err := s.Status(ctx, queue)
	if err != nil {
		return GapList{}, err
	}
	list := GapList{Cursor: cur}
	last, more, size := cur.Position, cur.GapOpen(), limit
	for pages := 0; more && len(list.Gaps) < limit && pages < maxGapPages; pages++ {
		page, err := s.store.Messages(ctx, Query{
			Queue: queue, First: last + 1, Last: cur.lastParked(), Limit: min(size, maxBatchSize), Strong: true, HeadsOnly: true,
		})
		if err != nil {
			return GapList{}, err
		}
		for _, m := range page.Messages {
			if len(m.Packed) > 0 {
				continue // dead, or the position has moved since
			}
			if m.Seq > last+1 {
				if len(list.Gaps) == limit {
					list.More = true
					return list, nil
				}
				gap := Gap{Missing: Range{last, m.Seq - 1}}
				if last == cur.Position {
					gap.Since = cur.MovedAt
				}
				list.Gaps = append(list.Gaps, gap)
			}
			last = m.Seq
		}
		more = page.More && last < cur.lastParked()
		size *= 2
	}
	list.More = more
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
// the position, and with it the gap's age, stays until the last one is in;
// those of up to 1,000 seqs side by side. A tombstone is stored under the
// condition of a message: one that arrives in that instant wins, and one that
// arrives later gets Late.
//
// Lost response of a tombstone: the repeat finds it there. Another skipped
// first: the same. We die right after: the next call goes on below the
// tombstones that are there; where one is missing above them, because it failed
// beside others that did not, the queue stops there anew.
func (s *Sorter) SkipGap(ctx context.Context, queue, reason string, age time.Duration, limit int) (Range, Advance, error) {
	return s.skipGap(ctx, queue, reason, age, limit, func() bool { return true })
}

// skipGap is SkipGap for as long as goOn says so: it is asked before each 1,000
// tombstones.
func (s *Sorter) skipGap(ctx context.Context, queue, reason string, age time.Duration, limit int, goOn func() bool) (Range, Advance, error) {
	cur, err := s.readCursor(ctx, queue)
	if err != nil {
		return Range{}, Advance{}, err
	}
	if !cur.GapOpen() || s.now().Sub(cur.MovedAt) < age {
		return Range{}, Advance{Cursor: cur}, nil
	}
	stored, err := s.firstStored(ctx, cur)
	if err != nil {
		return Range{}, Advance{Cursor: cur}, err
	}
	var skipped Range
	if stored > cur.Position+1 {
		skipped = Range{stored - 1, stored - 1}
		lowest := max(cur.Position, skipped.To-int64(limit))
		for skipped.From > lowest && goOn() {
			from := nextTombstones(skipped.From, lowest, cur.Position)
			if err := s.putTombstones(ctx, cur, reason, Range{from, skipped.From}); err != nil {
				return skipped, Advance{Cursor: cur}, err
			}
			skipped.From = from
		}
	}
	advance, err := s.heal(ctx, queue, noSeq, true)
	return skipped, advance, err
}

// nextTombstones is the seq before those that are written together. The one
// behind the position is written alone, after all others: the cursor goes over
// it, and what would still be missing then would be a young gap.
func nextTombstones(from, lowest, position int64) int64 {
	next := max(lowest, from-maxBatchSize)
	if next == position && from > position+1 {
		next++
	}
	return next
}

// putTombstones stores the tombstones of a range side by side, from the top down.
// All are tried, whichever fails.
func (s *Sorter) putTombstones(ctx context.Context, cur Cursor, reason string, in Range) error {
	errs := make([]error, in.To-in.From)
	s.forEach(len(errs), func(i int) {
		errs[i] = s.putTombstone(ctx, cur, in.To-int64(i), reason)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
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
	cur, err := s.look(ctx, queue)
	if err != nil {
		return Advance{}, err
	}
	if !numbered(cur) {
		return Advance{}, &InvalidError{Field: "queue", Code: invalid.Clash, Problem: "has no seq to skip: " + cur.Settings.Kind.is(), Queue: queue}
	}
	if cur.Settings.Packs.some() && seq <= cur.Position {
		// It may be in a packed run, beside which it would be stored.
		return Advance{Cursor: cur}, nil
	}
	if err := s.putTombstone(ctx, cur, seq, reason); err != nil {
		return Advance{}, err
	}
	return s.Heal(ctx, queue, seq)
}

// maxReason bounds why a seq is skipped.
const maxReason = 500

// putTombstone stores a tombstone, unless something is stored there.
func (s *Sorter) putTombstone(ctx context.Context, cur Cursor, seq int64, reason string) error {
	_, err := s.putSingle(ctx, Message{
		Queue: cur.Queue, Seq: seq, Tombstone: reason, AmongPacks: cur.Settings.Packs.some(),
		Op: s.newOp(), EnqueuedAt: ddb.ToMillis(s.now()), ExpiresOn: s.expiry(),
	}, Message{})
	return err
}
