package localstack

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Failure is a message that a queue for failures took: what an event source mapping or an
// asynchronous invocation gave up on.
type Failure struct {
	Queue   string // name
	At      time.Time
	Message json.RawMessage // as AWS writes it
}

// failures keeps messages in the order of their arrival, in memory.
type failures struct {
	mu  sync.Mutex
	all []Failure
}

func (f *failures) add(queue string, message []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, Failure{queue, time.Now().UTC(), message})
}

// Failures are the messages in all queues for failures, oldest first.
func (s *Stack) Failures() []Failure {
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	return slices.Clone(s.failures.all)
}
