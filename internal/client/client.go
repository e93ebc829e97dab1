// Package client talks to the functions behind the API over HTTP: the local stack's, or API
// Gateway's with requests signed for IAM. It repeats what may succeed later, which is always safe.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Client is a client of one API. Its methods may be called by any number of goroutines.
type Client struct {
	base     string
	http     *http.Client
	signer   *signer                               // nil: requests are not signed
	token    func(context.Context) (string, error) // what they have instead of a signature
	attempts int
}

// maxRetryAfter is how many seconds are waited at most because an answer says so: a quota's longest
// window has a minute.
const maxRetryAfter = 60

const defaultAttempts = 8

// Access is where an API is, and as whom it is asked.
type Access struct {
	URL string
	// Sign has requests signed for IAM whatever the host's name is, such as a custom domain's, with
	// the credentials of AWS's standard chain, which are fetched anew when they run out; for
	// Region, or where that is empty for that of the host's name, or of the configuration.
	Sign   bool
	Region string
	// Token gives each request its token, a JWT, instead of a signature; it is called for every
	// one, so that it may get another before one is over.
	Token func(context.Context) (string, error)
}

// New returns a client of the API at a URL, as [Open] does.
func New(base string) (*Client, error) { return Open(Access{URL: base}) }

// Open returns a client of an API. Without a token, requests to names of API Gateway's own, and of
// function URLs, are signed in any case. It refuses to sign, or to send a token, to a URL without
// TLS, but of this machine.
func Open(a Access) (*Client, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("url %q must be like http://127.0.0.1:3000 or https://ID.execute-api.REGION.amazonaws.com", a.URL)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	c := &Client{
		base: strings.TrimSuffix(a.URL, "/"),
		// An API redirects nobody: a signature or a token would go where it was not made for, and a
		// POST would become a GET.
		http: &http.Client{Transport: transport, Timeout: 40 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			}},
		token:    a.Token,
		attempts: defaultAttempts,
	}
	service, _ := ofAWS(u.Hostname())
	switch {
	case a.Token != nil && a.Sign:
		err = errors.New("token and sign are both given: a request is signed, or has a token")
	case a.Token != nil:
		err = private(u, "have a token")
	case a.Sign:
		c.signer, err = newSigner(u, a.Region)
	case service != "":
		c.signer, err = newSigner(u, "")
	}
	return c, err
}

// NewWithKeys returns a client whose requests go through an HTTP client of the caller's, signed
// with these keys for a service: "execute-api" for an API, "lambda" for a function's own URL.
func NewWithKeys(base string, through *http.Client, service string, keys awsenv.Settings) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), http: through, signer: &signer{keys, service},
		attempts: defaultAttempts}
}

