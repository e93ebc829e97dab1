package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// isolated is the call that delivers one queue to one consumer.
func isolated(queue, consumer string) call {
	return call{Event: eager.Event{Deliver: []eager.Queue{{Queue: queue, Consumer: consumer}}}}
}

// TestEndpointsOfQueues: a queue goes to its endpoint; one that has none, or whose endpoint is
// paused, waits, and nothing of it is counted. A tenant's endpoint may not have an address that the
// owner allows for others.
func TestEndpointsOfQueues(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path) }))
	defer server.Close()
	t.Setenv(egress.AllowVariable, "127.0.0.0/8")
	all := map[string]endpoint.Endpoint{
		"good":   {URL: server.URL + "/good", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"paused": {URL: server.URL + "/paused", Paused: "they asked"}, "@acme/inner": {URL: server.URL + "/inner"},
	}
	now := time.Now()
	cache := endpoint.NewCache(func(_ context.Context, consumer, queue string) (endpoint.Endpoint, error) {
		e, there := all[queue]
		if !there || consumer != "hooks" {
			return e, endpoint.ErrNone
		}
		return e, nil
	}, func() time.Time { return now })
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	readers := check.Get(readersFrom(write(t, `{"consumers":[{"name":"hooks","sink":{"kind":"http","endpoints":true,"ports":[`+port+`]}}]}`), cache))
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	store := delivery.NewMemory()
	seen := &observer{}
	d := check.Get(delivery.New(store, sorter, &delivery.Options{Observe: seen.delivery}))
	handle := check.Get(handler(d, cursor.Names{}, seen, readers, nil))
	for queue, want := range map[string]string{
		"good": "", "paused": "its endpoint is paused: they asked", "@new/none": "the queue has no endpoint", "none": "the queue has no endpoint", "@acme/inner": "without TLS",
	} {
		check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})[0].Err)
		event := isolated(queue, "hooks")
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		check.Get(runtime.Around(io.Discard, headroom, handle)(ctx, event))
		cancel()
		c, err := store.Requests(request.Inside{}).Consumer(t.Context(), queue, "hooks")
		if err != nil || c.State != delivery.Idle || c.Attempts != 0 || (c.Error == "") != (want == "") || !strings.Contains(c.Error, want) {
			t.Errorf("%s: %+v, %v; want %q", queue, c, err, want)
		}
		check.That(t, queue != "good" || c.Answer.Status == 200 && c.Delivered == 1,
			"its answer is %+v", c)
	}
	check.That(t, len(asked) == 1 && asked[0] == "/good", "asked %v", asked)
	// What waits is not tried, until it has an endpoint: it goes on with whatever wakes it up then.
	tryNone := func(want string, delivered int64) {
		t.Helper()
		if _, err := runtime.Around(io.Discard, headroom, handle)(t.Context(), isolated("none", "hooks")); err != nil {
			t.Error(err)
		}
		c, err := store.Requests(request.Inside{}).Consumer(t.Context(), "none", "hooks")
		check.That(t, err == nil && c.Delivered == delivered && c.Error == want,
			"%s: %+v, %v; want %q, delivered up to %d", want, c, err, want, delivered)
		if wait := time.Until(c.RetryAt); want != "" && (wait < 59*time.Minute || wait > time.Hour) {
			t.Errorf("it is tried again in %s", wait)
		}
	}
	tryNone("the queue has no endpoint", 0)
	now = now.Add(time.Second)
	all["none"] = endpoint.Endpoint{URL: server.URL + "/none", Secret: all["good"].Secret, Paused: "not yet", At: now}
	tryNone("the queue has no endpoint", 0)
	now = now.Add(time.Second)
	all["none"] = endpoint.Endpoint{URL: server.URL + "/none", Secret: all["good"].Secret, At: now}
	tryNone("", 1)
	check.That(t, len(asked) == 2 && asked[1] == "/none", "asked %v", asked)
	// A consumer that was taken out of the file since is passed over.
	check.Get(runtime.Around(io.Discard, headroom, handle)(t.Context(), isolated("good", "gone")))
	// So is a queue that was erased since.
	check.Get(d.Inside(request.Inside{}).Erase(t.Context(), delivery.Order{Queue: "good", Op: "e", Reason: "they left"}))
	out := &bytes.Buffer{}
	check.Get(runtime.Around(out, headroom, handle)(t.Context(), isolated("good", "hooks")))
	check.That(t, !strings.Contains(out.String(), "Errors"), "%+v", out)
	// A change counts within seconds.
	for range 2 {
		_, err := cache.Of(t.Context(), "hooks", "good")
		check.That(t, err == nil, "it was asked for again at once")
		delete(all, "good")
	}
	now = now.Add(endpoint.Lifetime)
	check.Fails(t, check.Err(cache.Of(t.Context(), "hooks", "good")), endpoint.ErrNone)
}

