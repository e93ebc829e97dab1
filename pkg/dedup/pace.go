package dedup

import (
	"sync"
	"time"
)

// pace is how long effects of one kind take, as this process has seen it: in the rows of those that
// it ran, and of those that others did. It only says when a look is worth its price.
type pace struct {
	mu      sync.Mutex
	typical time.Duration
}

// longestFirst bounds the delay before the first look, for effects that are much shorter than the
// others of their kind.
const longestFirst = 2 * time.Second

// learn takes a completed row into account: half of what is known is of the last two or three.
func (p *pace) learn(r Row) {
	took := r.CompletedAt.Sub(r.StartedAt)
	if r.Failed || took <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.typical == 0 {
		p.typical = took
		return
	}
	p.typical += (took - p.typical) / 4
}

// left is how long the effect of a row that is running goes on, if it takes as long as they do, and
// up to a fifth longer, at random, so that those who began together do not look together; 0 where
// nothing is known.
func (p *pace) left(r Row, now time.Time, random float64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.typical == 0 {
		return 0
	}
	// Another one's clock may be ahead of ours.
	age := max(now.Sub(r.StartedAt), 0)
	expected := time.Duration(float64(p.typical) * (17 + 2*random) / 16)
	return min(expected-age, longestFirst)
}
