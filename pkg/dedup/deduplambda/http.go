package deduplambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/dedup"
)

// Response is an HTTP response as it is remembered.
type Response struct {
	Status  int                 `json:"status"`
	Headers map[string]string   `json:"headers,omitempty"`
	Multi   map[string][]string `json:"multi,omitempty"`
	Cookies []string            `json:"cookies,omitempty"`
	Body    string              `json:"body,omitempty"`
	Base64  bool                `json:"base64,omitempty"`
}

// HTTPOptions are the parts of an HTTP handler that have defaults. A nil HTTPOptions means all of
// them.
type HTTPOptions struct {
	// Header has the key; "Idempotency-Key" where it is empty.
	Header string
	// MissingKey is what becomes of a request without a key: it is answered with 400, or runs
	// unprotected.
	MissingKey MissingKey
	// Caller says who is authenticated, from what a Lambda authorizer gives with the request; nil
	// means its principalId, and all that it gives where that is missing, as in the simple
	// responses of HTTP APIs. Give one where that differs between repetitions, such as by a time.
	Caller func(authorizer map[string]any) string
}

// The headers that a response has beside the handler's own.
const (
	replayedHeader = "Idempotency-Replayed"
	omittedHeader  = "Idempotency-Omitted"
)

// authorized is who is authenticated by a Lambda authorizer, empty where it says nothing of it.
func (o *HTTPOptions) authorized(given map[string]any) string {
	if o != nil && o.Caller != nil && len(given) > 0 {
		return o.Caller(given)
	}
	if principal, ok := given["principalId"].(string); ok {
		return principal
	}
	given = maps.Clone(given)
	delete(given, "integrationLatency") // REST APIs add it
	if len(given) == 0 {
		return ""
	}
	all, _ := json.Marshal(given) // never fails: it comes from JSON
	return string(all)
}

// request is what the shapes of HTTP events have in common.
type request struct {
	method, path, query, body string
	// caller is who is authenticated, empty where nobody is.
	caller  string
	headers map[string]string
	multi   map[string][]string
}

// header is a header in any case. Where it is there in several cases, it is the same one for each
// repetition of the request: the first by its name.
func (r request) header(name string) string {
	for _, have := range slices.Sorted(maps.Keys(r.headers)) {
		if strings.EqualFold(have, name) {
			return r.headers[have]
		}
	}
	for _, have := range slices.Sorted(maps.Keys(r.multi)) {
		if values := r.multi[have]; strings.EqualFold(have, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// id is the id of a request with a key. Another caller that sends the same key, or sends it
// elsewhere, has another id: nobody gets another one's response.
func (r request) id(key string) string {
	return fmt.Sprintf("%s %s %q %q", r.method, r.path, r.caller, key)
}

// serveHTTP runs a request once.
func serveHTTP(ctx context.Context, d *dedup.Deduplicator[string, Response], r request,
	options *HTTPOptions, handle func(context.Context) (Response, error)) (Response, error) {
	if options == nil {
		options = &HTTPOptions{}
	}
	name := cmp.Or(options.Header, "Idempotency-Key")
	key := r.header(name)
	if key == "" && options.MissingKey == RunUnprotected {
		return d.Unprotected(ctx, handle)
	}
	if key == "" {
		return problem(http.StatusBadRequest, "key-missing", "the header "+name+" is missing"), nil
	}
	var forgotten *Response
	var failed error
	// A response of 500 and more is not remembered: the next request runs the effect again.
	effect := func(ctx context.Context) (response Response, err error) {
		response, failed = handle(ctx)
		if failed == nil && response.Status >= http.StatusInternalServerError {
			forgotten = &response
			return response, &dedup.ForgetError{Reason: "status " + strconv.Itoa(response.Status)}
		}
		return response, failed
	}
	out, err := d.Once(ctx, r.id(key), effect, []byte(r.query), []byte(r.body))
	switch {
	case err == nil, resultNotStored(out, err):
	case forgotten != nil:
		return *forgotten, nil
	case failed != nil: // the handler's own error
		return Response{}, err
	default:
		return refusal(err)
	}
	if out.Replayed {
		out.Value = out.Value.with(replayedHeader, "true")
	}
	if out.Omitted {
		out.Value = out.Value.with(omittedHeader, "true")
		out.Value.Status = http.StatusOK
	}
	return out.Value, nil
}

func (r Response) with(header, value string) Response {
	r.Headers = maps.Clone(r.Headers)
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	r.Headers[header] = value
	return r
}

// refusal is the answer to a request whose effect was not run, or is lost: by an error of package
// dedup. What cannot be answered is a fault, and returned.
func refusal(err error) (Response, error) {
	if busy, is := errors.AsType[*dedup.StillRunningError](err); is {
		seconds := min(max(math.Ceil(time.Until(busy.Until).Seconds()), 1), 3600)
		response := problem(http.StatusConflict, "running",
			"the first request with this key has not been answered yet")
		return response.with("Retry-After", strconv.Itoa(int(seconds))), nil
	}
	if _, is := errors.AsType[*dedup.LostError](err); is {
		response := problem(http.StatusConflict, "running",
			"another request with this key has taken over")
		return response.with("Retry-After", "1"), nil
	}
	if _, is := errors.AsType[*dedup.PayloadMismatchError](err); is {
		return problem(http.StatusUnprocessableEntity, "payload-mismatch",
			"the key was used with another request"), nil
	}
	if _, is := errors.AsType[*dedup.QuarantinedError](err); is {
		return problem(http.StatusConflict, "quarantined",
			"requests with this key have failed too often"), nil
	}
	if invalid, is := errors.AsType[*dedup.InvalidError](err); is && invalid.Field == "id" {
		return problem(http.StatusBadRequest, "invalid", "the key "+invalid.Problem), nil
	}
	if isAny(err, dedup.ErrThrottled, dedup.ErrUnavailable, dedup.ErrNoTime, context.DeadlineExceeded,
		context.Canceled) {
		response := problem(http.StatusServiceUnavailable, "unavailable", "repeating the request is safe")
		return response.with("Retry-After", "1"), nil
	}
	return Response{}, err
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// problem is a problem document of RFC 9457.
func problem(status int, kind, detail string) Response {
	body, _ := json.Marshal(struct { // never fails: texts and a number
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"https://streamsort.dev/problems/" + kind, http.StatusText(status), status, detail})
	return Response{
		Status: status, Body: string(body),
		Headers: map[string]string{"Content-Type": "application/problem+json"},
	}
}
