package delivery

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/request"
)

// Sink is what is known of the sink of all consumers of a name. The zero Sink never failed.
type Sink struct {
	// OpenSince is since when its circuit is open, so that nothing is handed on but a probe; the zero
	// time while it is closed.
	OpenSince time.Time
	// ProbeAt is when the next probe may be made while the circuit is open, Probes how many were.
	ProbeAt time.Time
	Probes  int64
	// Waking: the circuit has closed, and queues that it held back are still to be woken up.
	Waking bool
	// FailingSince is since when batches fail, with none that was taken in between; TakenAt when one
	// was taken after others had failed. What a sink takes that does not fail is not noted.
	FailingSince, TakenAt time.Time
}

// Sink reads what is known of the sink of a consumer's name, as it was within the last second: half
// a read unit.
func (d *Deliverer) Sink(ctx context.Context, consumer string) (Sink, error) {
	h, err := d.store.Health(ctx, consumer, false)
	return sinkOf(h), err
}

func sinkOf(h request.Health) Sink {
	s := Sink{OpenSince: h.Circuit.Opened, Waking: h.Circuit.Waking, FailingSince: h.FailingSince, TakenAt: h.TakenAt}
	if h.Circuit.Open() {
		s.ProbeAt, s.Probes = h.Circuit.ProbeAt, h.Circuit.Probes
	}
	return s
}
