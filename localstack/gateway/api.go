package gateway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

// Limits of the front doors ("Quotas for configuring and running an HTTP API", API Gateway
// Developer Guide; "Lambda quotas", AWS Lambda Developer Guide).
const (
	maxAPIBody = 10 << 20
	maxURLBody = 6 << 20
)

type api struct {
	template.API
	functions *lambda.Service
	keys      *Keys
	domain    string
	warn      func(message string)
}

// NewAPI answers for an HTTP API. keys are those that tokens are signed with, where routes have a
// JWT authoriser. warn gets what a client does not: why its answer is a 5xx.
//
// Requests go to the stage that the path's first part names, else to $default; in it to the route
// that fits best ("Create routes for HTTP APIs in API Gateway", API Gateway Developer Guide). 401,
// 403: the token is not one that the route's authoriser takes, or has none of its scopes. 404: no
// route. 413: a body over 10 MB, or an event over Lambda's 6 MB. 500: the function failed, or its
// answer cannot be read. 503: no answer within the integration's time-out, or the function is
// throttled.
func NewAPI(a template.API, functions *lambda.Service, keys *Keys, warn func(string)) http.Handler {
	return &api{API: a, functions: functions, keys: keys, domain: domain(a.Endpoint), warn: warn}
}

// domain is the host of an endpoint, without its port.
func domain(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Hostname()
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stage, rest, ok := a.stage(r.URL.EscapedPath())
	if !ok {
		problem(w, http.StatusNotFound, "Not Found")
		return
	}
	route, parameters, ok := match(a.Routes, r.Method, rest)
	if !ok {
		problem(w, http.StatusNotFound, "Not Found")
		return
	}
	token, ok := a.admit(w, r, route)
	if !ok {
		return
	}
	call{
		target: target{
			apiID: a.ID, domain: a.domain, routeKey: route.Key, stage: stage,
			path: r.URL.Path, parameters: parameters, iam: route.IAM, token: token,
		},
		Request: lambda.Request{Function: route.Function}, functions: a.functions,
		name: route.Key, warn: a.warn, maxBody: maxAPIBody, timeout: route.Timeout,
		contentType: "text/plain;charset=UTF-8", idHeader: "Apigw-Requestid",
		throttled: http.StatusServiceUnavailable, failed: http.StatusInternalServerError,
	}.serve(w, r)
}

// call is a request that is on its way to a function, and how its front door answers.
type call struct {
	target
	lambda.Request
	functions             *lambda.Service
	name                  string // in warnings
	warn                  func(message string)
	maxBody               int64
	timeout               time.Duration
	contentType, idHeader string
	throttled, failed     int // the status where the function is throttled, or fails
}

func (c call) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, c.maxBody))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			problem(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		} else { // it was cut off
			problem(w, http.StatusBadRequest, "Bad Request")
		}
		return
	}
	answer, err := c.reply(r, body)
	status := c.failed
	switch {
	case err == nil:
		answer.write(w)
		return
	case errors.Is(err, lambda.ErrTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, lambda.ErrThrottled):
		status = c.throttled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, lambda.ErrClosed):
		status = http.StatusServiceUnavailable
	}
	if status >= http.StatusInternalServerError {
		c.warn(c.name + ": " + err.Error())
	}
	problem(w, status, cmp.Or(map[int]string{http.StatusBadGateway: "Internal Server Error"}[status],
		http.StatusText(status)))
}

// reply invokes the function, and reads its answer.
func (c call) reply(r *http.Request, body []byte) (answer reply, err error) {
	if c.Payload, err = newEvent(r, body, c.target, time.Now()); err != nil {
		return reply{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), c.timeout)
	defer cancel()
	response, err := c.functions.Invoke(ctx, c.Request)
	if err == nil && response.FunctionError != "" {
		err = errors.New(string(response.Payload))
	}
	if err != nil {
		return reply{}, err
	}
	if answer, err = newReply(response.Payload, c.contentType); err == nil {
		answer.header.Set(c.idHeader, response.RequestID)
	}
	return answer, err
}

// stage is the stage that a path's first part names, and the path behind it; else $default and the
// whole path.
func (a *api) stage(path string) (stage template.Stage, rest string, ok bool) {
	first, after, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for _, s := range a.Stages {
		switch s.Name {
		case first:
			return s, "/" + after, true
		case "$default":
			stage, rest, ok = s, path, true
		}
	}
	return stage, rest, ok
}
