package ui

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/view"
)

// What the API answers, as far as the page shows it.

type (
	queue     = view.Queue
	gaps      = view.Gaps
	gap       = view.Range
	row       = view.Row
	consumer  = view.Consumer
	message   = view.Message
	operation = view.Operation
)

type rows struct {
	List []row
	Next string
}

// who is a mark of who looks, where each has a token: what was seen by one is not shown to another,
// of whose tenant a queue may have the same name.
func (u *UI) who(ctx context.Context) string {
	if u.options.Token == nil {
		return ""
	}
	token, err := u.options.Token(ctx)
	if err != nil {
		return "" // no request is made then
	}
	sum := sha256.Sum256([]byte(token))
	return string(sum[:8])
}

// asking gets one thing after the other, by the names and values of their queries, up to the first
// that fails.
func (u *UI) asking(ctx context.Context, failed *error) func(out any, path string,
	query ...string) {
	return func(out any, path string, query ...string) {
		if *failed == nil {
			*failed = u.get(ctx, path, client.Query(query...), out)
		}
	}
}

func (u *UI) get(ctx context.Context, path string, query url.Values, out any) error {
	return u.api.Call(ctx, http.MethodGet, path, query, nil, out)
}

// statusOf is the status of what the API refused; 0 of another error.
func statusOf(err error) int {
	if problem, is := errors.AsType[*client.Problem](err); is {
		return problem.Status
	}
	return 0
}
