package delivery

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// shared is the last batch that was read of a queue for one of its consumers in an event: the next
// consumer that comes to the same place needs no read. What lies under the position never changes,
// so it is no older than if it were read again. It lasts as long as the event's jobs of the queue.
type shared struct {
	mu   sync.Mutex
	last *reading
	jobs int
}

// reading is a batch that is read, or was: how, from where, and what was found, once done is
// closed. ok tells that nothing went wrong.
type reading struct {
	plan
	after int64
	done  chan struct{}
	batch cursor.Batch
	ok    bool
}

// read reads a batch, or copies the one that was read last, where that is the same. Consumers that
// come at the same time wait for one read. One that fails is nobody else's.
func (s *shared) read(how plan, after int64,
	read func() (cursor.Batch, error)) (cursor.Batch, error) {
	if s == nil {
		return read()
	}
	s.mu.Lock()
	it := s.last
	if it == nil || it.plan != how || it.after != after {
		it = &reading{plan: how, after: after, done: make(chan struct{})}
		s.last = it
		s.mu.Unlock()
		defer close(it.done)
		batch, err := read()
		it.batch, it.ok = batch, err == nil
		if it.ok {
			batch = copied(batch)
		}
		return batch, err
	}
	s.mu.Unlock()
	if <-it.done; !it.ok {
		return read()
	}
	return copied(it.batch), nil
}

// end ends one of the jobs of the queue: nothing is kept behind the last.
func (s *shared) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs--; s.jobs == 0 {
		s.last = nil
	}
}

// copied is a batch that its consumer may change.
func copied(b cursor.Batch) cursor.Batch {
	b.Messages, b.Skipped = slices.Clone(b.Messages), slices.Clone(b.Skipped)
	for i := range b.Messages {
		m := &b.Messages[i]
		m.Body, m.Attributes, m.Digest = bytes.Clone(m.Body), maps.Clone(m.Attributes),
			bytes.Clone(m.Digest)
	}
	return b
}
