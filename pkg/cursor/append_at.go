package cursor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// expected is a message for a seq of a queue in arrival order.
type expected struct {
	Message
	// places are where it is in the call: more than one where it is there twice.
	places []int
	result Result
}

// expect is the messages at these places, in the order of their seqs, each once.
func expect(messages []Message, places []int) []*expected {
	bySeq := slices.Clone(places)
	slices.SortStableFunc(bySeq, func(i, k int) int {
		return cmp.Compare(messages[i].Seq, messages[k].Seq)
	})
	var all []*expected
	for _, i := range bySeq {
		if n := len(all); n > 0 && all[n-1].Seq == messages[i].Seq {
			all[n-1].places = append(all[n-1].places, i)
			continue
		}
		e := &expected{Message: messages[i], places: []int{i}}
		e.Digest = e.digest()
		all = append(all, e)
	}
	return all
}

// run is the first of the messages that are one item: without a hole, and within the bounds of an
// arrival.
func run(all []*expected) []*expected {
	size := 0
	for n, e := range all {
		size += len(frames([]Message{e.Message})) + e.Trace.size()
		if n == maxArrivalMessages || e.Seq != all[0].Seq+int64(n) || n > 0 && size > maxArrivalBytes {
			return all[:n]
		}
	}
	return all
}

// appendAt puts the messages at these places to their queue in arrival order, each at exactly its
// seq. Those that are next in line are stored as one arrival, which names itself, and committed by
// one allocation; those behind the position are compared with what is stored there; of those beyond
// it nothing is stored.
//
// Requests: two writes for each arrival, and none to read where this Sorter put the batch before.
// If another process did, one strong read more.
func (s *Sorter) appendAt(ctx context.Context, cur Cursor, messages []Message, places []int,
	results []Result) {
	all, p := expect(messages, places), &progress{cur: cur}
	for rest := all; len(rest) > 0; {
		n, err := s.appendNext(ctx, rest, p)
		if err == nil {
			rest = rest[n:]
			continue
		}
		for i, e := range rest {
			e.result = Result{Err: err}
			if i >= n {
				e.result.Err = fmt.Errorf("queue %q: a message before it was not stored: %w", cur.Queue, err)
			}
		}
		break
	}
	for _, e := range all {
		e.result.Queue, e.result.Seq = cur.Queue, e.Seq
		e.result.finish(*p)
		for n, i := range e.places {
			results[i] = e.result
			if n > 0 && e.result.Outcome == Advanced {
				results[i].Outcome = Duplicate
			}
		}
	}
}

// appendNext puts the first of the messages, as many as can be put together, and returns how many
// these are, or none where it has only looked at the cursor.
func (s *Sorter) appendNext(ctx context.Context, rest []*expected, p *progress) (int, error) {
	first := rest[0].Seq
	switch {
	case first <= p.cur.Position:
		passed := run(rest)
		passed = passed[:min(int64(len(passed)), p.cur.Position-first+1)]
		err := s.compareAt(ctx, p.cur, passed)
		stale := func(e *expected) bool { return e.result.Outcome == Stale }
		if err == nil && !p.fresh && slices.ContainsFunc(passed, stale) {
			err = s.erasedSince(ctx, p.cur.Queue)
		}
		return len(passed), err
	case first == p.cur.Position+1:
		next := run(rest)
		given, err := s.commitAt(ctx, next, p)
		if given || err != nil {
			return len(next), err
		}
	case p.fresh:
		for _, e := range rest {
			e.result.Outcome = Ahead
		}
		return len(rest), nil
	default:
		cur, err := existing(s.readCursor(ctx, p.cur.Queue))
		if err != nil {
			return len(rest), err
		}
		p.cur, p.fresh = cur, true
	}
	return 0, nil
}

// commitAt stores messages as one arrival, and gives them their seqs. It reports whether it did; if
// not, the position is another one, and nobody sees the arrival: it expires.
func (s *Sorter) commitAt(ctx context.Context, next []*expected,
	p *progress) (given bool, err error) {
	a := &incoming{Arrival: Arrival{Queue: p.cur.Queue}}
	for _, e := range next {
		a.join(e.Message, e.places[0])
	}
	// Its sort key is of the position, too.
	a.Seen, a.Digest = p.cur.Position, a.digest()
	switch err := s.storeArrival(ctx, a, p.cur); {
	case err != nil:
		return false, err
	case a.result.Outcome == Conflict:
		return false, fmt.Errorf("queue %q: another arrival is stored under the name of that of seq %d",
			a.Queue, next[0].Seq)
	}
	for _, e := range next {
		e.Op = a.Op
	}
	if err := s.keepStored(ctx, []*incoming{a})[0]; err != nil {
		return false, err
	}
	for {
		cur, given, err := s.moving(func() (Cursor, bool, error) {
			return s.store.AllocateAt(ctx, a.Queue, a.entry(), a.Seen+1, s.now())
		})
		if err != nil {
			return false, err
		}
		p.cur, p.fresh = cur, true
		switch {
		case given:
			p.moved(a.Seen, cur.Position)
			for _, e := range next {
				if e.result.Outcome = Duplicate; a.mine {
					e.result.Outcome = Advanced
				}
			}
			s.flushAfter(ctx, cur, 1)
			return true, nil
		case cur.Position != a.Seen:
			return false, nil
		}
		if _, err := s.flush(ctx, cur, queuelog.MaxTail-1); err != nil { // there is no room in the tail
			return false, err
		}
	}
}

// compareAt says what messages without a hole are to what is stored under their seqs, up to the
// position. It reads what is stored, strongly: the order items that are not in the tail, and the
// arrivals. What is not stored any more is Stale; it expires from below.
func (s *Sorter) compareAt(ctx context.Context, cur Cursor, passed []*expected) error {
	after, upTo := passed[0].Seq-1, passed[len(passed)-1].Seq
	var places []place
	for part, err := range s.partsDown(ctx, cur, after, upTo) {
		if err != nil {
			return err
		}
		places = append(places, part.within(after, upTo)...)
	}
	for some := range slices.Chunk(places, defaultBatchSize) {
		found, err := s.arrivals(ctx, cur.Queue, some, false, true)
		if err != nil {
			return err
		}
		for _, p := range some {
			a := found[p.Entry]
			for _, m := range a.messages(p.seqs.From) {
				if m.Seq <= after || m.Seq > upTo {
					continue
				}
				e := passed[m.Seq-after-1]
				m.Digest = m.digest()
				if e.result.Outcome = compare(m, e.Message); len(e.Op) > 0 && bytes.Equal(m.Op, e.Op) {
					e.result.Outcome = Advanced // our own, whose answer was lost
				}
			}
		}
	}
	for _, e := range passed {
		if e.result.Outcome == "" {
			e.result.Outcome, e.result.First = Stale, cur.Settings.First
		}
	}
	return nil
}

// ownKey is the sort key of an arrival without an id, which is at the seq behind Seen or nowhere.
// The digest says how many messages there are, too: it is over one of each. What is hashed is not
// UTF-8, so it is not an id.
func (a *Arrival) ownKey() sortkey.SortKey {
	name := binary.BigEndian.AppendUint64([]byte{0xff}, uint64(a.Seen))
	return sortkey.HashOf(string(append(name, a.Digest...)))
}
