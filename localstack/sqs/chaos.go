package sqs

import (
	"math/rand/v2"
	"time"
)

// Chaos is what goes wrong on purpose. SQS itself may hand a message out twice, or late; that one
// is lost stands for one that was never sent. The zero Chaos is nothing.
type Chaos struct {
	Seed uint64
	// Drop, Duplicate and Late are the probabilities, 0 to 1, that a message never comes, comes
	// twice, or comes later, by up to LateBy.
	Drop, Duplicate, Late float64
	LateBy                time.Duration
}

// dice decide about messages, one after the other.
type dice struct {
	Chaos
	*rand.Rand
}

func (c Chaos) dice() *dice { return &dice{c, rand.New(rand.NewPCG(c.Seed, 0x5a5))} }

// of decides about the next message: how often it comes, and by how much later.
func (d *dice) of() (copies int, late time.Duration) {
	if d.Float64() < d.Drop {
		return 0, 0
	}
	if d.Late > 0 && d.LateBy > 0 && d.Float64() < d.Late {
		late = time.Duration(d.Int64N(int64(d.LateBy) + 1))
	}
	if d.Float64() < d.Duplicate {
		return 2, late
	}
	return 1, late
}
