package dedup

import (
	"math"
	"time"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Poll says how a caller waits while another one runs the effect: how long
// between two looks, and how long in all. Make one with [Linear] or
// [Exponential], or take [NoWait].
//
// Each delay is made shorter by up to a quarter, at random, so that those who
// began together do not look together.
type Poll struct {
	delay, most time.Duration
	factor      float64
	set         bool
	// paced: the first look comes when such effects usually end.
	paced bool
}

// NoWait does not wait at all: a key that is held is a [StillRunningError] at
// once.
func NoWait() Poll { return Poll{set: true} }

// Linear looks again after each delay, for at most longest in all.
func Linear(delay, longest time.Duration) Poll {
	return Poll{delay: delay, factor: 1, most: longest, set: true}
}

// Exponential looks again after base, base×factor, base×factor², and so on, for
// at most longest in all.
func Exponential(base time.Duration, factor float64, longest time.Duration) Poll {
	return Poll{delay: base, factor: factor, most: longest, set: true}
}

// defaultPoll is Exponential(100 ms, 2, 15 s), whose first look comes later where
// this process knows better: when effects of this kind usually end, by the rows
// that it has seen, and at most 2 seconds later. So most callers need one look.
func defaultPoll() Poll {
	p := Exponential(100*time.Millisecond, 2, 15*time.Second)
	p.paced = true
	return p
}

// validate reports a delay that is not from 1 ms to the whole wait, a factor
// that is not from 1 to 100, or a wait that is longer than the lease, after which a
// look takes the key over anyway. A lease of 0 is not known yet.
func (p Poll) validate(lease time.Duration) error {
	if !p.set || p == NoWait() {
		return nil
	}
	switch {
	case p.delay < time.Millisecond:
		return &InvalidError{Field: "poll delay", Code: invalid.OutOfRange, Problem: "must be at least 1ms"}
	case p.most < p.delay:
		return &InvalidError{Field: "poll wait", Code: invalid.OutOfRange, Problem: "must be at least the delay, " + p.delay.String()}
	case lease > 0 && p.most > lease:
		return &InvalidError{Field: "poll wait", Code: invalid.OutOfRange, Problem: "must be at most the lease, " + lease.String()}
	case !(p.factor >= 1 && p.factor <= 100):
		return &InvalidError{Field: "poll factor", Code: invalid.OutOfRange, Problem: "must be from 1 to 100"}
	}
	return nil
}

// after is the delay before the nth look, from 0; random is from 0 to below 1.
func (p Poll) after(n int, random float64) time.Duration {
	delay := float64(p.delay) * math.Pow(p.factor, float64(n)) * (1 - random/4)
	if delay > float64(p.most) {
		return p.most
	}
	return time.Duration(delay)
}
