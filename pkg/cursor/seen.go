package cursor

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// memoAge is how long a remembered cursor may be used. It bounds, together with the longest
	// operation, how long after a seq was passed its message must still be there: a put that still
	// believes the seq to be ahead has to find it, or it would be accepted and never delivered.
	// MinRetention leaves room for both.
	memoAge = 30 * time.Minute
	// maxSeenCursors is how many queues a process remembers.
	maxSeenCursors = 10_000
)

// seenCursors remembers the cursors that a process has seen. What it says is a lower bound of the
// position: good enough to say that a seq fits, never to say that a queue is full.
type seenCursors struct {
	now func() time.Time
	mu  sync.Mutex
	// lru is guarded by mu.
	lru *simplelru.LRU[string, seenCursor]
}

type seenCursor struct {
	cursor Cursor
	read   time.Time
	// crowded is when an append last found that others had left behind what was remembered.
	crowded time.Time
}

func newSeenCursors(now func() time.Time) *seenCursors {
	lru, err := simplelru.NewLRU[string, seenCursor](maxSeenCursors, nil)
	if err != nil {
		// unreachable: the size is a positive constant
		panic(err)
	}
	return &seenCursors{now: now, lru: lru}
}

// get returns the queue's cursor where it is remembered and young enough.
func (m *seenCursors) get(queue string) (Cursor, bool) {
	return m.young(queue, func(seenCursor) time.Duration { return memoAge })
}

// young returns the queue's cursor where it is no older than that.
func (m *seenCursors) young(queue string, most func(seenCursor) time.Duration) (Cursor, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.lru.Get(queue)
	if !ok || m.now().Sub(found.read) > most(found) {
		return Cursor{}, false
	}
	return found.cursor, true
}

// appendAge is how long a remembered cursor may be used to append to a queue: what others append
// meanwhile has to be searched where it is too much for the tail.
const appendAge = 10 * time.Second

func (m *seenCursors) getToAppend(queue string) (Cursor, bool) {
	return m.young(queue, func(found seenCursor) time.Duration {
		switch {
		case numbered(found.cursor):
			return memoAge // the kind is all that matters, and never changes
		case m.now().Sub(found.crowded) <= memoAge:
			return crowdedAge
		}
		return appendAge
	})
}

// crowdedAge is appendAge for a queue to which many others append.
const crowdedAge = 100 * time.Millisecond

// crowd notes that what is remembered of a queue was too old to append to it.
func (m *seenCursors) crowd(queue string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.lru.Peek(queue); ok {
		found.crowded = m.now()
		m.lru.Add(queue, found)
	}
}

func (m *seenCursors) forget(queue string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Remove(queue)
}

// put remembers a cursor that was read at this time or later, unless a higher position is
// remembered already.
func (m *seenCursors) put(c Cursor, read time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.lru.Peek(c.Queue)
	if ok && found.cursor.Position > c.Position {
		return
	}
	m.lru.Add(c.Queue, seenCursor{c, read, found.crowded})
}
