package main

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// sinkAnswer is what is known of a consumer's sink, from all queues of its name.
type sinkAnswer struct {
	// OpenSince is since when its circuit is open, ProbeAt when it is asked next, Probes how often it was.
	OpenSince time.Time `json:"openSince,omitzero"`
	ProbeAt   time.Time `json:"probeAt,omitzero"`
	Probes    int64     `json:"probes,omitempty"`
	// Waking: queues that the circuit held back are being woken up.
	Waking       bool      `json:"waking,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	TakenAt      time.Time `json:"takenAt,omitzero"`
}

// sinks are those of a queue's consumers, nil of which nothing is to be shown: half a read unit each,
// side by side.
func (s *service) sinks(ctx context.Context, c *httpapi.Call, list []delivery.Status) ([]*sinkAnswer, error) {
	sinks, errs := make([]*sinkAnswer, len(list)), make([]error, len(list))
	fanout.SideBySide(len(list), func(i int) {
		known, err := s.deliverer.Inside(request.Inside{}).Health(ctx, list[i].Name)
		sinks[i], errs[i] = shown(c, known), err
	})
	return sinks, errors.Join(errs...)
}

// shown is what the caller may know of a sink. A tenant shares it with others: it sees why nothing is
// handed on, and when that is tried again, but not what others have handed on.
func shown(c *httpapi.Call, known request.Health) *sinkAnswer {
	a := sinkAnswer{OpenSince: known.Circuit.Opened}
	if known.Circuit.Open() {
		a.ProbeAt = known.Circuit.ProbeAt
	}
	if c.Tenant() == "" {
		a.Waking, a.FailingSince, a.TakenAt = known.Circuit.Waking, known.FailingSince, known.TakenAt
		if known.Circuit.Open() {
			a.Probes = known.Circuit.Probes
		}
	}
	if a == (sinkAnswer{}) {
		return nil
	}
	return &a
}
