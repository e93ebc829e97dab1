package main

import (
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/internal/view"
)

// shown is what the caller may know of a sink; nil where nothing is. A tenant shares it with
// others: it sees why nothing is delivered, and when that is tried again, but not what others have
// delivered.
func shown(scope tenancy.Scope, known request.Health) *view.Sink {
	a := view.Sink{OpenSince: known.Circuit.Opened}
	if known.Circuit.Open() {
		a.ProbeAt = known.Circuit.ProbeAt
	}
	if scope.Tenant() == "" {
		a.Waking, a.FailingSince, a.TakenAt = known.Circuit.Waking, known.FailingSince, known.TakenAt
		if known.Circuit.Open() {
			a.Probes = known.Circuit.Probes
		}
	}
	if a == (view.Sink{}) {
		return nil
	}
	return &a
}
