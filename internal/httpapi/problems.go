package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// ProblemOf says what an error is to the caller: one that is a Problem already, of the sorter, or
// of whose names they are. An unexpected one is logged, and not shown to the caller. Names are
// shown as the scope's callers give them.
func ProblemOf(ctx context.Context, scope tenancy.Scope, err error) *Problem {
	var problem *Problem
	var wrong *invalid.Error
	var missing *cursor.MissingError
	var noTenant *tenancy.NoTenantError
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &wrong):
		return fieldProblem(newFieldError(scope, wrong), wrong)
	case errors.As(err, &noTenant):
		return NewProblem(http.StatusForbidden, "no-tenant", "The caller is no tenant", noTenant.Why)
	case errors.As(err, &missing):
		return NewProblem(http.StatusGone, "deleted", "The message has been deleted",
			fmt.Sprintf("seq %d is at or under the position, but not stored", missing.Seq))
	case errors.Is(err, cursor.ErrNoQueue):
		return NewProblem(http.StatusNotFound, "no-queue", "There is no such queue",
			"nothing was ever put to this queue", "queue")
	case errors.Is(err, cursor.ErrExpired):
		return Unavailable(
			"what was stored before expired while it was repeated; repeating the request is safe")
	case errors.Is(err, cursor.ErrThrottled), errors.Is(err, cursor.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		slog.WarnContext(ctx, "the tables did not answer", "error", err)
		return Unavailable(
			"the tables are throttled or did not answer; repeating the request is safe")
	}
	slog.ErrorContext(ctx, "unexpected", "error", err)
	return unexpected()
}

func fieldProblem(f FieldError, wrong *invalid.Error) *Problem {
	p := refuses(http.StatusBadRequest, typeInvalid, "The request is not valid", f)
	switch {
	case errors.Is(wrong, tenancy.ErrNotYours):
		p.Status, p.Type, p.Title = http.StatusForbidden, "not-yours",
			"The request names what is another's"
	case errors.Is(wrong, cursor.ErrErased):
		p.Status, p.Type, p.Title = http.StatusGone, "erased", "The queue was erased"
	case errors.Is(wrong, cursor.ErrFixed):
		p.Status, p.Type, p.Title = http.StatusConflict, "setting-fixed",
			"The setting cannot be changed: the queue was created with it"
	case wrong.Code == invalid.TooLarge && (wrong.Field == "body" || wrong.Field == "messages") &&
		(len(wrong.At) == 0 || wrong.At[0].List == "messages"):
		// It is the body of a message that is put, or all that are put under one id.
		p.Status, p.Type, p.Title = http.StatusRequestEntityTooLarge, "too-large",
			"The message is too large"
	}
	return p
}

func unexpected() *Problem {
	return NewProblem(http.StatusInternalServerError, "unexpected", "Something is wrong on our side",
		"repeating the request is safe")
}
