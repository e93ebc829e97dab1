package dedup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
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

// HTTPOptions are the parts of an HTTP handler that have defaults. A nil
// HTTPOptions means all of them.
type HTTPOptions struct {
	// Header has the key; "Idempotency-Key" where it is empty.
	Header string
	// MissingKey is what becomes of a request without a key: it is answered
	// with 400, or runs unprotected.
	MissingKey MissingKey
	// Forget says which responses are not remembered, so that the next request
	// runs the effect again; nil means those with a status of 500 and more.
	Forget func(Response) bool
}

// The headers that a response has beside the handler's own.
const (
	replayedHeader = "Idempotency-Replayed"
	omittedHeader  = "Idempotency-Omitted"
)

// request is what the shapes of HTTP events have in common.
type request struct {
	method, path, query, body string
	// caller is who is authenticated, empty where nobody is.
	caller  string
	headers map[string]string
	multi   map[string][]string
}

func (r request) header(name string) string {
	for have, value := range r.headers {
		if strings.EqualFold(have, name) {
			return value
		}
	}
	for have, values := range r.multi {
		if strings.EqualFold(have, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// id is the id of a request with a key. Whoever else sends the same key, or
// sends it elsewhere, has another id: nobody gets another one's response.
func (r request) id(key string) string {
	return fmt.Sprintf("%s %s %q %q", r.method, r.path, r.caller, key)
}

// forgotten is the error of an effect whose response is not to be remembered.
type forgotten struct{ response Response }

func (e *forgotten) Error() string { return "status " + strconv.Itoa(e.response.Status) }

// serveHTTP runs a request once.
func serveHTTP(ctx context.Context, d *Deduplicator[string, Response], r request, options *HTTPOptions, handle func(context.Context) (Response, error)) (Response, error) {
	if options == nil {
		options = &HTTPOptions{}
	}
	name := cmp.Or(options.Header, "Idempotency-Key")
	key := r.header(name)
	if key == "" && options.MissingKey == RunUnprotected {
		d.note(ctx, EventUnprotected, Row{Key: Key{Processor: d.processor}})
		return handle(ctx)
	}
	if key == "" {
		return problem(http.StatusBadRequest, "key-missing", "the header "+name+" is missing"), nil
	}
	forget := options.Forget
	if forget == nil {
		forget = func(response Response) bool { return response.Status >= http.StatusInternalServerError }
	}
	effect := func(ctx context.Context) (Response, error) {
		response, err := handle(ctx)
		if err == nil && forget(response) {
			err = &forgotten{response}
		}
		return response, err
	}
	out, err := d.Once(ctx, r.id(key), effect, []byte(r.query), []byte(r.body))
	if err != nil && !ranAlone(err) {
		return refusal(err, d.options.Now())
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

// ranAlone reports whether the effect ran and nothing but its memory is
// missing: the caller may have its value.
func ranAlone(err error) bool {
	var notRemembered *NotRememberedError
	var invalid *InvalidError
	return errors.As(err, &notRemembered) || errors.As(err, &invalid) && invalid.Field == "result"
}

func (r Response) with(header, value string) Response {
	r.Headers = maps.Clone(r.Headers)
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	r.Headers[header] = value
	return r
}

// refusal is the answer to a request whose effect was not run, or is lost. What
// is neither is the handler's own error, or a fault.
func refusal(err error, now time.Time) (Response, error) {
	var (
		unkept   *forgotten
		invalid  *InvalidError
		busy     *StillRunningError
		other    *PayloadMismatchError
		stopped  *QuarantinedError
		lost     *LostError
		response Response
	)
	switch {
	case errors.As(err, &unkept):
		return unkept.response, nil
	case errors.As(err, &invalid):
		return problem(http.StatusBadRequest, "invalid", "the key "+invalid.Problem), nil
	case errors.As(err, &busy):
		seconds := min(max(math.Ceil(busy.Until.Sub(now).Seconds()), 1), 3600)
		response = problem(http.StatusConflict, "running", "the first request with this key has not been answered yet")
		return response.with("Retry-After", strconv.Itoa(int(seconds))), nil
	case errors.As(err, &lost):
		response = problem(http.StatusConflict, "running", "another request with this key has taken over")
		return response.with("Retry-After", "1"), nil
	case errors.As(err, &other):
		return problem(http.StatusUnprocessableEntity, "payload-mismatch", "the key was used with another request"), nil
	case errors.As(err, &stopped):
		return problem(http.StatusConflict, "quarantined", "requests with this key have failed too often"), nil
	case errors.Is(err, ErrThrottled), errors.Is(err, ErrUnavailable), errors.Is(err, ErrNoTime):
		response = problem(http.StatusServiceUnavailable, "unavailable", "repeating the request is safe")
		return response.with("Retry-After", "1"), nil
	}
	return Response{}, err
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
