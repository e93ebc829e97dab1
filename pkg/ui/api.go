package ui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

// What the API answers, as far as the page shows it.

type queue = view.Queue

type gap struct{ From, To jsonseq.Seq }

type gaps struct {
	Gaps []gap
	More bool
}

// row is one of a list of queues, of consumers or of chains.
type row struct {
	view.Head
	Tag  printable.Name
	Kind string
	Due  time.Time
}

type rows struct {
	List []row
	Next string
}

type consumer = view.Consumer

type message struct {
	Seq                   jsonseq.Seq
	ID, ContentType       printable.Name
	Key, Body             json.RawMessage
	BodyBase64, Tombstone string
	Late                  bool
	Attributes            map[printable.Name]printable.Name
	EnqueuedAt            time.Time
}

// Text is a body for people: JSON, also where its white space has it come in base64, or another
// text; empty where it is neither.
func (m message) Text() string {
	if len(m.Body) > 0 {
		return string(m.Body)
	}
	text, err := base64.StdEncoding.DecodeString(m.BodyBase64)
	odd := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }
	if err != nil || !utf8.Valid(text) || strings.ContainsFunc(string(text), odd) {
		return ""
	}
	return string(text)
}

type operation struct {
	At                                           time.Time
	ID, Action, Consumer, Reason, Outcome, Error string
	Seq                                          json.RawMessage
	Who                                          struct{ Kind, Name string }
}

// asking gets one thing after the other, by the names and values of their queries, up to the first
// that fails.
func (u *UI) asking(ctx context.Context, failed *error) func(out any, path string, query ...string) {
	return func(out any, path string, query ...string) {
		if *failed == nil {
			*failed = u.get(ctx, path, client.Query(query...), out)
		}
	}
}

func (u *UI) get(ctx context.Context, path string, query url.Values, out any) error {
	return u.api.Call(ctx, http.MethodGet, path, query, nil, out)
}

func (u *UI) post(ctx context.Context, path string, document, out any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return u.api.Call(ctx, http.MethodPost, path, nil, body, out)
}

// notFound reports whether an error says that there is no such thing.
func notFound(err error) bool {
	var problem *client.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusNotFound
}
