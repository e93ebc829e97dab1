package view

import (
	"cmp"
	"slices"
	"time"
)

// State is what a queue or a consumer is in, as people see it.
type State string

// The states.
const (
	// OK: it has everything, or is at all that waits for the first time.
	OK State = "ok"
	// CatchingUp: messages wait for it, and nothing is wrong.
	CatchingUp State = "catching-up"
	// Retrying: its last attempt failed, and the next one comes by itself.
	Retrying State = "retrying"
	// Held: the circuit breaker of its name is open, or wakes its queues up.
	Held State = "held"
	// Blocked: nothing is delivered until an operator acts.
	Blocked State = "blocked"
	// Paused: an operator paused it.
	Paused State = "paused"
	// InDoubt: nothing says whether a claim was committed.
	InDoubt State = "in-doubt"
	// Gap: messages of the queue are missing, and it waits for them.
	Gap State = "gap"
)

// Causes say more of a state.
const (
	// Failed: the message at the head failed: of retrying, and of blocked.
	Failed = "failed"
	// Missing: the next message of a blocked consumer is not stored any more.
	Missing = "missing"
	// SinkAway: the sink was throttled or could not be reached, which counts against no message.
	SinkAway = "sink-away"
	// Died: nothing was answered until the lease was over.
	Died = "died"
	// Replies: a queue that the replies go to is full.
	Replies = "replies"
	// Open and Waking are what a circuit breaker that holds a queue is.
	Open, Waking = "open", "waking"
	// Prepared and Quarantined are where a claim in doubt is.
	Prepared, Quarantined = "prepared", "quarantined"
	// Starting: the consumer finds its place. Lagging: it is behind for longer than the sweep
	// allows.
	Starting, Lagging = "starting", "lagging"
)

// Attention are the states that people look at, the worst first.
var Attention = []State{Blocked, InDoubt, Gap, Held, Retrying, Paused, CatchingUp}

// Summarized are those that a summary counts: of queues and consumers, and of chains.
var Summarized = slices.Concat(Attention, []State{"failed", "timed-out"})

func (s State) compare(o State) int {
	return cmp.Compare(slices.Index(Attention, s), slices.Index(Attention, o))
}

// precedence is which state of several a consumer is said to be in: the first.
var precedence = []State{Paused, Blocked, InDoubt, Held, Retrying, CatchingUp, OK}

// Aspect is one thing that a consumer is in.
type Aspect struct {
	State State
	Cause string
	// Since is since when; the zero time where that is not known.
	Since time.Time
	// NextTry is when it is tried again by itself; the zero time where that is not known.
	NextTry time.Time
}

// In returns the aspect that a consumer of these is said to be in, and the states of the others.
// None means OK.
func In(aspects ...Aspect) (first Aspect, also []State) {
	first = Aspect{State: OK}
	for _, state := range precedence {
		for _, a := range aspects {
			switch {
			case a.State != state:
			case first.State == OK:
				first = a
			case a.State != first.State && a.State != CatchingUp && !slices.Contains(also, a.State):
				also = append(also, a.State)
			}
		}
	}
	return first, also
}