// Problem is an answer that is no success.
type Problem struct {
	Status int    `json:"status"`
	Type   string `json:"type"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Errors are the fields that are wrong.
	Errors []FieldError `json:"errors"`
	// RetryAfter is how long to wait before the request is repeated, where a 429 says so.
	RetryAfter time.Duration `json:"-"`
}

// FieldError is a field that is wrong.
type FieldError struct {
	Field  string       `json:"field"`
	Code   invalid.Code `json:"code"`
	Detail string       `json:"detail"`
	// Index is the place of the element that it is in, Other that of the one that it clashes with;
	// nil if absent.
	Index *int `json:"index"`
	Other *int `json:"other"`
}

// Of is the field's name in an element of a list, and the element's place; ok is false where it is
// in none of that list.
func (f FieldError) Of(list string) (name string, index int, ok bool) {
	if f.Index == nil {
		return "", 0, false
	}
	element := invalid.Element{List: list, Index: *f.Index}.String()
	name, ok = strings.CutPrefix(f.Field, element)
	return strings.TrimPrefix(name, "."), *f.Index, ok
}

// MayPass reports whether the same request may be answered otherwise later.
func (p *Problem) MayPass() bool {
	return p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError
}

func (p *Problem) Error() string { return fmt.Sprintf("%d: %s", p.Status, p.Detail) }

// CodeOf is the code of the problem that the API answered with; empty where it is no problem.
func CodeOf(err error) string {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem.Code
	}
	return ""
}

// Query makes a query of names and values; those that are empty are left out.
func Query(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// Call makes a request and reads its answer into out. It repeats one that fails on the way, or is
// answered 429 or 5xx. The error is a *Problem where the API gave one.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, body []byte,
	out any) error {
	var before error
	for attempt := 1; ; attempt++ {
		again, err := c.once(ctx, method, path, query, body, out)
		if err != nil && ctx.Err() != nil && before != nil {
			return fmt.Errorf("%w: the attempt before: %w", err, before)
		}
		if err == nil || !again || attempt == c.attempts {
			return err
		}
		var least time.Duration
		if problem, ok := errors.AsType[*Problem](err); ok {
			least = problem.RetryAfter
		}
		if over := backOff(ctx, attempt, least); over != nil {
			return fmt.Errorf("%w: the attempt before: %w", over, err)
		}
		before = err
	}
}

// backOff waits longer after each attempt, and never the same; not less than was asked for.
func backOff(ctx context.Context, attempt int, least time.Duration) error {
	longest := min(50*time.Millisecond<<attempt, 2*time.Second)
	return pause.For(ctx, least+rand.N(longest))
}

func (c *Client) once(ctx context.Context, method, path string, query url.Values, body []byte,
	out any) (again bool, err error) {
	answer, err := c.Once(ctx, method, path, query, body)
	failed, ok := errors.AsType[*TransportError](err)
	switch {
	case ok:
		return ctx.Err() == nil, failed.Err
	case err != nil:
		return false, err
	case answer.Status < 300:
		return false, json.Unmarshal(answer.Body, out)
	}
	problem := answer.Problem()
	if c.signer == nil && c.token == nil && problem.Code == "" &&
		(problem.Status == http.StatusUnauthorized || problem.Status == http.StatusForbidden) {
		problem.Detail += " (the request was not signed, and had no token)"
	}
	return problem.MayPass(), problem
}

// Answer is what came back, whatever it says.
type Answer struct {
	Status int
	Body   []byte
	// RetryAfter is how long to wait before the request is repeated, where a 429 says so.
	RetryAfter time.Duration
}

// TransportError is that of a request that may have been made, and has no answer.
type TransportError struct{ Err error }

func (e *TransportError) Error() string { return e.Err.Error() }
func (e *TransportError) Unwrap() error { return e.Err }

// Once makes a request once, and returns whatever is answered: for callers who repeat on their own.
// The error is a *TransportError where the request was sent, or would have been.
func (c *Client) Once(ctx context.Context, method, path string, query url.Values,
	body []byte) (Answer, error) {
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if err := c.authorize(ctx, request, body); err != nil {
		return Answer{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, &TransportError{err}
	}
	defer response.Body.Close()
	answer := Answer{Status: response.StatusCode}
	if answer.Body, err = io.ReadAll(response.Body); err != nil {
		return Answer{}, &TransportError{err}
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil &&
		answer.Status == http.StatusTooManyRequests {
		answer.RetryAfter = time.Duration(min(max(seconds, 0), maxRetryAfter)) * time.Second
	}
	return answer, nil
}

// Problem is what an answer of 300 and more says.
func (a Answer) Problem() *Problem {
	problem := &Problem{}
	if json.Unmarshal(a.Body, problem) != nil || problem.Detail == "" {
		var gateway struct{ Message string } // what stands before the functions says so
		_ = json.Unmarshal(a.Body, &gateway)
		problem.Detail = cmp.Or(gateway.Message, strings.TrimSpace(string(a.Body)))
	}
	problem.Status, problem.RetryAfter = a.Status, a.RetryAfter
	return problem
}

func (c *Client) authorize(ctx context.Context, request *http.Request, body []byte) error {
	switch {
	case c.token != nil:
		token, err := c.token(ctx)
		request.Header.Set("Authorization", "Bearer "+token)
		return err
	case c.signer != nil:
		return c.signer.sign(ctx, request, body)
	}
	return nil
}

// Outcome is what became of a message.
type Outcome struct {
	Status  int    `json:"status"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`
	// Code is that of the problem with a message that has no outcome.
	Code  string `json:"code"`
	Queue string `json:"queue"`
	// Seq is the message's, 0 where a queue in arrival order gave it none, and where it waits in a
	// keyed one, until SettlesAt. Late tells that it stands behind greater keys.
	Seq       jsonseq.Seq `json:"seq"`
	SettlesAt time.Time   `json:"settlesAt,omitzero"`
	Late      bool        `json:"late,omitempty"`
	// New is the queue's position; MaxAhead, if not 0, how far beyond it a seq may be, and the
	// message's is farther.
	New      jsonseq.Seq `json:"new"`
	MaxAhead int64       `json:"maxAhead"`
}

// NotTakenError is that some messages of a put were not taken, however often they were repeated.
type NotTakenError struct {
	Left, Of int
	First    Outcome
}

func (e *NotTakenError) Error() string {
	text := fmt.Sprintf("%d of %d messages were not taken; the first because: %s", e.Left, e.Of,
		e.First.Detail)
	if e.First.MaxAhead > 0 {
		text += fmt.Sprintf(" (queue %q has position %d and maxAhead %d)", e.First.Queue, e.First.New,
			e.First.MaxAhead)
	}
	return text
}

// Put puts messages, each a document of its own, in one call, and repeats those whose fate is
// unknown. The outcomes are in the order of the messages.
func (c *Client) Put(ctx context.Context, messages []json.RawMessage) ([]Outcome, error) {
	return c.put(ctx, nil, messages, `{"messages":[`, `]}`)
}

// PutEvents is Put for events as they are: props (queue, seq, id, key, keyType, prev and others)
// are paths in them. With each, there is one event, whose messages have an outcome each.
func (c *Client) PutEvents(ctx context.Context, props url.Values,
	events []json.RawMessage) ([]Outcome, error) {
	if !props.Has("each") {
		return c.put(ctx, props, events, `[`, `]`)
	}
	return c.repeated(ctx, func() (all, left []Outcome, err error) {
		var answer struct{ Results []Outcome }
		err = c.Call(ctx, http.MethodPost, "/messages", props, events[0], &answer)
		for _, o := range answer.Results {
			if o.passes() {
				left = append(left, o)
			}
		}
		return answer.Results, left, err
	})
}

func (o Outcome) passes() bool { return o.Status >= 500 || o.Status == http.StatusTooManyRequests }

// repeated puts until nothing is left whose fate may be another later. put is all outcomes, and
// those of what is left.
func (c *Client) repeated(ctx context.Context,
	put func() (all, left []Outcome, err error)) ([]Outcome, error) {
	for attempt := 1; ; attempt++ {
		all, left, err := put()
		switch {
		case err != nil:
			return nil, err
		case len(left) == 0:
			return all, nil
		case attempt == c.attempts:
			return all, &NotTakenError{len(left), len(all), left[0]}
		}
		if err := backOff(ctx, attempt, 0); err != nil {
			return all, err
		}
	}
}

func (c *Client) put(ctx context.Context, query url.Values, messages []json.RawMessage,
	head, tail string) ([]Outcome, error) {
	outcomes := make([]Outcome, len(messages))
	open := make([]int, len(messages))
	for i := range messages {
		open[i] = i
	}
	return c.repeated(ctx, func() (all, left []Outcome, err error) {
		body := []byte(head)
		for n, i := range open {
			if n > 0 {
				body = append(body, ',')
			}
			body = append(body, messages[i]...)
		}
		var answer struct{ Results []Outcome }
		err = c.Call(ctx, http.MethodPost, "/messages", query, append(body, tail...), &answer)
		if err != nil {
			return nil, nil, inWhole(err, open)
		}
		if len(answer.Results) != len(open) {
			return nil, nil, fmt.Errorf("%d results for %d messages", len(answer.Results), len(open))
		}
		var again []int
		for n, i := range open {
			outcomes[i] = answer.Results[n]
			if outcomes[i].passes() {
				again, left = append(again, i), append(left, outcomes[i])
			}
		}
		open = again
		return outcomes, left, nil
	})
}

// inWhole is an error about messages of a repeat, with their places in the whole put.
func inWhole(err error, places []int) error {
	problem, ok := errors.AsType[*Problem](err)
	if !ok {
		return err
	}
	for n := range problem.Errors {
		f := &problem.Errors[n]
		_, i, ok := f.Of("messages")
		if !ok || i >= len(places) {
			continue
		}
		was := invalid.Element{List: "messages", Index: i}.String()
		f.Index = &places[i]
		f.Field = invalid.Element{List: "messages", Index: places[i]}.String() +
			strings.TrimPrefix(f.Field, was)
		if f.Other != nil && *f.Other < len(places) {
			f.Other = &places[*f.Other]
		}
	}
	return err
}
