package cursor

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// What tests look at beside what the package exports.
type (
	CursorFilter = cursorFilter
	CursorScan   = cursorScan
	Fingerprints = fingerprints
	Page         = messagePage
	Place        = roundPlace
	Progress     = roundProgress
	WaitingPage  = waitingPage
	Walk         = walking
	Gap          = oneGap
)

// MaxArrivalMessages is the most messages of an arrival.
const MaxArrivalMessages = maxArrivalMessages

// WalkAll is the walk over all queues.
var WalkAll = (*Sorter).walkAll

// Inside are the requests to the tables, one by one.
func (s *Store) Inside() *requests { return &s.requests }

// Steps are the steps of the sweep, of delivery and of reading, one by one.
func (s *Sorter) Steps() inside { return inside{s} }

// DeleteMessages deletes messages by their seqs.
func (s *requests) DeleteMessages(ctx context.Context, queue string,
	seqs ...int64) (left int, err error) {
	keys := make([]ddb.Item, len(seqs))
	for i, seq := range seqs {
		keys[i] = s.messageKey(queue, seq)
	}
	return s.DeleteKeys(ctx, s.messages, keys)
}

// ArrivalKey is the key of an arrival.
func (s *requests) ArrivalKey(queue string, key sortkey.SortKey) ddb.Item {
	return s.arrivalKey(queue, key)
}

// ArrivalKeys reads those of a queue strongly.
func (s *requests) ArrivalKeys(ctx context.Context, queue string, after ddb.Item,
	limit int) ([]ddb.Item, bool, error) {
	return s.Keys(ctx, s.arrivals, queue, after, limit, true)
}

// DeleteArrivals deletes arrivals by their keys.
func (s *requests) DeleteArrivals(ctx context.Context, keys []ddb.Item) (left int, err error) {
	return s.DeleteKeys(ctx, s.arrivals, keys)
}
