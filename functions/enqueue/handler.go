package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, json.RawMessage) (json.RawMessage, error)

// service answers requests.
type service struct {
	sorter  *cursor.Sorter
	emitter *emf.Emitter
	now     func() time.Time
	// queueProp and seqProp are the paths of raw events' fields, where the
	// stack names them.
	queueProp, seqProp string
}

// fromEnvironment makes the handler of the environment's tables. Metrics go to
// out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	sorter, err := s.NewSorter()
	if err != nil {
		return nil, err
	}
	return (&service{
		sorter: sorter, emitter: emf.New(out), now: time.Now, queueProp: s.QueueProp, seqProp: s.SeqProp,
	}).handle, nil
}

// call is one request with what it takes to answer it.
type call struct {
	*service
	edge.Request
	metrics *emf.Metrics
}

// operation answers a call: with a status and a document, or with a problem.
type operation func(context.Context, *call) (int, any, *edge.Problem)

// routes are the operations by resource and method.
var routes = map[string]map[string]operation{
	"messages": {http.MethodPost: putMessages, http.MethodGet: readMessages},
	"queues":   {http.MethodGet: queueStatus, http.MethodPut: configureQueue},
	"gaps":     {http.MethodGet: queueGaps},
}

// handle answers any event. A caller's mistake is a problem document, never a
// function error.
func (s *service) handle(ctx context.Context, raw json.RawMessage) (answer json.RawMessage, err error) {
	request, problem := edge.Decode(raw)
	c := &call{service: s, Request: request, metrics: s.emitter.Begin()}
	defer c.metrics.Flush()
	defer func() {
		if r := recover(); r != nil {
			// A fault of ours must not end the process: the caller is owed an
			// answer, and the next one would pay for a cold start.
			c.metrics.Count("Errors", 1)
			slog.ErrorContext(ctx, "panic", "cause", fmt.Sprint(r))
			answer, err = request.Problem(unexpected())
		}
	}()
	do := operation(nil)
	if problem == nil {
		do, problem = c.route()
	}
	status, document := 0, any(nil)
	if problem == nil {
		status, document, problem = do(ctx, c)
	}
	if problem != nil {
		if problem.Status >= http.StatusInternalServerError {
			c.metrics.Count("Errors", 1)
		}
		slog.InfoContext(ctx, "answered", "status", problem.Status, "problem", problem.Type)
		return request.Problem(problem)
	}
	slog.InfoContext(ctx, "answered", "status", status)
	return request.Answer(status, document)
}

// route is the operation that a call asks for.
func (c *call) route() (operation, *edge.Problem) {
	if c.Direct {
		return c.routeDirect()
	}
	methods, ok := routes[c.Resource]
	if !ok {
		return nil, &edge.Problem{
			Status: http.StatusNotFound, Type: "no-route", Title: "There is no such resource",
			Detail: "the resources are /messages, /queues and /gaps",
		}
	}
	do, ok := methods[c.Method]
	if !ok {
		var allow []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
			if methods[method] != nil {
				allow = append(allow, method)
			}
		}
		return nil, &edge.Problem{
			Status: http.StatusMethodNotAllowed, Type: "no-method", Title: "The resource has no such method",
			Detail: c.Resource + " has " + strings.Join(allow, ", "), Allow: strings.Join(allow, ", "),
		}
	}
	return do, nil
}

// directOperations are the values of a direct invoke's member "operation".
var directOperations = map[string]operation{
	"put": putMessages, "read": readMessages, "status": queueStatus, "gaps": queueGaps, "configure": configureQueue,
}

// routeDirect takes the member "operation" out of a direct invoke's document.
// A document without it is a put. Where the stack names the fields of raw
// events, a document is an event unless it names one of the other operations
// and a queue.
func (c *call) routeDirect() (operation, *edge.Problem) {
	members, err := edge.Members(c.Body)
	if err != nil {
		if c.queueProp != "" && edge.IsArray(c.Body) {
			return putMessages, nil
		}
		return nil, edge.Invalid("event", err.Error())
	}
	name, rest, hasQueue := "", make([]edge.Member, 0, len(members)), false
	for _, m := range members {
		hasQueue = hasQueue || m.Name == "queue"
		if m.Name != "operation" {
			rest = append(rest, m)
			continue
		}
		if name, err = edge.Text(m.Value); err != nil && c.queueProp == "" {
			return nil, edge.Invalid("operation", err.Error())
		}
	}
	do := directOperations[name]
	switch {
	case c.queueProp != "" && (do == nil || name == "put" || !hasQueue):
		return putMessages, nil
	case name == "":
		return putMessages, nil
	case do == nil:
		return nil, edge.Invalid("operation", "must be put, read, status, gaps or configure")
	}
	return do, c.takeMembers(name, rest)
}

// takeMembers makes a direct invoke's members what HTTP has: a body where the
// operation has one, parameters otherwise.
func (c *call) takeMembers(name string, members []edge.Member) *edge.Problem {
	if name == "put" || name == "configure" {
		var body strings.Builder
		for i, m := range members {
			if i > 0 {
				body.WriteByte(',')
			}
			key, err := json.Marshal(m.Name)
			if err != nil {
				return edge.Invalid("event", err.Error())
			}
			body.Write(key)
			body.WriteByte(':')
			body.Write(m.Value)
		}
		c.Body = []byte("{" + body.String() + "}")
		return nil
	}
	c.Query = map[string][]string{}
	for _, m := range members {
		value := string(m.Value)
		if strings.HasPrefix(value, `"`) {
			text, err := edge.Text(m.Value)
			if err != nil {
				return edge.Invalid(m.Name, err.Error())
			}
			value = text
		}
		c.Query.Set(m.Name, value)
	}
	return nil
}

// problemOf says what an error of the sorter is to the caller.
func problemOf(ctx context.Context, err error) *edge.Problem {
	var invalid *cursor.InvalidError
	var missing *cursor.MissingError
	switch {
	case errors.As(err, &invalid):
		return edge.Invalid(invalid.Field, invalid.Problem)
	case errors.As(err, &missing):
		return &edge.Problem{Status: http.StatusGone, Type: "deleted", Title: "The message has been deleted", Detail: err.Error()}
	case errors.Is(err, cursor.ErrNoQueue):
		return &edge.Problem{
			Status: http.StatusNotFound, Type: "no-queue", Title: "There is no such queue",
			Detail: "nothing was ever put to this queue",
		}
	case errors.Is(err, cursor.ErrFirstFixed):
		return &edge.Problem{
			Status: http.StatusConflict, Type: "first-fixed", Title: "The first seq of a queue cannot be changed",
			Errors: []edge.FieldError{{Field: "first", Detail: "is fixed when the queue is made"}},
		}
	case errors.Is(err, cursor.ErrThrottled), errors.Is(err, cursor.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		slog.WarnContext(ctx, "the tables did not answer", "error", err)
		return &edge.Problem{
			Status: http.StatusServiceUnavailable, Type: "unavailable", Title: "Try again",
			Detail: "the tables are throttled or did not answer; repeating the request is safe", RetryAfter: 1,
		}
	}
	slog.ErrorContext(ctx, "unexpected", "error", err)
	return unexpected()
}

func unexpected() *edge.Problem {
	return &edge.Problem{
		Status: http.StatusInternalServerError, Type: "unexpected", Title: "Something is wrong on our side",
		Detail: "repeating the request is safe",
	}
}
