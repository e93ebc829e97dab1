package eager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const function = "arn:aws:lambda:eu-west-1:123456789012:function:streamsort-process:live"

// lambda takes calls, or refuses them.
type lambda struct {
	*testing.T
	mu     sync.Mutex
	calls  []eager.Event
	status int
}

func newLambda(t *testing.T) *lambda {
	l := &lambda{T: t, status: http.StatusAccepted}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": server.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_LAMBDA_FUNCTION_NAME": "enqueue", "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793",
	} {
		t.Setenv(name, value)
	}
	return l
}

// ServeHTTP implements [http.Handler].
func (l *lambda) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var event eager.Event
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	path := "/2015-03-31/functions/" + strings.ReplaceAll(function, ":", "%3A") + "/invocations"
	if err != nil || r.URL.EscapedPath() != path || r.Header.Get("X-Amz-Invocation-Type") != "Event" ||
		len(body) > 1<<20 {
		l.Errorf("%v: %s with %d bytes", err, r.URL, len(body))
	}
	if trace := r.Header.Get("X-Amzn-Trace-Id"); trace != "" {
		l.Errorf("a circle of calls is seen where the stream lies between: %s", trace)
	}
	l.calls = append(l.calls, event)
	w.WriteHeader(l.status)
}

// flushes checks how many calls are taken and how many fail, and returns what they name, in order.
func (l *lambda) flushes(c *eager.Caller, taken, failed int) (all []eager.Queue) {
	l.Helper()
	l.calls = nil
	if t, f := c.Flush(l.Context()); t != taken || f != failed || len(l.calls) != taken+failed {
		l.Errorf("%d taken, %d failed, %d made; want %d and %d", t, f, len(l.calls), taken, failed)
	}
	for _, event := range l.calls {
		all = append(all, event.Deliver...)
	}
	slices.SortFunc(all, func(a, b eager.Queue) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}

func newCaller(t *testing.T, readers ...delivery.Reader) *eager.Caller {
	t.Helper()
	c, err := eager.New(function, readers)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFlush: one call has all that was moved for eager readers, each queue once, where it is now.
// Nothing is called where nothing was moved. What is refused is not tried again.
func TestFlush(t *testing.T) {
	l := newLambda(t)
	c := newCaller(t, delivery.Reader{Name: "a", Prefix: "shop/", Eager: true},
		delivery.Reader{Name: "b", Prefix: "@acme/", Eager: true}, delivery.Reader{Name: "c"})
	l.flushes(c, 0, 0)
	c.Moved("other", 5)
	l.flushes(c, 0, 0)
	c.Moved("shop/1", 5)
	c.Moved("shop/1", 4)
	c.Moved("@acme/q", 0)
	c.Moved("@zoo/q", 1)
	want := []eager.Queue{{Queue: "@acme/q"}, {Queue: "shop/1", Position: 5}}
	if got := l.flushes(c, 1, 0); !slices.Equal(got, want) {
		t.Errorf("called with %v, want %v", got, want)
	}
	l.flushes(c, 0, 0)
	for _, l.status = range []int{http.StatusTooManyRequests, http.StatusForbidden,
		http.StatusInternalServerError} {
		c.Moved("shop/1", 6)
		l.flushes(c, 0, 1)
		l.flushes(c, 0, 0)
	}
}

// TestManyQueues: a call has a size that Lambda takes, and an invocation makes so many at most.
func TestManyQueues(t *testing.T) {
	l := newLambda(t)
	c := newCaller(t, delivery.Reader{Eager: true})
	for i := range 1500 {
		c.Moved(fmt.Sprintf("%04d%s", i, strings.Repeat("\x01", cursor.MaxQueueName-4)), cursor.MaxSeq)
	}
	if got := l.flushes(c, 20, 0); len(got) != 1000 || got[0].Position != cursor.MaxSeq {
		t.Errorf("%d queues", len(got))
	}
}

// TestNobodyAnswers: a call ends with its context. Behind it none is made for ten seconds, and then
// one is: where Lambda cannot be reached, an invocation in ten seconds waits for it.
func TestNobodyAnswers(t *testing.T) {
	newLambda(t)
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t, delivery.Reader{Eager: true})
		over, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		for i, want := range []int{1, 0, 0, 1} {
			c.Moved("q", 1)
			if taken, failed := c.Flush(over); taken != 0 || failed != want {
				t.Errorf("after %d s: %d taken, %d failed, want %d", 4*i, taken, failed, want)
			}
			bubble.Sleep(4 * time.Second)
		}
	})
}

// TestNobodyIsEager: then there is nothing to call.
func TestNobodyIsEager(t *testing.T) {
	for name, readers := range map[string][]delivery.Reader{"": {{Eager: true}},
		function: {{Name: "a"}}} {
		c, err := eager.New(name, readers)
		if taken, failed := c.Flush(t.Context()); c != nil || err != nil || taken+failed != 0 {
			t.Errorf("%q: %v, %v, %d and %d calls", name, c, err, taken, failed)
		}
	}
}
