package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// problemOf says what an error of a Deliverer is to the caller.
func problemOf(ctx context.Context, err error) *edge.Problem {
	switch {
	case errors.Is(err, handoff.ErrNoConsumer):
		return &edge.Problem{
			Status: http.StatusNotFound, Type: "no-consumer", Title: "There is no such consumer",
			Detail: "the queue has no consumer of this name",
		}
	case errors.Is(err, handoff.ErrNotBlocked):
		return notBlocked("the consumer is not blocked")
	case errors.Is(err, handoff.ErrClaimed):
		return &edge.Problem{Status: http.StatusConflict, Type: "claimed", Title: "The consumer has a claim out"}
	case errors.Is(err, handoff.ErrQuarantined):
		return &edge.Problem{
			Status: http.StatusConflict, Type: "quarantined", Title: "The consumer has a claim in quarantine",
			Detail: "settle it, or release it, first",
		}
	case errors.Is(err, handoff.ErrNotQuarantined):
		return &edge.Problem{
			Status: http.StatusConflict, Type: "not-quarantined", Title: "The claim is not in quarantine",
			Detail: err.Error(),
		}
	case errors.Is(err, handoff.ErrOutran):
		return &edge.Problem{
			Status: http.StatusConflict, Type: "outran", Title: "The consumer was changed at the same moment",
			Detail: "look at it, and decide again",
		}
	}
	return edge.ProblemOf(ctx, err)
}

func notBlocked(detail string) *edge.Problem {
	return &edge.Problem{
		Status: http.StatusConflict, Type: "not-blocked", Title: "The consumer is not blocked on this message", Detail: detail,
	}
}
