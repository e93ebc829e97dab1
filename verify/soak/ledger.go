package main

import (
	"slices"
	"sync"
)

// ledger is the account of what went in. It may be used by any number of
// goroutines.
type ledger struct {
	mu sync.Mutex
	// bodies are those of each queue's messages by seq.
	bodies map[string]map[int64]sums
	total  int
}

func newLedger() *ledger { return &ledger{bodies: map[string]map[int64]sums{}} }

// note notes a message before it is sent: it may come out before its producer
// has the answer.
func (l *ledger) note(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bodies[m.queue] == nil {
		l.bodies[m.queue] = map[int64]sums{}
	}
	l.bodies[m.queue][m.seq] = m.sums
	l.total++
}

// body is what was sent; false where nothing was.
func (l *ledger) body(queue string, seq int64) (sums, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.bodies[queue][seq]
	return s, ok
}

// count is how many messages went in.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// due reports whether a consumer has to get a message: all but those behind the
// gap and, where the consumer does not take poison, those from it on.
func due(queue string, seq int64, takesPoison bool) bool {
	return seq < bad || queue != gapQueue && (takesPoison || queue != poisonQueue)
}

// place is a message's.
type place struct {
	queue string
	seq   int64
}

// due are the places of all messages that a consumer has to get, in order.
func (l *ledger) due(takesPoison bool) []place {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []place
	for queue, bodies := range l.bodies {
		for seq := range bodies {
			if due(queue, seq, takesPoison) {
				all = append(all, place{queue, seq})
			}
		}
	}
	slices.SortFunc(all, func(a, b place) int {
		if a.queue != b.queue {
			if a.queue < b.queue {
				return -1
			}
			return 1
		}
		return int(a.seq - b.seq)
	})
	return all
}
