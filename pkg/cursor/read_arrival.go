package cursor

import (
	"context"
	"iter"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// readPage is about how many bytes of bodies one request is to read.
const readPage = 1 << 20

// readArrivals is Read of a queue in arrival order: first the places, then the arrivals that have
// them.
func (s *Sorter) readArrivals(ctx context.Context, cur Cursor,
	after, upTo int64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		reader := arrivalReader{sorter: s, cur: cur, expect: after, upTo: upTo,
			most: defaultBatchSize, yield: yield}
		var places []place
		for part, err := range s.parts(ctx, cur, after, upTo) {
			if err != nil {
				if reader.hand(ctx, places) {
					yield(Message{}, err)
				}
				return
			}
			places = append(places, part.within(after, upTo)...)
			for len(places) >= reader.most {
				n := reader.most
				if !reader.hand(ctx, places[:n]) {
					return
				}
				places = places[n:]
			}
		}
		if reader.hand(ctx, places) && reader.expect < upTo {
			yield(Message{}, &MissingError{cur.Queue, reader.expect + 1})
		}
	}
}

type arrivalReader struct {
	sorter *Sorter
	cur    Cursor
	// expect is the last seq that was yielded, upTo the last one asked for.
	expect, upTo int64
	// most is how many arrivals the next request reads.
	most  int
	yield func(Message, error) bool
}

// hand yields the messages of places, read in requests of at most r.most. It reports whether to go
// on.
func (r *arrivalReader) hand(ctx context.Context, places []place) bool {
	for len(places) > 0 {
		page := places[:min(r.most, len(places))]
		places = places[len(page):]
		found, err := r.sorter.arrivals(ctx, r.cur.Queue, page, false, false)
		if err != nil {
			r.yield(Message{}, err)
			return false
		}
		size := 1
		for _, p := range page {
			if p.Has(queuelog.MarkDropped) {
				dropped := Message{Queue: r.cur.Queue, Seq: p.seqs.To, Key: p.Key.Key(),
					Late: p.Has(queuelog.MarkLate), Tombstone: "dropped: it came too late"}
				if p.Has(queuelog.MarkRestart) {
					dropped.Tombstone = "the keys begin anew behind it"
				}
				if !r.yield(dropped, nil) {
					return false
				}
				r.expect = p.seqs.To
				continue
			}
			a, there := found[p.Entry]
			if !there {
				r.yield(Message{}, &MissingError{r.cur.Queue, r.expect + 1})
				return false
			}
			for _, m := range a.messages(p.seqs.From) {
				size += m.size()
				if m.Seq <= r.expect || m.Seq > r.upTo {
					continue
				}
				m.Late, m.Unlinked = p.Has(queuelog.MarkLate), p.Has(queuelog.MarkUnlinked)
				if !r.yield(m, nil) {
					return false
				}
				r.expect = m.Seq
			}
		}
		atMost := maxArrivals
		if keyed(r.cur) {
			atMost = maxWaiting
		}
		r.most = min(max(readPage*len(page)/size, 1), atMost)
	}
	return true
}
