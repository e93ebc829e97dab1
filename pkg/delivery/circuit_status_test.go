package delivery_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// sink is what people are shown of a sink.
type sink struct {
	OpenSince, ProbeAt, FailingSince, TakenAt time.Time
	Probes                                    int64
	Waking                                    bool
}

// sinkIs checks what is shown of the desk's sink.
func (k *desk) sinkIs(what string, want sink) {
	k.t.Helper()
	h := check.Get(k.d.Inside(request.Inside{}).Health(k.t.Context(), "c"))
	got := sink{h.Circuit.Opened, h.Circuit.ProbeAt, h.FailingSince, h.TakenAt, h.Circuit.Probes, h.Circuit.Waking}
	if !h.Circuit.Open() {
		got.ProbeAt, got.Probes = time.Time{}, 0
	}
	check.That(k.t, got == want, "%s: %+v, want %+v", what, got, want)
}

// TestSink: what people are shown of a sink, from its first failure until it is back.
func TestSink(t *testing.T) {
	k := newDesk(t)
	k.sinkIs("nothing failed", sink{})
	began := k.now
	k.fails = func(delivery.Batch) error { return errNo }
	for i, queue := range []string{"q1", "q2", "q3"} {
		k.put(queue, 1)
		k.hands(queue, endedFailed)
		if i == 0 {
			k.sinkIs("one failed", sink{FailingSince: began})
		}
		k.pass(time.Second)
	}
	k.pass(7 * time.Second)
	k.hands("q3", endedFailed)
	open := sink{OpenSince: began.Add(10 * time.Second), ProbeAt: k.circuit().ProbeAt, FailingSince: began}
	k.sinkIs("open", open)
	k.put("q", 1)
	k.probeDue()
	k.hands("q", endedFailed)
	open.Probes, open.ProbeAt = 1, k.circuit().ProbeAt
	k.sinkIs("after a probe", open)
	k.fails = nil
	k.probeDue()
	k.put("r", 1)
	k.hands("r", endedCaughtUp)
	k.sinkIs("closed", sink{Waking: true, TakenAt: k.now})
	k.fails = func(delivery.Batch) error { return errNo }
	k.pass(time.Second)
	k.put("r", 2)
	k.hands("r", endedFailed)
	back := k.now.Add(-time.Second)
	k.sinkIs("it fails again", sink{Waking: true, TakenAt: back, FailingSince: k.now})
}
