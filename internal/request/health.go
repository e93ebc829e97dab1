package request

import (
	"slices"
	"time"
)

// Health is what all queues of a consumer know of its sink: an item for the consumer's name. The
// zero Health is that of a sink of which nothing failed yet.
type Health struct {
	// Consumer is the consumer's name.
	Consumer string
	// Rev rises with each change, By says who made the last one.
	Rev int64  `ddb:"rev"`
	By  string `ddb:"by"`
	// Failing are queues of which a batch failed since the sink last took one, [MaxFailing] at
	// most.
	Failing []FailingQueue `ddb:"failing,omitzero"`
	// FailingSince is since when there are any.
	FailingSince time.Time `ddb:"failingSince,omitzero"`
	// TakenAt is when the last batch was handed over that the sink took, and that was noted: while
	// nothing fails none is.
	TakenAt time.Time `ddb:"takenAt,omitzero"`
	// Circuit is whether the sink is asked at all.
	Circuit Circuit `ddb:",inline"`
}

// FailingQueue is a queue of which a batch failed, and when that was last noted.
type FailingQueue struct {
	Queue string    `ddb:"queue"`
	At    time.Time `ddb:"at"`
}

// Circuit is the breaker of a consumer's sink. The zero Circuit is closed, and was never open.
type Circuit struct {
	// Opened is since when it is open; the zero time while it is closed.
	Opened time.Time `ddb:"opened,omitzero"`
	// ProbeAt is when the next batch may be handed over while it is open, Probes how many were.
	ProbeAt time.Time `ddb:"probeAt,omitzero"`
	Probes  int64     `ddb:"probes,omitzero"`
	// Closed is when it closed last, Waking that queues which were left alone until then are still
	// to be woken up.
	Closed time.Time `ddb:"closed,omitzero"`
	Waking bool      `ddb:"waking,omitzero"`
	// Announced says that the opening was announced.
	Announced bool `ddb:"announced,omitzero"`
}

// Open reports whether nothing is handed over but by a probe.
func (c Circuit) Open() bool { return !c.Opened.IsZero() }

// Still are the queues of Failing whose entries are younger than good.
func (h Health) Still(now time.Time, good time.Duration) []FailingQueue {
	return slices.DeleteFunc(slices.Clone(h.Failing), func(f FailingQueue) bool {
		return now.Sub(f.At) >= good
	})
}
