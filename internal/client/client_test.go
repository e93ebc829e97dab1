package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// serve answers one request after the other as the script says, and notes the bodies.
func serve(t *testing.T, script ...func(http.ResponseWriter)) (*Client, *[]string) {
	t.Helper()
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check.That(t, err == nil, "%v", err)
		bodies = append(bodies, string(body))
		if len(bodies) > len(script) {
			t.Errorf("request %d, of %d expected", len(bodies), len(script))
			return
		}
		script[len(bodies)-1](w)
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL)
	check.OK(t, err)
	return c, &bodies
}

func says(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestPutRepeatsWhatIsUnknown(t *testing.T) {
	c, bodies := serve(t,
		says(502, `{"message":"Internal Server Error"}`),
		says(200, `{"results":[{"status":200,"outcome":"advanced"},{"status":503},{"status":409,"outcome":"conflict"}]}`),
		says(200, `{"results":[{"status":200,"outcome":"duplicate"}]}`),
	)
	outcomes, err := c.Put(t.Context(),
		[]json.RawMessage{[]byte(`{"a": 1}`), []byte(`{"b":2}`), []byte(`{"c":3}`)})
	check.OK(t, err)
	check.That(t, outcomes[0].Outcome == "advanced" && outcomes[1].Outcome == "duplicate" &&
		outcomes[2].Outcome == "conflict",
		"%+v", outcomes)
	if want := `{"messages":[{"b":2}]}`; (*bodies)[2] != want ||
		!strings.Contains((*bodies)[0], `{"a": 1}`) {
		t.Errorf("bodies %q, want the last to be %s", *bodies, want)
	}
}

// refusing fails every request, and after some ends the context.
type refusing struct {
	left int
	end  context.CancelFunc
}

var errRefused = errors.New("connection refused")

func (r *refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.left--; r.left == 0 {
		r.end()
		return nil, request.Context().Err()
	}
	return nil, errRefused
}

// TestATimeoutReportsWhatWasWrong: whether it ends in a request or between two.
func TestATimeoutReportsWhatWasWrong(t *testing.T) {
	for name, requests := range map[string]int{"in the second request": 2, "between two": 0} {
		synctest.Test(t, func(t *testing.T) {
			c, err := New("http://127.0.0.1:1")
			check.OK(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if requests > 0 {
				ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
			}
			c.http = &http.Client{Transport: &refusing{requests, cancel}}
			err = c.Call(ctx, http.MethodGet, "/", nil, nil, nil)
			check.That(t, errors.Is(err, ctx.Err()) && errors.Is(err, errRefused),
				"%s: error %v, want the end of the context and what was wrong", name, err)
		})
	}
}

// A token goes as it is, also to API Gateway, for which nothing is signed then.
func TestToken(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	said, failed := "a.b.c", error(nil)
	token := func(context.Context) (string, error) { return said, failed }
	c := check.Get(Open(Access{URL: server.URL, Token: token}))
	err := c.Call(t.Context(), "GET", "/queues", nil, nil, &struct{}{})
	check.That(t, err == nil && got == "Bearer a.b.c", "authorization %q, %v", got, err)
	said, failed = "", errors.New("no more tokens")
	err = c.Call(t.Context(), "GET", "/queues", nil, nil, &struct{}{})
	check.That(t, err != nil && strings.Contains(err.Error(), "no more tokens"),
		"without a token: %v", err)
	c, err = Open(Access{URL: "https://id.execute-api.eu-west-1.amazonaws.com", Token: token})
	check.That(t, err == nil && c.signer == nil, "keys are asked for: %v", err)
	_, err = Open(Access{URL: "ftp://x", Token: token})
	check.That(t, err != nil, "a text that is no URL")
	_, err = Open(Access{URL: server.URL, Token: token, Sign: true})
	check.That(t, err != nil && strings.Contains(err.Error(), "both given"),
		"a token and a signature: %v", err)
}

// answering answers one request after the other.
type answering []*http.Response

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	return next, nil
}

// What is wrong with messages of a repeat, which brings only some, is reported with their places in
// the call.
func TestPutNamesPlacesInTheWholeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New("http://127.0.0.1:1")
		check.OK(t, err)
		c.http = &http.Client{Transport: &answering{
			{StatusCode: 200,
				Body: io.NopCloser(strings.NewReader(
					`{"results":[{"status":200},{"status":503},{"status":200},{"status":503}]}`))},
			{StatusCode: 400,
				Body: io.NopCloser(
					strings.NewReader(`{"errors":[{"field":"messages[1].seq","index":1,"other":0}]}`))},
		}}
		_, err = c.Put(t.Context(), slices.Repeat([]json.RawMessage{json.RawMessage(`1`)}, 4))
		var problem *Problem
		check.Need(t, errors.As(err, &problem) && len(problem.Errors) == 1, "%v", err)
		f := problem.Errors[0]
		name, index, ok := f.Of("messages")
		check.That(t, ok && name == "seq" && index == 3 && *f.Other == 1, "%+v: %q of %d", f, name, index)
	})
}

// What a queue has no room for in the end is reported with the place where it has.
func TestPutSaysWhereAQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New("http://127.0.0.1:1")
		check.OK(t, err)
		var answers answering
		for range defaultAttempts {
			answers = append(answers, &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(
				`{"results":[{"status":429,"outcome":"full","queue":"q","seq":"9","new":"3","maxAhead":5,"detail":"too far"}]}`))})
		}
		c.http = &http.Client{Transport: &answers}
		_, err = c.Put(t.Context(), []json.RawMessage{json.RawMessage(`1`)})
		var left *NotTakenError
		if !errors.As(err, &left) || left.First.MaxAhead != 5 ||
			err.Error() != `1 of 1 messages were not taken; the first because: too far (queue "q" has position 3 and maxAhead 5)` {
			t.Errorf("%v", err)
		}
	})
}

// A 429 is repeated when it says, and not before; but nothing says that it takes longer than a
// quota's window.
func TestCallWaitsAsLongAsItIsTold(t *testing.T) {
	for header, want := range map[string][2]time.Duration{
		"7": {7 * time.Second, 8 * time.Second}, "86400": {time.Minute, time.Minute + time.Second},
		"": {0, time.Second}, "-5": {0, time.Second}, "Wed, 21 Oct 2026 07:28:00 GMT": {0, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := New("http://127.0.0.1:1")
			check.OK(t, err)
			refused := &http.Response{
				StatusCode: 429, Header: http.Header{"Retry-After": {header}},
				Body: io.NopCloser(strings.NewReader(`{"detail":"no"}`)),
			}
			c.http = &http.Client{Transport: &answering{refused,
				{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{}`))}}}
			began := time.Now()
			err = c.Call(t.Context(), http.MethodPost, "/messages", nil, nil, &struct{}{})
			check.That(t, err == nil, "%v", err)
			took := time.Since(began)
			check.That(t, took >= want[0] && took <= want[1], "%q: took %s, want %v", header, took, want)
		})
	}
}
