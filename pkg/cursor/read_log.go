package cursor

import (
	"context"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// A read unit shows orderItemsOfUnit order items, of about 400 bytes each, a page of 1 MB less than
// maxOrderItems.
const (
	orderItemsOfUnit = 8
	maxOrderItems    = 4096
)

// readLog shows the order items of a queue, as its cursor was seen, to who looks for places. least
// is the least seq behind which one of them may stand that is still looked for; the tail's begin
// where none is. It returns the seq up to which nobody can say what stood there, because an order
// item is missing before it: least, as it was first, where none is.
//
// A place stands soon after what its message has seen. So it begins with as many order items as a
// read unit shows, and each further page has twice as many. It reads behind the least that is left:
// an old place that is found is no reason to read on.
func (s *Sorter) readLog(ctx context.Context, cur Cursor, least func() int64,
	show func(entries queuelog.Tail, after int64)) (unknown int64, err error) {
	from := least()
	unknown = from
	for limit := orderItemsOfUnit; from < cur.TailFrom; limit = min(2*limit, maxOrderItems) {
		page, err := s.store.OrderItems(ctx, queuelog.Query{Queue: cur.Queue, First: from + 1,
			Last: cur.TailFrom, Limit: limit, Strong: true})
		if err != nil {
			return 0, err
		}
		for _, o := range page.Items {
			show(o.Entries, o.After())
			if o.After() > from {
				unknown = o.After()
			}
			from = o.Last
		}
		if !page.More && from < cur.TailFrom {
			unknown, from = cur.TailFrom, cur.TailFrom
		}
		from = max(from, least())
	}
	return unknown, nil
}
