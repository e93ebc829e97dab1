package lambda

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Chaos kills functions' processes at random while they work, as a machine that fails would: before
// a request had an effect, between two effects, or when all is done and only the answer is missing.
// The caller gets what Lambda gives when a runtime dies. Make it with [KillRandomly].
type Chaos struct {
	rate float64

	mu     sync.Mutex
	random *rand.Rand
}

// KillRandomly kills the process of each request with the probability rate, from 0 to 1. The seed
// fixes which requests are hit and where each is aimed; what a request has done by then depends on
// the machine.
func KillRandomly(rate float64, seed uint64) *Chaos {
	return &Chaos{rate: rate, random: rand.New(rand.NewPCG(seed, 0x5eed))}
}

// plan decides about one request. A third of those that are hit dies as it begins, a third at a
// moment within the function's usual time, and a third when the answer is there. Nil is of one that
// is not hit.
func (f *function) plan() <-chan time.Time {
	c := f.service.config.Chaos
	if c == nil || c.rate == 0 {
		return nil
	}
	c.mu.Lock()
	hit, moment := c.random.Float64() < c.rate, 3*c.random.Float64()
	c.mu.Unlock()
	if !hit {
		return nil
	}
	var after time.Duration
	switch {
	case moment >= 2:
		after = time.Hour // longer than any request: the answer comes first
	case moment >= 1:
		f.mu.Lock()
		after = time.Duration((moment - 1) * float64(f.mean))
		f.mu.Unlock()
	}
	return time.After(after)
}
