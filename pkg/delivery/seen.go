package delivery

import "sync"

// maxSeen is how many consumers a process remembers, at some 200 bytes each; then it begins anew.
const maxSeen = 10_000

// seen remembers the consumers of queues that a process left idle, with nothing failed. It is used
// where the record of a move begins where the consumer was left: then most likely nobody else had
// it meanwhile. A claim compares the number of the token, which each change of hands raises, so
// where somebody had, the claim is refused, and the answer has the consumer as it stands.
type seen struct {
	mu   sync.Mutex
	left map[consumerKey]idle
}

type consumerKey struct{ queue, consumer string }

// idle is what tells one idle consumer from another.
type idle struct {
	tokenN, delivered int64
}

// get is the consumer, if it was left at a place.
func (s *seen) get(queue, consumer string, at int64) (Consumer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.left[consumerKey{queue, consumer}]
	return Consumer{Queue: queue, Name: consumer, State: Idle, Token: Token{N: found.tokenN},
			Delivered: found.delivered},
		ok && found.delivered == at
}

// put remembers a consumer as it was left: not where the store failed, which may have made a claim
// all the same.
func (s *seen) put(c Consumer, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := consumerKey{c.Queue, c.Name}
	if failed == nil && c.State == Idle && c.Attempts == 0 && c.RetryAt.IsZero() &&
		c.failedTo() <= c.Delivered && c.TriedTo <= c.Delivered && c.Paused == "" && c.Starting == "" {
		if len(s.left) >= maxSeen {
			clear(s.left)
		}
		s.left[key] = idle{c.Token.N, c.Delivered}
		return
	}
	delete(s.left, key)
}