// TestChangedEndpoints: what failed before a change is tried at once, what fails while a process
// may not know of it once more behind that, and what fails later waits. However many records come,
// it is looked at once a second.
func TestChangedEndpoints(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now, looks := began, 0
	cache := endpoint.NewCache(func(context.Context, string, string) (endpoint.Endpoint, error) {
		looks++
		return endpoint.Endpoint{URL: "https://example.com", At: began}, nil
	}, func() time.Time { return now })
	is := changed(cache, "hooks")
	for _, c := range []struct {
		failed, at time.Duration
		want       bool
	}{
		{-time.Second, 0, true},
		{0, time.Second, false},
		{9 * time.Second, 9 * time.Second, false},
		{9 * time.Second, 10 * time.Second, true},
		{10 * time.Second, time.Hour, false},
	} {
		now = began.Add(c.at)
		looks = 0
		for range 100 {
			if got := is(t.Context(), "q", began.Add(c.failed)); got != c.want {
				t.Fatalf("failed %s after the change, asked %s after it: %v", c.failed, c.at, got)
			}
		}
		check.That(t, looks == 1, "%d looks in one second", looks)
	}
}

// TestIsolatedInvocations: the function of the slow ones is called, need not answer, and reads what
// it is called with.
func TestIsolatedInvocations(t *testing.T) {
	status := http.StatusAccepted
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var c call
		if err := json.Unmarshal(body, &c); err != nil || !slices.Equal(c.Deliver, isolated("a/ö", "hooks").Deliver) {
			t.Errorf("called with %s", body)
		}
		asked = append(asked, r.URL.EscapedPath()+" "+r.Header.Get("X-Amz-Invocation-Type"))
		w.WriteHeader(status)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
	const name = "arn:aws:lambda:eu-west-1:123456789012:function:slow:live"
	isolate := check.Get(asideCalls(name))
	check.OK(t, isolate(t.Context(), "a/ö", "hooks"))
	if want := fmt.Sprintf("/2015-03-31/functions/%s/invocations Event", strings.ReplaceAll(name, ":", "%3A")); len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
	status = http.StatusForbidden
	check.That(t, isolate(t.Context(), "a/ö", "hooks") != nil, "a refusal is no error")
}

// TestEndpointsThatCannotBeLookedAt: nothing of that is the message's.
func TestEndpointsThatCannotBeLookedAt(t *testing.T) {
	find := endpoints(endpoint.NewCache(func(context.Context, string, string) (endpoint.Endpoint, error) {
		return endpoint.Endpoint{}, cursor.ErrThrottled
	}, time.Now))
	_, err := find(t.Context(), "c", "q")
	check.That(t, kind.IsAway(err), "%v", err)
}

// TestACallOutsideOfThePrefix: a queue that a consumer's prefix leaves out, by now or because the
// call is wrong, is not delivered to it, and gets no consumer.
func TestACallOutsideOfThePrefix(t *testing.T) {
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	store := delivery.NewMemory()
	seen := &observer{}
	d := check.Get(delivery.New(store, sorter, &delivery.Options{Observe: seen.delivery}))
	var got []string
	readers := []delivery.Reader{{Name: "hooks", Prefix: "shop/", Handle: func(_ context.Context, b delivery.Batch) error {
		got = append(got, b.Queue)
		return nil
	}}}
	handle := check.Get(handler(d, cursor.Names{}, seen, readers, nil))
	for _, queue := range []string{"other/q", "shop/q"} {
		check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})[0].Err)
		check.Get(runtime.Around(io.Discard, headroom, handle)(t.Context(), isolated(queue, "hooks")))
	}
	c := check.Get(store.Requests(request.Inside{}).Consumer(t.Context(), "other/q", "hooks"))
	check.That(t, !c.Exists() && len(got) == 1 && got[0] == "shop/q", "%+v %+v", got, c.Exists())
}
