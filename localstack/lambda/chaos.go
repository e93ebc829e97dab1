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

// kill is the end that chaos has planned for one request; nil for none.
type kill struct {
	due   <-chan time.Time
	timer *time.Timer
}

// plan decides about one request. A third of those that are hit dies as it begins, a third at a
// moment within the function's usual time, and a third when the answer is there.
func (f *function) plan() *kill {
	c := f.service.config.Chaos
	none := &kill{}
	if c == nil {
		return none
	}
	c.mu.Lock()
	hit, moment := c.random.Float64() < c.rate, 3*c.random.Float64()
	c.mu.Unlock()
	if !hit {
		return none
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
	timer := time.NewTimer(after)
	return &kill{due: timer.C, timer: timer}
}

// planned reports whether the request is to be killed at the latest when it answers.
func (k *kill) planned() bool { return k.timer != nil }

func (k *kill) stop() {
	if k.timer != nil {
		k.timer.Stop()
	}
}
