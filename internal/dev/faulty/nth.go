package faulty

import "sync"

// Nth chooses the one request that goes wrong, by its place. The zero Nth chooses none. It may be
// used by any number of goroutines.
type Nth[F any] struct {
	mu sync.Mutex
	// left is how many requests there are up to the one that goes wrong; 0 where none does.
	left  int
	fault F
}

// Fail makes the nth request from now on go wrong, counted from 1; 0 means none.
func (n *Nth[F]) Fail(nth int, fault F) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left, n.fault = nth, fault
}

// Pending reports whether the request that is to go wrong has not come yet.
func (n *Nth[F]) Pending() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left > 0
}

// Due is the fault of this request; the zero F where it has none.
func (n *Nth[F]) Due() (fault F) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left > 0 {
		if n.left--; n.left == 0 {
			fault = n.fault
		}
	}
	return fault
}
