package eventsource

import (
	"math/rand/v2"
	"time"
)

// Chaos makes the runner do on purpose what at-least-once delivery allows but hardly ever does:
// "event source mappings process each event at least once, and duplicate processing of records can
// occur" (invocation-eventsourcemapping.html). Drop goes further: it leaves out what a mapping
// leaves out that was deleted and recreated, or switched off for longer than the stream keeps a
// record. The zero value does nothing.
type Chaos struct {
	// Seed makes two runs over the same records choose the same, lane by lane.
	Seed uint64
	// Duplicate is the probability, 0 to below 1, that a batch that succeeded is delivered again:
	// all of it, or from some record on, alone or with records that follow.
	Duplicate float64
	// Late is the probability, 0 to 1, that a batch is held back by up to LateBy. The lane's order
	// is kept; other lanes go on.
	Late float64
	// Drop is the probability, 0 to 1, that a batch is never delivered, and nobody is notified.
	Drop float64
	// LateBy is the longest time a batch is held back.
	LateBy time.Duration
}

// Dice decide for one lane, or for one queue.
type Dice struct {
	Chaos
	dice *rand.Rand
}

// Dice are those of a lane.
func (c Chaos) Dice(lane uint64) *Dice {
	return &Dice{Chaos: c, dice: rand.New(rand.NewPCG(c.Seed, lane))}
}

// Forget returns the index from which on a batch of n records is delivered again, n for not at all.
func (c *Dice) Forget(n int) int {
	if c.Duplicate == 0 || c.dice.Float64() >= c.Duplicate {
		return n
	}
	if c.dice.Uint64()&1 == 0 {
		return 0
	}
	return c.dice.IntN(n)
}

// Hold returns the time before which a batch is held back, now for not at all.
func (c *Dice) Hold(now time.Time) time.Time {
	if c.LateBy == 0 || c.Late == 0 || c.dice.Float64() >= c.Late {
		return now
	}
	return now.Add(time.Duration(c.dice.Int64N(int64(c.LateBy) + 1)))
}

// Lose reports whether a batch is never delivered.
func (c *Dice) Lose() bool { return c.Drop > 0 && c.dice.Float64() < c.Drop }
