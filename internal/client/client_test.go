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
	return check.Get(New(server.URL)), &bodies
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
	outcomes := check.Get(c.Put(t.Context(),
		[]json.RawMessage{[]byte(`{"a": 1}`), []byte(`{"b":2}`), []byte(`{"c":3}`)}))
	check.That(t, outcomes[0].Outcome == "advanced" && outcomes[1].Outcome == "duplicate" &&
		outcomes[2].Outcome == "conflict",
		"%+v", outcomes)
	check.Is(t, (*bodies)[2], `{"messages":[{"b":2}]}`)
	check.Has(t, (*bodies)[0], `{"a": 1}`)
}

func over(transport http.RoundTripper) *Client {
	c := check.Get(New("http://127.0.0.1:1"))
	c.http = &http.Client{Transport: transport}
	return c
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
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if requests > 0 {
				ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
			}
			err := over(&refusing{requests, cancel}).Call(ctx, http.MethodGet, "/", nil, nil, nil)
			check.That(t, errors.Is(err, ctx.Err()) && errors.Is(err, errRefused),
				"%s: error %v, want the end of the context and what was wrong", name, err)
		})
	}
}

// A token goes as it is, also to API Gateway, for which nothing is signed then.
func TestToken(t *testing.T) {
	said, failed := "a.b.c", error(nil)
	token := func(context.Context) (string, error) { return said, failed }
	c := check.Get(Open(Access{URL: "https://id.execute-api.eu-west-1.amazonaws.com", Token: token}))
	check.Is(t, check.Get(authorization(t, c)), "Bearer a.b.c")
	said, failed = "", errors.New("no more tokens")
	c.http.Transport = &refusing{}
	check.Says(t, c.Call(t.Context(), "GET", "/queues", nil, nil, nil), "no more tokens")
	check.Says(t, check.Err(Open(Access{URL: "ftp://x", Token: token})), "must be like")
	check.Says(t, check.Err(Open(Access{URL: "http://127.0.0.1:1", Token: token, Sign: true})),
		"both given")
}

// answering answers one request after the other.
type answering []answered

type answered struct {
	status           int
	body, retryAfter string
}

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	return &http.Response{StatusCode: next.status, Body: io.NopCloser(strings.NewReader(next.body)),
		Header: http.Header{"Retry-After": {next.retryAfter}}}, nil
}

// What is wrong with messages of a repeat, which brings only some, is reported with their places in
// the call.
func TestPutNamesPlacesInTheWholeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(&answering{
			{200, `{"results":[{"status":200},{"status":503},{"status":200},{"status":503}]}`, ""},
			{400, `{"errors":[{"field":"messages[1].seq","index":1,"other":0}]}`, ""},
		})
		_, err := c.Put(t.Context(), slices.Repeat([]json.RawMessage{json.RawMessage(`1`)}, 4))
		problem := check.As[*Problem](t, err)
		check.Need(t, len(problem.Errors) == 1, "%v", err)
		f := problem.Errors[0]
		name, index, ok := f.Of("messages")
		check.That(t, ok && name == "seq" && index == 3 && *f.Other == 1, "%+v: %q of %d", f, name, index)
	})
}

// What a queue has no room for in the end is reported with the place where it has.
func TestPutSaysWhereAQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := answering(slices.Repeat([]answered{
			{200, `{"results":[{"status":429,"outcome":"full","queue":"q","seq":"9","new":"3","maxAhead":5,"detail":"too far"}]}`, ""},
		}, defaultAttempts))
		_, err := over(&answers).Put(t.Context(), []json.RawMessage{json.RawMessage(`1`)})
		left := check.As[*NotTakenError](t, err)
		check.Is(t, left.First.MaxAhead, 5)
		check.Is(t, left.Error(), `1 of 1 messages were not taken; the first because: too far (queue "q" has position 3 and maxAhead 5)`)
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
			c := over(&answering{{429, `{"detail":"no"}`, header}, {200, `{}`, ""}})
			began := time.Now()
			check.OK(t, c.Call(t.Context(), http.MethodPost, "/messages", nil, nil, &struct{}{}))
			took := time.Since(began)
			check.That(t, took >= want[0] && took <= want[1], "%q: took %s, want %v", header, took, want)
		})
	}
}
