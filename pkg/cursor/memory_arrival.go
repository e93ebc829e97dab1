package cursor

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// PutArrival implements [Store].
func (s *Memory) PutArrival(ctx context.Context, a Arrival) (Arrival, error) {
	if err := ctx.Err(); err != nil {
		return Arrival{}, err
	}
	q, leave := s.enter(a.Queue)
	defer leave()
	key := HashOf(a.ID)
	if there, found := q.arrivals[key]; found && !expired(there.ExpiresOn, a.EnqueuedAt) {
		return there.head(), nil
	}
	if q.arrivals == nil {
		q.arrivals = map[Hash]Arrival{}
	}
	q.arrivals[key] = cloneArrival(a)
	s.keep(a.Queue, q)
	return a.head(), nil
}

// expired reports whether a time has come, counted in whole seconds.
func expired(expiresOn, now time.Time) bool {
	return !expiresOn.IsZero() && expiresOn.Unix() <= now.Unix()
}

// Ticket implements [Store].
func (s *Memory) Ticket(ctx context.Context, queue string, entries Tail, seen Range, now time.Time) (Cursor, bool, error) {
	return s.update(ctx, queue,
		func(c Cursor) bool {
			for i := range entries.Len() {
				if c.Tail.Contains(entries.At(i)) || !c.without(entries.At(i), seen.From) {
					return false
				}
			}
			return !numbered(c) && c.Tail.Len() <= MaxTail-entries.Len() &&
				c.Position >= seen.To && c.Position <= MaxSeq-entries.Seqs()
		},
		func(c *Cursor) {
			c.Position, c.Tail, c.GapSince = c.Position+entries.Seqs(), c.Tail+entries, milliseconds(now)
		})
}

// findItem is where the order item of a seq is, or would be.
func (q *memoryQueue) findItem(last int64) (int, bool) {
	return slices.BinarySearchFunc(q.orderItems, last, func(o OrderItem, last int64) int { return cmp.Compare(o.Last, last) })
}

// PutOrderItem implements [Store].
func (s *Memory) PutOrderItem(ctx context.Context, o OrderItem) (OrderItem, error) {
	if err := ctx.Err(); err != nil {
		return OrderItem{}, err
	}
	q, leave := s.enter(o.Queue)
	defer leave()
	at, found := q.findItem(o.Last)
	if !found {
		q.orderItems = slices.Insert(q.orderItems, at, o)
		s.keep(o.Queue, q)
	}
	return q.orderItems[at], nil
}

// TrimTail implements [Store].
func (s *Memory) TrimTail(ctx context.Context, seen Cursor) (Cursor, bool, error) {
	return s.update(ctx, seen.Queue,
		func(c Cursor) bool { return !numbered(c) && c.TailFrom == seen.TailFrom },
		func(c *Cursor) { *c = c.trimmed() })
}

// OrderItems implements [Store].
func (s *Memory) OrderItems(ctx context.Context, query Query) (OrderPage, error) {
	if err := ctx.Err(); err != nil {
		return OrderPage{}, err
	}
	q, leave := s.enter(query.Queue)
	defer leave()
	from, _ := q.findItem(query.First)
	to, found := q.findItem(query.Last)
	if found {
		to++
	}
	page := OrderPage{Items: slices.Clone(q.orderItems[from:max(from, to)])}
	if query.Backwards {
		slices.Reverse(page.Items)
	}
	limit := query.Limit
	if limit <= 0 {
		limit = memoryPage
	}
	if len(page.Items) > limit {
		page.Items, page.More = page.Items[:limit], true
	}
	return page, nil
}

// Arrivals implements [Store].
func (s *Memory) Arrivals(ctx context.Context, query ArrivalQuery) ([]Arrival, []Hash, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	q, leave := s.enter(query.Queue)
	defer leave()
	var found []Arrival
	for _, key := range query.Keys {
		a, there := q.arrivals[key]
		switch {
		case there && query.HeadsOnly:
			found = append(found, a.head())
		case there:
			found = append(found, cloneArrival(a))
		}
	}
	return found, nil, nil
}

// KeepArrival implements [Store].
func (s *Memory) KeepArrival(ctx context.Context, queue string, key Hash, seen int64, until time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	q, leave := s.enter(queue)
	defer leave()
	a, found := q.arrivals[key]
	if !found || a.Seen != seen {
		return false, nil
	}
	if !a.ExpiresOn.IsZero() && a.ExpiresOn.Before(until) {
		a.ExpiresOn = until
		q.arrivals[key] = a
	}
	return true, nil
}

// keepOrderItem is KeepUntil for an order item.
func (q *memoryQueue) keepOrderItem(last int64, until time.Time) bool {
	at, found := q.findItem(last)
	if found && !q.orderItems[at].ExpiresOn.IsZero() && q.orderItems[at].ExpiresOn.Before(until) {
		q.orderItems[at].ExpiresOn = until
	}
	return found
}

// expire is Expire for what a queue in arrival order has.
func (q *memoryQueue) expire(now time.Time) int {
	before := len(q.orderItems) + len(q.arrivals)
	q.orderItems = slices.DeleteFunc(q.orderItems, func(o OrderItem) bool { return expired(o.ExpiresOn, now) })
	for key, a := range q.arrivals {
		if expired(a.ExpiresOn, now) {
			delete(q.arrivals, key)
		}
	}
	return before - len(q.orderItems) - len(q.arrivals)
}

// cloneArrival keeps a caller from changing what is stored.
func cloneArrival(a Arrival) Arrival {
	a.Messages = slices.Clone(a.Messages)
	for i, m := range a.Messages {
		a.Messages[i] = cloneMessage(m)
	}
	a.Digest, a.Op = slices.Clone(a.Digest), slices.Clone(a.Op)
	return a
}
