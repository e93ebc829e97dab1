package cursor

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"
)

// Memory is a [Store] in memory: for tests of code that uses this package, and
// for simulation. It keeps the promises of Store that a real table keeps; all
// its reads are strong, it deletes nothing by itself (call [Memory.Expire]),
// and everything is gone with the process. The zero Memory is ready to use.
type Memory struct {
	mu     sync.Mutex
	queues map[string]*memoryQueue
	sweeps map[string]Progress
}

var _ Store = (*Memory)(nil)

type memoryQueue struct {
	cursor Cursor
	// messages are in the order of their seqs.
	messages []Message
	// orderItems are in the order of their seqs, arrivals by their keys.
	orderItems []OrderItem
	arrivals   map[Hash]Arrival
}

// find is where seq is, or would be.
func (q *memoryQueue) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(q.messages, seq, func(m Message, seq int64) int {
		switch {
		case m.Seq < seq:
			return -1
		case m.Seq > seq:
			return 1
		}
		return 0
	})
}

// enter locks the store for one request on a queue.
func (s *Memory) enter(queue string) (*memoryQueue, func()) {
	s.mu.Lock()
	q := s.queues[queue]
	if q == nil {
		// Kept only once something is stored in it: see the writers.
		q = &memoryQueue{}
	}
	return q, s.mu.Unlock
}

func (s *Memory) keep(queue string, q *memoryQueue) {
	if s.queues == nil {
		s.queues = map[string]*memoryQueue{}
	}
	s.queues[queue] = q
}

// CreateCursor implements [Store].
func (s *Memory) CreateCursor(ctx context.Context, c Cursor) (Cursor, error) {
	if err := ctx.Err(); err != nil {
		return Cursor{}, err
	}
	q, leave := s.enter(c.Queue)
	defer leave()
	if !q.cursor.Exists() {
		q.cursor = c
		s.keep(c.Queue, q)
	}
	return q.cursor, nil
}

// Cursor implements [Store].
func (s *Memory) Cursor(ctx context.Context, queue string, _ bool) (Cursor, error) {
	if err := ctx.Err(); err != nil {
		return Cursor{}, err
	}
	q, leave := s.enter(queue)
	defer leave()
	return q.cursor, nil
}

// update changes a queue's cursor if the condition holds.
func (s *Memory) update(ctx context.Context, queue string, condition func(Cursor) bool, change func(*Cursor)) (Cursor, bool, error) {
	if err := ctx.Err(); err != nil {
		return Cursor{}, false, err
	}
	q, leave := s.enter(queue)
	defer leave()
	if !q.cursor.Exists() || !condition(q.cursor) {
		return q.cursor, false, nil
	}
	change(&q.cursor)
	return q.cursor, true, nil
}

func numbered(c Cursor) bool { return c.Settings.Kind == KindNumbered }

// Move implements [Store].
func (s *Memory) Move(ctx context.Context, queue string, from, to int64, now time.Time) (Cursor, bool, error) {
	return s.update(ctx, queue,
		func(c Cursor) bool { return c.Position == from && numbered(c) },
		func(c *Cursor) { c.Position, c.GapSince = to, milliseconds(now) })
}

// OpenGap implements [Store].
func (s *Memory) OpenGap(ctx context.Context, queue string, seq int64, now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, queue,
		func(c Cursor) bool {
			return c.Position < seq-1 && c.Parked <= c.Position && c.Parked < seq && numbered(c)
		},
		func(c *Cursor) { c.Parked, c.GapSince = seq, milliseconds(now) })
	return c, err
}

// WidenGap implements [Store].
func (s *Memory) WidenGap(ctx context.Context, queue string, seq int64) (Cursor, error) {
	c, _, err := s.update(ctx, queue,
		func(c Cursor) bool {
			return c.Position < seq-1 && c.Parked > c.Position && c.Parked < seq && numbered(c)
		},
		func(c *Cursor) { c.Parked = seq })
	return c, err
}

// Configure implements [Store].
func (s *Memory) Configure(ctx context.Context, queue string, change Change) (Cursor, bool, error) {
	return s.update(ctx, queue,
		func(c Cursor) bool {
			return (change.First == nil || *change.First == c.Settings.First) && (change.Kind == nil || *change.Kind == c.Settings.Kind)
		},
		func(c *Cursor) { c.Settings = change.applyTo(c.Settings) })
}

// Announce implements [Store].
func (s *Memory) Announce(ctx context.Context, queue string, was, seq int64) (bool, error) {
	c, _, err := s.update(ctx, queue,
		func(c Cursor) bool { return c.Announced == was },
		func(c *Cursor) { c.Announced = seq })
	return c.Exists() && c.Announced == seq, err
}

// Nudge implements [Store].
func (s *Memory) Nudge(ctx context.Context, queue string, now time.Time) error {
	_, _, err := s.update(ctx, queue,
		func(Cursor) bool { return true },
		func(c *Cursor) { c.Nudged = milliseconds(now) })
	return err
}

// RaiseFloor implements [Store].
func (s *Memory) RaiseFloor(ctx context.Context, queue string, floor int64, now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, queue,
		func(c Cursor) bool { return c.Position >= floor && c.Floor < floor },
		func(c *Cursor) { c.Floor, c.FloorSince = floor, milliseconds(now) })
	return c, err
}

