package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// problemOf says what an error of a Deliverer is to the caller, nil for one that others have too.
func problemOf(err error) *httpapi.Problem {
	var refused *delivery.RefusedError
	switch {
	case errors.Is(err, delivery.ErrNoConsumer):
		return httpapi.NewProblem(http.StatusNotFound, "no-consumer", "There is no such consumer",
			"the queue has no consumer of this name: POST /consumers creates it", "queue", "consumer")
	case errors.Is(err, endpoint.ErrNone):
		return httpapi.NewProblem(http.StatusNotFound, "no-endpoint", "There is no such endpoint",
			"the consumer has no endpoint for this queue, or prefix", "queue", "prefix", "consumer")
	case errors.Is(err, endpoint.ErrOutran):
		return conflict("outran", "The endpoint was changed at the same moment",
			"look at it, and decide again")
	case !errors.As(err, &refused):
		return nil
	case refused.Code == "not-blocked":
		return notBlocked(err.Error())
	case refused.Code == "claimed":
		return conflict(refused.Code, "The consumer has a claim in flight", fmt.Sprintf(
			"the claim ends at %s at the latest; pause the consumer and wait for its end",
			refused.Until.Format(time.RFC3339)))
	case refused.Code == "quarantined":
		return conflict(refused.Code, "The consumer has a claim in quarantine",
			"settle it, or release it, first")
	case refused.Code == "not-quarantined":
		return conflict(refused.Code, "The claim is not in quarantine", err.Error())
	case refused.Code == "id-taken":
		return conflict(refused.Code, "The id is that of another operation", "the queue has another operation of this id, or this one with something else asked for; nothing was done")
	case refused.Code == "outran":
		return conflict(refused.Code, "The consumer was changed at the same moment",
			"look at it, and decide again")
	}
	return nil
}

func conflict(kind, title, detail string) *httpapi.Problem {
	return httpapi.NewProblem(http.StatusConflict, kind, title, detail)
}

func notBlocked(detail string) *httpapi.Problem {
	return conflict("not-blocked", "The consumer does not fail on this message", detail)
}
