package gateway

import (
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
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAPIBody))
	if err != nil {
		bodyProblem(w, err)
		return
	}
	payload, err := newEvent(r, body, target{
		apiID: a.ID, domain: a.domain, routeKey: route.Key, stage: stage,
		path: r.URL.Path, parameters: parameters, iam: route.IAM, token: token,
	}, time.Now())
	if err != nil {
		a.warn(err.Error())
		problem(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	a.invoke(w, r, route, payload)
}

func (a *api) invoke(w http.ResponseWriter, r *http.Request, route template.Route, payload []byte) {
	ctx, cancel := context.WithTimeout(r.Context(), route.Timeout)
	defer cancel()
	response, err := a.functions.Invoke(ctx, lambda.Request{Function: route.Function, Payload: payload})
	switch {
	case errors.Is(err, lambda.ErrTooLarge):
		problem(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, lambda.ErrThrottled), errors.Is(err, lambda.ErrClosed):
		a.warn(route.Key + ": " + err.Error())
		problem(w, http.StatusServiceUnavailable, "Service Unavailable")
	case err != nil:
		a.warn(route.Key + ": " + err.Error())
		problem(w, http.StatusInternalServerError, "Internal Server Error")
	case response.FunctionError != "":
		a.warn(route.Key + ": " + string(response.Payload))
		problem(w, http.StatusInternalServerError, "Internal Server Error")
	default:
		a.reply(w, route, response)
	}
}

func (a *api) reply(w http.ResponseWriter, route template.Route, response lambda.Response) {
	answer, err := newReply(response.Payload, "text/plain;charset=UTF-8")
	if err != nil {
		a.warn(route.Key + ": " + err.Error())
		problem(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	answer.header.Set("Apigw-Requestid", response.RequestID)
	answer.write(w)
}

// bodyProblem answers for a body that was not read: too long, or cut off.
func bodyProblem(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		problem(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	problem(w, http.StatusBadRequest, "Bad Request")
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