// Cursors implements [Store].
func (s *Memory) Cursors(ctx context.Context, scan CursorScan) (CursorPage, error) {
	if err := ctx.Err(); err != nil {
		return CursorPage{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var page CursorPage
	looked := 0
	for _, queue := range slices.Sorted(maps.Keys(s.queues)) {
		c := s.queues[queue].cursor
		if queue <= scan.After || !c.Exists() || segmentOf(queue, scan.Segments) != scan.Segment {
			continue
		}
		if looked == scan.Limit {
			page.Next = lastLooked(page.Next, scan.After)
			return page, nil
		}
		looked++
		page.Next = queue
		if scan.Only.shows(c) {
			page.Cursors = append(page.Cursors, c)
		}
	}
	page.Next = ""
	return page, nil
}

func lastLooked(next, after string) string {
	if next == "" {
		return after
	}
	return next
}

func segmentOf(queue string, segments int) int {
	hash := fnv.New32a()
	hash.Write([]byte(queue))
	return int(hash.Sum32() % uint32(max(segments, 1)))
}

// PutMessage implements [Store].
func (s *Memory) PutMessage(ctx context.Context, m Message) (Message, error) {
	if err := ctx.Err(); err != nil {
		return Message{}, err
	}
	q, leave := s.enter(m.Queue)
	defer leave()
	at, found := q.find(m.Seq)
	if !found {
		q.messages = slices.Insert(q.messages, at, cloneMessage(m))
		s.keep(m.Queue, q)
	}
	return cloneMessage(q.messages[at]), nil
}

// Message implements [Store].
func (s *Memory) Message(ctx context.Context, queue string, seq int64) (Message, bool, error) {
	if err := ctx.Err(); err != nil {
		return Message{}, false, err
	}
	q, leave := s.enter(queue)
	defer leave()
	at, found := q.find(seq)
	if !found {
		return Message{}, false, nil
	}
	return cloneMessage(q.messages[at]), true, nil
}

// memoryPage is the most messages of a page without a limit: a real table
// stops at 1 MB, and readers have to go on from there.
const memoryPage = 1000

// Messages implements [Store].
func (s *Memory) Messages(ctx context.Context, query Query) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, err
	}
	q, leave := s.enter(query.Queue)
	defer leave()
	limit := query.Limit
	if limit <= 0 {
		limit = memoryPage
	}
	var page Page
	from, _ := q.find(query.First)
	to, found := q.find(query.Last)
	if found {
		to++
	}
	step, at, end := 1, from, max(from, to)
	if query.Backwards {
		step, at, end = -1, end-1, from-1
	}
	for ; at != end; at += step {
		if len(page.Messages) == limit {
			page.More = true
			break
		}
		m := q.messages[at]
		if query.HeadsOnly {
			m = Message{Queue: m.Queue, Seq: m.Seq, ExpiresOn: m.ExpiresOn, Tombstone: m.Tombstone}
		}
		page.Messages = append(page.Messages, cloneMessage(m))
	}
	return page, nil
}

// DeleteMessages implements [Store].
func (s *Memory) DeleteMessages(ctx context.Context, queue string, seqs []int64) ([]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q, leave := s.enter(queue)
	defer leave()
	for _, seq := range seqs {
		if at, found := q.find(seq); found {
			q.messages = slices.Delete(q.messages, at, at+1)
		}
	}
	return nil, nil
}

// KeepUntil implements [Store].
func (s *Memory) KeepUntil(ctx context.Context, queue string, seq int64, until time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	q, leave := s.enter(queue)
	defer leave()
	at, found := q.find(seq)
	if found && q.messages[at].ExpiresOn.Before(until) && !q.messages[at].ExpiresOn.IsZero() {
		q.messages[at].ExpiresOn = until
	}
	return found || q.keepOrderItem(seq, until), nil
}

// SweepProgress implements [Store].
func (s *Memory) SweepProgress(ctx context.Context, name string) (Progress, error) {
	if err := ctx.Err(); err != nil {
		return Progress{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweeps[name], nil
}

// SaveSweepProgress implements [Store].
func (s *Memory) SaveSweepProgress(ctx context.Context, p Progress) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sweeps == nil {
		s.sweeps = map[string]Progress{}
	}
	s.sweeps[p.Name] = p
	return nil
}

// Expire deletes every message, arrival and order item whose ExpiresOn has come, as DynamoDB's TTL
// does some time later, and returns how many there were.
func (s *Memory) Expire(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	expired := 0
	for _, q := range s.queues {
		kept := q.messages[:0]
		for _, m := range q.messages {
			if !m.ExpiresOn.IsZero() && !m.ExpiresOn.After(now) {
				expired++
				continue
			}
			kept = append(kept, m)
		}
		clear(q.messages[len(kept):])
		q.messages = kept
		expired += q.expire(now)
	}
	return expired
}

// Queues are the names of all queues that have a cursor or a message, sorted.
func (s *Memory) Queues() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Collect(maps.Keys(s.queues))
	sort.Strings(names)
	return names
}

// cloneMessage keeps a caller from changing what is stored.
func cloneMessage(m Message) Message {
	m.Body = slices.Clone(m.Body)
	m.Attributes = maps.Clone(m.Attributes)
	m.Digest = slices.Clone(m.Digest)
	m.Op = slices.Clone(m.Op)
	return m
}
