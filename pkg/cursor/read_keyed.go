package cursor

import (
	"context"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// maxWaiting is how many messages of a keyed queue are read at once.
const maxWaiting = 200

// minWaiting is how many are read at least: a read unit's worth of small ones.
const minWaiting = 16

// inOrder reads those of a keyed queue's places that stand in the order of their sort keys, by
// queries over what lies between the first and the last of them, into found. What else lies there
// is passed over: what came late, or waits still. Late ones are read by their keys, as is what a
// query did not show.
func (s *Sorter) inOrder(ctx context.Context, queue string, places []place,
	found map[queuelog.Entry]Arrival, headsOnly, strong bool) error {
	want := map[sortkey.SortKey]queuelog.Entry{}
	var first, last sortkey.SortKey
	for _, p := range places {
		if p.Has(queuelog.MarkLate) {
			continue
		}
		if first == "" {
			first = p.Key
		}
		last, want[p.Key] = p.Key, p.Entry
	}
	if len(want) < 2 {
		return nil // by its key it is as cheap
	}
	// The query begins behind After: a sort key without its last byte is before it.
	after, more := first[:len(first)-1], true
	for more && len(want) > 0 {
		// Twice as many as are wanted: where more strays lie between, the keys are cheaper.
		left := len(want)
		page, err := s.store.Waiting(ctx, queuelog.WaitingQuery{Queue: queue, After: after, UpTo: last,
			Limit: 2*left + minWaiting, Strong: strong, HeadsOnly: headsOnly})
		if err != nil {
			return err
		}
		for _, a := range page.Waiting {
			if e, ok := want[a.sortKey()]; ok && a.is(e) {
				found[e] = a
				delete(want, a.sortKey())
			}
			after = a.sortKey()
		}
		more = page.More && 4*(left-len(want)) >= len(page.Waiting)
	}
	return nil
}
