package main

import (
	"errors"
	"net/http"

	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// problemOf says what an error of a Deliverer is to the caller, nil for one that
// others have too.
func problemOf(err error) *httpapi.Problem {
	switch {
	case errors.Is(err, delivery.ErrNoConsumer):
		return &httpapi.Problem{
			Status: http.StatusNotFound, Type: "no-consumer", Title: "There is no such consumer",
			Detail: "the queue has no consumer of this name",
		}
	case errors.Is(err, endpoint.ErrNone):
		return &httpapi.Problem{Status: http.StatusNotFound, Type: "no-endpoint", Title: "There is no such endpoint", Detail: "the consumer has no endpoint for this queue, or prefix"}
	case errors.Is(err, endpoint.ErrOutran):
		return &httpapi.Problem{Status: http.StatusConflict, Type: "outran", Title: "The endpoint was changed at the same moment", Detail: "look at it, and decide again"}
	case errors.Is(err, delivery.ErrIDTaken):
		return &httpapi.Problem{
			Status: http.StatusConflict, Type: "id-taken", Title: "The id is that of another operation",
			Detail: "the queue has another operation of this id, or this one with something else asked for; nothing was done",
		}
	case errors.Is(err, delivery.ErrNotBlocked):
		return notBlocked("the consumer is not blocked")
	case errors.Is(err, delivery.ErrClaimed):
		return &httpapi.Problem{Status: http.StatusConflict, Type: "claimed", Title: "The consumer has a claim in flight"}
	case errors.Is(err, delivery.ErrQuarantined):
		return &httpapi.Problem{
			Status: http.StatusConflict, Type: "quarantined", Title: "The consumer has a claim in quarantine",
			Detail: "settle it, or release it, first",
		}
	case errors.Is(err, delivery.ErrNotQuarantined):
		return &httpapi.Problem{
			Status: http.StatusConflict, Type: "not-quarantined", Title: "The claim is not in quarantine",
			Detail: err.Error(),
		}
	case errors.Is(err, delivery.ErrOutran):
		return &httpapi.Problem{
			Status: http.StatusConflict, Type: "outran", Title: "The consumer was changed at the same moment",
			Detail: "look at it, and decide again",
		}
	}
	return nil
}

func notBlocked(detail string) *httpapi.Problem {
	return &httpapi.Problem{
		Status: http.StatusConflict, Type: "not-blocked", Title: "The consumer is not blocked on this message", Detail: detail,
	}
}
