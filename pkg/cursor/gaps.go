package cursor

import (
	"cmp"
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// oneGap is a run of seqs that are missing while later ones are stored.
type oneGap struct {
	// Missing are the seqs From < seq <= To.
	Missing Range
	// Since is when the message right behind the gap was stored, the zero time where that is
	// unknown; for the gap that stops the queue, when the position came to it, if that was earlier.
	Since time.Time
}

// gapSince returns since when the gap counts that stops the queue.
func (c Cursor) gapSince(behind Message) time.Time {
	if at := behind.EnqueuedAt; !at.IsZero() && at.Before(c.MovedAt) {
		return at
	}
	return c.MovedAt
}

// gapsAmong returns the gaps between `last` and what is stored behind it, in order.
func (c Cursor) gapsAmong(last int64, heads []Message) (gaps []oneGap) {
	for _, m := range heads {
		if m.Seq > last+1 {
			gap := oneGap{Missing: Range{last, m.Seq - 1}, Since: m.EnqueuedAt}
			if last == c.Position {
				gap.Since = c.gapSince(m)
			}
			gaps = append(gaps, gap)
		}
		last = m.Seq
	}
	return gaps
}

// gapList is a queue's gaps in the order of their seqs.
type gapList struct {
	Cursor Cursor
	Gaps   []oneGap
	// More is true where there may be more gaps than are listed: messages are parked that were not
	// looked at.
	More bool
}

// maxGapPages bounds what one list of gaps reads: pages of at most 1 MB each.
const maxGapPages = 8

// Gaps lists the first gaps of a queue, at most limit (1 or more). It costs one strong read for the
// cursor and strong queries over what is parked: of no more messages than there are gaps to find,
// at first, and of 8 pages of 1 MB at most.
func (s *Sorter) Gaps(ctx context.Context, queue string, limit int) (gapList, error) {
	cur, err := s.Status(ctx, queue)
	if err != nil {
		return gapList{}, err
	}
	list := gapList{Cursor: cur}
	last, more, size := cur.Position, cur.GapOpen(), limit
	for pages := 0; more && len(list.Gaps) < limit && pages < maxGapPages; pages++ {
		page, err := s.store.Messages(ctx, queuelog.Query{
			Queue: queue, First: last + 1, Last: MaxSeq, Limit: min(size, maxBatchSize), Strong: true,
			HeadsOnly: true,
		})
		if err != nil {
			return gapList{}, err
		}
		list.Gaps = append(list.Gaps, cur.gapsAmong(last, page.Messages)...)
		if len(list.Gaps) > limit {
			list.Gaps, list.More = list.Gaps[:limit], true
			return list, nil
		}
		if n := len(page.Messages); n > 0 {
			last = page.Messages[n-1].Seq
		}
		more = page.More
		size *= 2
	}
	list.More = more
	return list, nil
}

// SkipGap writes tombstones, with the reason, into the gaps that are open for at least age, from
// the one that stops the queue up to the first that is younger, and moves the cursor over them. It
// returns the seqs that this call skipped, a run for each gap, and what moved. It writes at most
// limit tombstones; further calls finish the rest.
//
// It costs one strong read for the cursor, a write a tombstone, up to 1,000 side by side, and a
// query and what Recheck costs for the first gap, the next 2, 4, 8 and so on.
//
// A tombstone is stored under the condition of a message: one that arrives in that instant wins,
// and one that arrives later gets Late. Lost response of a tombstone: the repeat finds it there.
// Another did it first: the same. We die right after: the next call goes on with what is missing,
// which is as old as the gap was.
//
// It goes on for as long as goOn, unless that is nil, returns true, which it asks before each 1,000
// tombstones, and schedules the wake-up of the gap that it leaves open.
func (s inside) SkipGap(
	ctx context.Context, queue, reason string, age time.Duration, limit int, goOn func() bool,
) ([]Range, Advance, error) {
	var skipped, moved progress
	cur, err := s.readCursor(ctx, queue)
	for size := 1; err == nil && cur.GapOpen(); size = min(2*size, maxBatchSize) {
		var heads []Message
		if heads, err = s.heads(ctx, cur, size); err != nil || len(heads) == 0 {
			break
		}
		gaps, tried := cur.gapsAmong(cur.Position, heads), 0
		if tried, err = s.giveUp(ctx, cur, reason, gaps, age, limit, goOn, &skipped); err != nil {
			break
		}
		if limit -= tried; tried == 0 && len(gaps) > 0 {
			s.scheduleAt(cur, gaps[0].Since.Add(age))
			break
		}
		advance, failed := s.heal(ctx, queue, NoSeq, true)
		for _, m := range advance.Moves {
			moved.moved(m.From, m.To)
		}
		before := cur.Position
		if cur, err = advance.Cursor, failed; cur.Position == before {
			break // by what is stored there no cursor goes on
		}
	}
	return skipped.moves, Advance{cur, moved.moves}, err
}

// giveUp stores tombstones into the gaps that are old enough, from the bottom up, and returns how
// many it tried. They bear the time since when the gap counts: what is still missing before them,
// where one fails, is as old as the gap is.
func (s *Sorter) giveUp(
	ctx context.Context, cur Cursor, reason string, gaps []oneGap, age time.Duration, limit int,
	goOn func() bool, skipped *progress,
) (tried int, err error) {
	until := s.now().Add(-age)
	// Where it is unknown since when a gap counts, it waits until the position comes to it.
	old := func(g oneGap) bool { return !g.Since.IsZero() && !g.Since.After(until) }
	for tried < limit && (goOn == nil || goOn()) {
		var batch []oneGap // of one seq each
		for len(gaps) > 0 && old(gaps[0]) && len(batch) < min(limit-tried, maxBatchSize) {
			first := gaps[0].Missing.From
			batch = append(batch, oneGap{Range{first, first + 1}, gaps[0].Since})
			if gaps[0].Missing.From++; gaps[0].Missing.From == gaps[0].Missing.To {
				gaps = gaps[1:]
			}
		}
		if len(batch) == 0 {
			break
		}
		given, errs := make([]bool, len(batch)), make([]error, len(batch))
		s.forEach(len(batch), func(i int) {
			given[i], errs[i] = s.putTombstone(ctx, cur, batch[i].Missing.To, reason, batch[i].Since)
		})
		for i, gap := range batch {
			if given[i] {
				skipped.moved(gap.Missing.From, gap.Missing.To)
			}
		}
		if err := cmp.Or(errs...); err != nil {
			return tried, err
		}
		tried += len(batch)
	}
	return tried, nil
}

// Skip stores that a seq will never come, with the reason, unless something is stored there, and
// moves the cursor over what is without a gap then. The reason has 1 to 500 bytes. 1 write, and
// what Heal costs.
//
// Lost response: the repeat finds it there. Another skipped first, or put a message: that stays. We
// die right after: the sweep moves the cursor.
func (s *Sorter) Skip(ctx context.Context, queue string, seq int64,
	reason string) (Advance, error) {
	if err := ValidateQueue(queue); err != nil {
		return Advance{}, err
	}
	if seq < 0 {
		return Advance{}, outOfBounds("seq", invalid.OutOfRange, seq, firstBounds)
	}
	if len(reason) == 0 || len(reason) > maxReason {
		return Advance{}, invalid.New(invalid.TextCode(reason, maxReason), "reason",
			"must be 1 to 500 bytes")
	}
	cur, err := s.lookOnly(ctx, queue)
	if err == nil && !cur.Exists() {
		cur, err = s.create(ctx, queue, s.settingsOf(KindNumbered))
	}
	if err != nil {
		return Advance{}, err
	}
	if !numbered(cur) {
		return Advance{}, &InvalidError{Field: "queue", Code: invalid.Clash,
			Problem: "has no seq to skip: " + cur.Settings.Kind.is(), Queue: queue}
	}
	if _, err := s.putTombstone(ctx, cur, seq, reason, s.now()); err != nil {
		return Advance{}, err
	}
	return inside{s}.Heal(ctx, queue, seq)
}

const maxReason = 500

// putTombstone stores a tombstone that counts since a time, unless something is stored there. It
// reports whether a tombstone is there then.
func (s *Sorter) putTombstone(
	ctx context.Context, cur Cursor, seq int64, reason string, since time.Time,
) (bool, error) {
	there, err := s.store.PutMessage(ctx, Message{
		Queue: cur.Queue, Seq: seq, Tombstone: reason,
		Op: s.newOp(), EnqueuedAt: ddb.ToMillis(since), ExpiresOn: s.expiry(),
	})
	return there.Tombstone != "", err
}
