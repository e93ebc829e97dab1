package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
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
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
	}))
	defer server.Close()
	t.Setenv(egress.AllowVariable, "127.0.0.0/8")
	all := map[string]endpoint.Endpoint{
		"good":   {URL: server.URL + "/good", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"paused": {URL: server.URL + "/paused", Paused: "they asked"}, "@acme/inner": {URL: server.URL + "/inner"},
	}
	now := time.Now()
	cache := endpoint.NewCache(func(_ context.Context,
		consumer, queue string) (endpoint.Endpoint, error) {
		e, there := all[queue]
		if !there || consumer != "hooks" {
			return e, endpoint.ErrNone
		}
		return e, nil
	}, func() time.Time { return now })
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	readers := check.Get(
		readersFrom(
			write(t, `{"consumers":[{"name":"hooks","sink":{"kind":"http","endpoints":true,"ports":[`+port+
				`]}}]}`), cache))
	b := benchOf(t, nil, readers...)
	for queue, want := range map[string]string{
		"good": "", "paused": "its endpoint is paused: they asked", "@new/none": "the queue has no endpoint", "none": "the queue has no endpoint", "@acme/inner": "without TLS",
	} {
		b.put(queue, "", 1)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		check.Get(b.handle(ctx, isolated(queue, "hooks")))
		cancel()
		c, err := b.store.Requests(request.Inside{}).Consumer(t.Context(), queue, "hooks")
		check.That(t, err == nil && c.State == delivery.Idle && c.Attempts == 0 &&
			(c.Error == "") == (want == "") && strings.Contains(c.Error, want), "%s: %+v, %v; want %q",
			queue, c, err, want)
		check.That(t, queue != "good" || c.Answer.Status == 200 && c.Delivered == 1,
			"its answer is %+v", c)
	}
	check.That(t, len(asked) == 1 && asked[0] == "/good", "asked %v", asked)
	// What waits is not tried, until it has an endpoint: it goes on with whatever wakes it up then.
	tryNone := func(want string, delivered int64) {
		t.Helper()
		check.Get(b.handle(t.Context(), isolated("none", "hooks")))
		c, err := b.store.Requests(request.Inside{}).Consumer(t.Context(), "none", "hooks")
		check.That(t, err == nil && c.Delivered == delivered && c.Error == want,
			"%s: %+v, %v; want %q, delivered up to %d", want, c, err, want, delivered)
		if wait := time.Until(c.RetryAt); want != "" && (wait < 59*time.Minute || wait > time.Hour) {
			t.Errorf("it is tried again in %s", wait)
		}
	}
	tryNone("the queue has no endpoint", 0)
	now = now.Add(time.Second)
	all["none"] = endpoint.Endpoint{URL: server.URL + "/none", Secret: all["good"].Secret,
		Paused: "not yet", At: now}
	tryNone("the queue has no endpoint", 0)
	now = now.Add(time.Second)
	all["none"] = endpoint.Endpoint{URL: server.URL + "/none", Secret: all["good"].Secret, At: now}
	tryNone("", 1)
	check.That(t, len(asked) == 2 && asked[1] == "/none", "asked %v", asked)
	// A consumer that was taken out of the file since is passed over.
	check.Get(b.handle(t.Context(), isolated("good", "gone")))
	// So is a queue that was erased since.
	check.Get(b.deliverer.Inside(request.Inside{}).Erase(t.Context(),
		delivery.Order{Queue: "good", Op: "e", Reason: "they left"}))
	b.out.Reset()
	check.Get(b.handle(t.Context(), isolated("good", "hooks")))
	check.That(t, !strings.Contains(b.out.String(), "Errors"), "%s", &b.out)
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
			check.Is(t, is(t.Context(), "q", began.Add(c.failed)), c.want, c.failed, c.at)
		}
		check.That(t, looks == 1, "%d looks in one second", looks)
	}
	// Where the endpoint cannot be looked at, nothing of that is the message's.
	find := endpoints(
		endpoint.NewCache(func(context.Context, string, string) (endpoint.Endpoint, error) {
			return endpoint.Endpoint{}, cursor.ErrThrottled
		}, time.Now))
	_, err := find(t.Context(), "c", "q")
	check.That(t, kind.IsAway(err), "%v", err)
}

