package main

import (
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// shown is what the caller may know of a sink; nil where nothing is. A tenant shares it with others: it sees why nothing is
// delivered, and when that is tried again, but not what others have delivered.
func shown(scope tenancy.Scope, known delivery.Sink) *view.Sink {
	if scope.Tenant() != "" {
		known = delivery.Sink{OpenSince: known.OpenSince, ProbeAt: known.ProbeAt}
	}
	if known == (delivery.Sink{}) {
		return nil
	}
	return &view.Sink{
		OpenSince: known.OpenSince, ProbeAt: known.ProbeAt, Probes: known.Probes, Waking: known.Waking,
		FailingSince: known.FailingSince, TakenAt: known.TakenAt,
	}
}