// TestIsolatedInvocations: the function of the slow ones is called, need not answer, and reads what
// it is called with.
func TestIsolatedInvocations(t *testing.T) {
	status := http.StatusAccepted
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var c call
		err := json.Unmarshal(body, &c)
		check.That(t, err == nil && slices.Equal(c.Deliver, isolated("a/ö", "hooks").Deliver),
			"called with %s", body)
		asked = append(asked, r.URL.EscapedPath()+" "+r.Header.Get("X-Amz-Invocation-Type"))
		w.WriteHeader(status)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
	const name = "arn:aws:lambda:eu-west-1:123456789012:function:slow:live"
	isolate := check.Get(asideCalls(name))
	check.OK(t, isolate(t.Context(), "a/ö", "hooks"))
	check.Is(t, strings.Join(asked, ", "), "/2015-03-31/functions/"+
		strings.ReplaceAll(name, ":", "%3A")+"/invocations Event")
	status = http.StatusForbidden
	check.That(t, isolate(t.Context(), "a/ö", "hooks") != nil, "a refusal is no error")
}

// TestACallOutsideOfThePrefix: a queue that a consumer's prefix leaves out, by now or because the
// call is wrong, is not delivered to it, and gets no consumer.
func TestACallOutsideOfThePrefix(t *testing.T) {
	var got []string
	b := benchOf(t, nil, delivery.Reader{Name: "hooks", Prefix: "shop/",
		Handle: func(_ context.Context, batch delivery.Batch) error {
			got = append(got, batch.Queue)
			return nil
		}})
	for _, queue := range []string{"other/q", "shop/q"} {
		b.put(queue, "", 1)
		check.Get(b.handle(t.Context(), isolated(queue, "hooks")))
	}
	c := check.Get(b.store.Requests(request.Inside{}).Consumer(t.Context(), "other/q", "hooks"))
	check.That(t, !c.Exists() && len(got) == 1 && got[0] == "shop/q", "%+v %+v", got, c.Exists())
}

// timeout is what a call of the functions takes at most.
const timeout = time.Minute

// shareBench is the function of isolated invocations, on stores in memory.
type shareBench struct {
	*bench
	fail  error
	waits map[string]time.Time
	// during is done while a batch is delivered.
	during func(context.Context)
	got    []string
}

func newShareBench(t *testing.T, ofTenant int) *shareBench {
	b := &shareBench{waits: map[string]time.Time{}, during: func(context.Context) {}}
	bound := &share{now: time.Now, wakeUp: func(queue, consumer string, due time.Time) {
		b.waits[queue+" "+consumer] = due
	}}
	b.bench = benchOf(t, bound, delivery.Reader{
		Name: "hooks", Apart: true, Inline: time.Second,
		Handle: func(ctx context.Context, batch delivery.Batch) error {
			b.got = append(b.got, batch.Queue)
			b.during(ctx)
			return nil
		},
	})
	engine, consumers := b.store.Requests(request.Inside{}).Endpoints()
	counter := ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if b.fail != nil {
			return ddb.Answer{}, b.fail
		}
		return engine.Do(ctx, r)
	})
	bound.leases = quota.NewLeases(counter, consumers, ofTenant, time.Now)
	return b
}

// call delivers a queue, which has a message more; its invocation may take a minute.
func (b *shareBench) call(queue string) {
	b.Helper()
	it, err := b.sorter.Status(b.Context(), queue)
	check.Need(b, err == nil || errors.Is(err, cursor.ErrNoQueue), "%v", err)
	b.put(queue, "1", it.Position+1)
	ctx, cancel := context.WithTimeout(b.Context(), timeout)
	defer cancel()
	check.Get(b.handle(ctx, isolated(queue, "hooks")))
}

func (b *shareBench) gets(want ...string) {
	b.Helper()
	check.That(b, slices.Equal(b.got, want), "delivered to %v, want %v", b.got, want)
	b.got = nil
}

// TestATenantsShare: beyond it a queue is not delivered and waits for its wake-up, and another
// tenant's is; a call that ends gives its place back, whatever became of it, and one that died has
// it until its time is over. What is no tenant's has no bound.
func TestATenantsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShareBench(t, 1)
		engine, consumers := b.store.Requests(request.Inside{}).Endpoints()
		b.during = func(context.Context) {
			// Its place is kept until Lambda would end it, and no longer.
			key := ddb.Fields{"queue": ddb.Text("leases acme"), "consumer": ddb.Text(" calls")}.Item()
			op, want := ddb.Op{Op: "test", Table: &consumers}, ddb.Millis(time.Now().Add(timeout))
			a := check.Get(engine.Do(t.Context(), ddb.Get{Op: op, Key: key, Strong: true}))
			check.That(t, a.Item.Get("until0").Equal(want), "%v", a.Item)
			b.during = func(context.Context) {}
			b.call("@acme/second")
			b.call("@other/first")
		}
		b.call("@acme/first")
		b.gets("@acme/first", "@other/first")
		wait := time.Until(b.waits["@acme/second hooks"])
		check.That(t, len(b.waits) == 1 && wait >= minWait && wait < maxWait,
			"woken up in %s: %v", wait, b.waits)
		b.has(`"IsolatedWaits":1`)
		b.call("@acme/second")
		b.during = func(context.Context) { panic("no luck") }
		b.call("@acme/third")
		b.during = func(context.Context) {
			b.during = func(context.Context) {}
			b.call("inner")
		}
		b.call("outer")
		b.call("@acme/first")
		b.gets("@acme/second", "@acme/third", "outer", "inner", "@acme/first")
		check.That(t, len(b.waits) == 1, "woken up: %v", b.waits)

		// A process that died had its place until the end of its invocation.
		leases := quota.NewLeases(engine, consumers, 1, time.Now)
		_, taken, err := leases.Take(t.Context(), "acme", time.Now().Add(timeout))
		check.Need(t, err == nil && taken, "%v %v", taken, err)
		b.call("@acme/first")
		bubble.Sleep(timeout)
		b.call("@acme/first")
		b.gets()
		bubble.Sleep(time.Millisecond)
		b.call("@acme/first")
		b.gets("@acme/first")
	})
}

// TestACounterThatDoesNotAnswer: no queue waits for it, and the metrics say so.
func TestACounterThatDoesNotAnswer(t *testing.T) {
	b := newShareBench(t, 1)
	b.fail = cursor.ErrThrottled
	b.call("@acme/q")
	b.gets("@acme/q")
	b.has(`"QuotaUnknown":1`)
}

// watching is an observer that logs calls about the queue "q", and its log.
func watching(t *testing.T) (*observer, *bytes.Buffer) {
	var logs bytes.Buffer
	runtimetest.Logs(t, &logs)
	return &observer{log: calllog.Log{Queue: "q", Until: time.Now().Add(time.Hour)}}, &logs
}

// TestSampledMessagesAreLogged: whose producer records their traces, in whatever queue they are;
// and all of a queue that is watched.
func TestSampledMessagesAreLogged(t *testing.T) {
	seen, logs := watching(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		queue, flags string
		messages     int
		want         []string
	}{
		{"other", "00", 3, nil},
		{"other", "01", 3, []string{`"queue":"other","consumer":"c","from":1,"to":3,`, `"claimedAt":"2026-01-02T03:04:05Z"`, `"committedAt":`, `"traces":["0af7651916cd43dd8448eb211c800000","0af7651916cd43dd8448eb211c800001","0af7651916cd43dd8448eb211c800002"]`}},
		{"other", "01", 100, []string{`0013"]`}},
		{"q", "00", 1, []string{`"queue":"q"`}},
	} {
		logs.Reset()
		b := delivery.Batch{Queue: c.queue, Consumer: "c", To: int64(c.messages), Attempt: 1}
		for i := range c.messages {
			b.Messages = append(b.Messages,
				cursor.Message{Trace: cursor.TraceOf(
					fmt.Sprintf("00-0af7651916cd43dd8448eb211c80%04x-b7ad6b7169203331-%s", i, c.flags), "")})
		}
		seen.handed(delivery.Handed{Batch: b, Claimed: at, Returned: at, Committed: at})
		text := logs.String()
		check.That(t, (c.want != nil || text == "") && len(text) <= 2000, "%+v: logged %s", c, text)
		for _, part := range c.want {
			check.That(t, strings.Contains(logs.String(), part), "no %s in %s", part, logs.String())
		}
	}
	// What is delivered of the watched queue is logged, and of no other.
	logs.Reset()
	seen.metrics.Store(emf.New(io.Discard, emf.Names{}).Begin())
	for _, queue := range []string{"q", "other"} {
		seen.delivery(delivery.Delivery{Queue: queue, Consumer: "billing", Batches: 1, Messages: 3})
	}
	check.Has(t, logs.String(), `"msg":"delivered","queue":"q","consumer":"billing"`)
	check.That(t, strings.Contains(logs.String(), `"messages":3`) &&
		!strings.Contains(logs.String(), "other"), "logged: %s", logs)
}
