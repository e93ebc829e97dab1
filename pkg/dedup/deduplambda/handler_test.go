package deduplambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduplambda"
)

func TestFields(t *testing.T) {
	type event struct {
		Detail map[string]any `json:"detail"`
		Body   string         `json:"body"`
		Lines  []any          `json:"lines"`
	}
	e := event{
		Detail: map[string]any{"id": "x", "n": 12345678901234567, "yes": true, "none": nil, "empty": "",
			"o": map[string]any{"a": 1}},
		Body:  `{"order":{"id":"17"},"amount":1.50}`,
		Lines: []any{"zero", map[string]any{"id": 1}},
	}
	for path, want := range map[string]string{
		"detail.id": "x", "detail.n": "12345678901234567", "detail.yes": "true", "detail.none": "", "detail.empty": "",
		"detail.missing": "", "missing.too": "", "body.order.id": "17", "body.amount": "1.50", "lines.1.id": "1",
		"lines.0": "zero", "lines.2": "", "lines.-1": "", "detail.id.deeper": "",
	} {
		key := check.Get(deduplambda.Field[event](path))
		got, err := key(e)
		check.That(t, err == nil && got == want, "%s: %q, %v; want %q", path, got, err, want)
	}
	key := check.Get(deduplambda.Field[event]("detail.o"))
	check.IsA[*dedup.InvalidError](t, check.Err(key(e)))
	for _, path := range []string{"", "a..b", ".a", strings.Repeat("a.", 20) + "a"} {
		check.IsA[*dedup.InvalidError](t, check.Err(deduplambda.Field[event](path)))
	}
	_, err := check.Get(deduplambda.Field[chan int]("a"))(nil)
	check.That(t, check.As[*dedup.InvalidError](t, err).Field == "event", "an event that is no JSON")

	payload := check.Get(deduplambda.Fields[json.RawMessage]("a", "b.c"))
	parts := func(event string) string {
		return string(bytes.Join(check.Get(payload(json.RawMessage(event))), []byte("|")))
	}
	if one, two := parts(`{"a":{"x":1,"y":2.0},"b":{"c":"z"},"d":1}`),
		parts(`{"b":{"c":"z"}, "a":{"y":2.0,"x":1}, "d":2}`); one != two || one != `{"x":1,"y":2.0}|"z"` {
		t.Errorf("%s and %s", one, two)
	}
	check.Is(t, parts(`{}`), "null|null")
	whole := check.Get(deduplambda.Fields[json.RawMessage]())
	one, two := check.Get(whole(json.RawMessage(`{"a":1, "b":2}`))),
		check.Get(whole(json.RawMessage(`{"b":2,"a":1}`)))
	if diff := cmp.Diff(one, two); diff != "" || len(one) != 1 || string(one[0]) != `{"a":1,"b":2}` {
		t.Errorf("the whole event: %s and %s", one, two)
	}
}

type payment struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
	Note   string `json:"note"`
}

func TestHandler(t *testing.T) {
	var log bytes.Buffer
	d := process(t, dedup.NewMemory(), &options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ran := 0
	handle := func(_ context.Context, p payment) (string, error) {
		ran++
		return "receipt of " + p.ID, nil
	}
	key := check.Get(deduplambda.Field[payment]("id"))
	payload := check.Get(deduplambda.Fields[payment]("amount"))
	h := deduplambda.Handler(d, key, handle, &deduplambda.HandlerOptions[payment]{Payload: payload})
	for _, p := range []payment{{"a", 1, "x"}, {"a", 1, "y"}} {
		got, err := h(t.Context(), p)
		check.That(t, err == nil && got == "receipt of a", "%q, %v", got, err)
	}
	check.IsA[*dedup.PayloadMismatchError](t, check.Err(h(t.Context(), payment{"a", 2, "x"})))
	_, err := h(t.Context(), payment{Amount: 2})
	check.That(t, check.As[*dedup.InvalidError](t, err).Field == "id" && ran == 1,
		"no key: %v, ran %d times", err, ran)
	unprotected := deduplambda.Handler(d, key, handle,
		&deduplambda.HandlerOptions[payment]{MissingKey: deduplambda.RunUnprotected})
	for range 2 {
		got, err := unprotected(t.Context(), payment{})
		check.That(t, err == nil && got == "receipt of ", "%q, %v", got, err)
	}
	check.That(t, ran == 3 && strings.Count(log.String(), "level=WARN msg=unprotected") == 2,
		"ran %d times; logged:\n%s", ran, &log)
	check.Fails(t, check.Err(deduplambda.Handler(d, func(payment) (string, error) {
		return "", errDown
	}, handle, nil)(t.Context(), payment{})), errDown)

	large := process(t, dedup.NewMemory(), &options{CompressOver: -1})
	h = deduplambda.Handler(large, key, func(context.Context, payment) (string, error) {
		return strings.Repeat("x", 500<<10), nil
	}, nil)
	got, err := h(t.Context(), payment{ID: "a"})
	check.That(t, err == nil && len(got) == 500<<10, "%d bytes, %v", len(got), err)
	_, err = h(t.Context(), payment{ID: "a"})
	check.That(t, check.As[*deduplambda.OmittedError](t, err).Key.ID == "a", "%v", err)
}

// web is a process behind HTTP.
func web(t *testing.T, store dedup.Store,
	o *dedup.Options[string, deduplambda.Response]) *dedup.Deduplicator[string, deduplambda.Response] {
	return check.Get(dedup.New(store, "web", o))
}

func post(key, path, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{RawPath: path, Body: body, Headers: map[string]string{}}
	e.RequestContext.HTTP.Method = http.MethodPost
	if key != "" {
		e.Headers["idempotency-key"] = key
	}
	return e
}

func TestHTTPv2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		status, ran := http.StatusCreated, 0
		handle := func(ctx context.Context,
			e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			ran++
			return events.APIGatewayV2HTTPResponse{
				StatusCode: status, Body: "made " + e.Body, Headers: map[string]string{"Location": "/orders/1"},
				Cookies: []string{"a=b"}, MultiValueHeaders: map[string][]string{"x": {"1", "2"}},
				IsBase64Encoded: true,
			}, ctx.Err()
		}
		h := deduplambda.HTTPv2(web(t, store,
			&dedup.Options[string, deduplambda.Response]{MaxAttempts: 3}), handle, nil)
		call := func(e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
			return check.Get(h(t.Context(), e))
		}
		first, second := call(post("k", "/orders", "x")), call(post("k", "/orders", "x"))
		check.That(t, first.Headers["Idempotency-Replayed"] == "" &&
			second.Headers["Idempotency-Replayed"] == "true" && ran == 1,
			"ran %d times; %v and %v", ran, first.Headers, second.Headers)
		delete(second.Headers, "Idempotency-Replayed")
		if diff := cmp.Diff(first, second); diff != "" || first.StatusCode != http.StatusCreated {
			t.Errorf("status %d; the remembered response differs:\n%s", first.StatusCode, diff)
		}
		alice := post("k", "/orders", "x")
		alice.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{
				Claims: map[string]string{"iss": "i", "sub": "alice"},
			},
		}
		for name, e := range map[string]events.APIGatewayV2HTTPRequest{"elsewhere": post("k", "/refunds",
			"x"), "somebody else": alice} {
			before := ran
			if call(e); ran != before+1 {
				t.Errorf("%s: the response of another", name)
			}
		}
		for name, c := range map[string]struct {
			event  events.APIGatewayV2HTTPRequest
			status int
			kind   string
		}{
			"no key":       {post("", "/orders", "x"), http.StatusBadRequest, "key-missing"},
			"long key":     {post(strings.Repeat("k", 2000), "/orders", "x"), http.StatusBadRequest, "invalid"},
			"another body": {post("k", "/orders", "y"), http.StatusUnprocessableEntity, "payload-mismatch"},
			"another query": {func() events.APIGatewayV2HTTPRequest {
				e := post("k", "/orders", "x")
				e.RawQueryString = "a=b"
				return e
			}(), http.StatusUnprocessableEntity, "payload-mismatch"},
		} {
			got := call(c.event)
			check.That(t, got.StatusCode == c.status && strings.Contains(got.Body, "problems/"+c.kind+`"`) &&
				got.Headers["Content-Type"] == "application/problem+json",
				"%s: %d %s", name, got.StatusCode, got.Body)
		}

		status = http.StatusBadGateway
		for range 3 {
			if got := call(post("f", "/orders", "x")); got.StatusCode != status ||
				got.Headers["Idempotency-Replayed"] != "" {
				t.Errorf("a failure: %d", got.StatusCode)
			}
		}
		if got := call(post("f", "/orders", "x")); got.StatusCode != http.StatusConflict ||
			!strings.Contains(got.Body, "quarantined") {
			t.Errorf("after three failures: %d %s", got.StatusCode, got.Body)
		}
	})
}

func TestHTTPWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		o := &dedup.Options[string, deduplambda.Response]{Wait: dedup.NoWait, Lease: 30 * time.Second}
		release := make(chan struct{})
		slow := func(context.Context,
			events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			<-release
			return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
		}
		go func() {
			_, _ = deduplambda.HTTPv2(web(t, store, o), slow, nil)(t.Context(), post("k", "/", ""))
		}()
		synctest.Wait()
		got := check.Get(deduplambda.HTTPv2(web(t, store, o), slow, nil)(t.Context(), post("k", "/", "")))
		check.That(t, got.StatusCode == http.StatusConflict && got.Headers["Retry-After"] == "30" &&
			strings.Contains(got.Body, "problems/running"), "elsewhere: %+v", got)
		close(release)
	})
}

func TestHTTPv1AndFunctionURL(t *testing.T) {
	ran := 0
	v1 := deduplambda.HTTPv1(web(t, dedup.NewMemory(), nil),
		func(_ context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			ran++
			return events.APIGatewayProxyResponse{StatusCode: 201, Body: e.Body}, nil
		}, &deduplambda.HTTPOptions{Header: "X-Request-Id"})
	request := events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/a", Body: "x",
		MultiValueHeaders:     map[string][]string{"x-request-id": {"k"}},
		QueryStringParameters: map[string]string{"b": "1", "a": "2"},
	}
	for i := range 2 {
		got := check.Get(v1(t.Context(), request))
		check.That(t, got.StatusCode == 201 && got.Body == "x" &&
			(got.Headers["Idempotency-Replayed"] == "true") == (i == 1), "%+v", got)
	}
	for i, authorizer := range []map[string]any{{"claims": map[string]any{"sub": "alice"}},
		{"principalId": "bob"}} {
		request.RequestContext.Authorizer = authorizer
		_ = check.Get(v1(t.Context(), request))
		check.That(t, ran == 2+i, "%v got the response of another", authorizer)
	}
	request.RequestContext.Identity.UserArn = "arn:aws:iam::1:user/carol"
	_ = check.Get(v1(t.Context(), request))
	check.That(t, ran == 4, "carol got the response of another")

	ran = 0
	function := deduplambda.FunctionURL(web(t, dedup.NewMemory(), nil),
		func(_ context.Context,
			e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
			ran++
			return events.LambdaFunctionURLResponse{StatusCode: 200, Body: e.Body,
				Cookies: []string{"c"}}, nil
		}, &deduplambda.HTTPOptions{MissingKey: deduplambda.RunUnprotected})
	for i, headers := range []map[string]string{{}, {}, {"Idempotency-Key": "k"},
		{"Idempotency-Key": "k"}} {
		got := check.Get(function(t.Context(),
			events.LambdaFunctionURLRequest{Body: "x", Headers: headers}))
		check.That(t, got.Body == "x" && len(got.Cookies) == 1 && ran == min(i+1, 3),
			"call %d: %+v, ran %d times", i, got, ran)
	}
}

// TestHTTPFaults: a table that is not there is 503, and what the handler fails with its own.
func TestHTTPFaults(t *testing.T) {
	h := deduplambda.HTTPv2(web(t, dedup.NewMemory(), nil),
		func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{}, errDown
		}, nil)
	check.Fails(t, check.Err(h(t.Context(), post("k", "/", ""))), errDown)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		got := check.Get(h(ctx, post("k", "/", "")))
		check.That(t, got.StatusCode == http.StatusServiceUnavailable &&
			got.Headers["Retry-After"] == "1", "%+v", got)
	})
}

func TestBatches(t *testing.T) {
	d := process(t, dedup.NewMemory(), nil)
	ran, broken := map[string]int{}, "3"
	handle := func(id string) (string, error) {
		ran[id]++
		if id == broken {
			return "", errDown
		}
		return "ok", nil
	}
	var queue events.SQSEvent
	for _, id := range []string{"1", "2", "3", "4"} {
		queue.Records = append(queue.Records, events.SQSMessage{MessageId: id})
	}
	onQueue := deduplambda.OnSQS(d, deduplambda.MessageID,
		func(_ context.Context, m events.SQSMessage) (string, error) {
			return handle(m.MessageId)
		})
	failed := func(r events.SQSEventResponse, err error) (ids []string) {
		check.OK(t, err)
		for _, f := range r.BatchItemFailures {
			ids = append(ids, f.ItemIdentifier)
		}
		return ids
	}
	same := func(what string, got, want any) { t.Helper(); check.Is(t, cmp.Diff(want, got), "", what) }
	same("queue", failed(onQueue(t.Context(), queue)), []string{"3"})
	same("runs", ran, map[string]int{"1": 1, "2": 1, "3": 1, "4": 1})
	broken = ""
	same("queue again", failed(onQueue(t.Context(), queue)), []string(nil))
	same("runs", ran, map[string]int{"1": 1, "2": 1, "3": 2, "4": 1})

	d, broken = process(t, dedup.NewMemory(), nil), "2"
	clear(ran)
	for i, group := range []string{"a", "b", "b", "b"} {
		queue.Records[i].Attributes = map[string]string{"MessageGroupId": group}
		queue.Records[i].EventSourceARN = "arn:aws:sqs:eu-west-1:123456789012:orders.fifo"
	}
	onQueue = deduplambda.OnSQS(d, deduplambda.MessageID,
		func(_ context.Context, m events.SQSMessage) (string, error) {
			return handle(m.MessageId)
		})
	same("FIFO", failed(onQueue(t.Context(), queue)), []string{"2", "3", "4"})
	same("runs", ran, map[string]int{"1": 1, "2": 1})
	for i := range queue.Records {
		queue.Records[i].EventSourceARN = "arn:aws:sqs:eu-west-1:123456789012:orders"
	}
	same("groups of a standard queue", failed(onQueue(t.Context(), queue)), []string{"2"})
	same("runs", ran, map[string]int{"1": 1, "2": 2, "3": 1, "4": 1})

	done, err := dedup.Each(t.Context(), d, []string{"8", ""}, func(s string) (string, error) {
		return s, nil
	}, func(_ context.Context, s string) (string, error) { return handle(s) })
	check.IsA[*dedup.InvalidError](t, err)
	check.Is(t, done, 1)
}

// httpV1 is a handler of a REST API, and how often it ran.
func httpV1(t *testing.T,
	options *deduplambda.HTTPOptions) (func(events.APIGatewayProxyRequest) int, *int) {
	ran := new(int)
	handler := deduplambda.HTTPv1(web(t, dedup.NewMemory(), nil),
		func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			*ran++
			return events.APIGatewayProxyResponse{StatusCode: http.StatusCreated}, nil
		}, options)
	return func(e events.APIGatewayProxyRequest) int {
		e.HTTPMethod, e.Path = http.MethodPost, "/orders"
		return check.Get(handler(t.Context(), e)).StatusCode
	}, ran
}

// TestHeaderTwice: a header that comes in two cases is one key, the same one each time.
func TestHeaderTwice(t *testing.T) {
	call, ran := httpV1(t, nil)
	for range 50 {
		call(events.APIGatewayProxyRequest{Headers: map[string]string{"Idempotency-Key": "a",
			"idempotency-key": "b"}})
		call(
			events.APIGatewayProxyRequest{MultiValueHeaders: map[string][]string{"Idempotency-Key": {"a"},
				"idempotency-key": {"b"}}})
	}
	check.That(t, *ran == 1, "ran %d times, want once", *ran)
}

// TestAnotherQuery: queries that look alike when their values are written down one after the other
// are distinguished.
func TestAnotherQuery(t *testing.T) {
	call, _ := httpV1(t, nil)
	for name, queries := range map[string][2]events.APIGatewayProxyRequest{
		"values": {
			{MultiValueQueryStringParameters: map[string][]string{"a": {"b c"}}},
			{MultiValueQueryStringParameters: map[string][]string{"a": {"b", "c"}}},
		},
		"names": {
			{QueryStringParameters: map[string]string{"a": "b c:d"}},
			{QueryStringParameters: map[string]string{"a": "b", "c": "d"}},
		},
	} {
		for i, want := range []int{http.StatusCreated, http.StatusUnprocessableEntity} {
			queries[i].Headers = map[string]string{"Idempotency-Key": name}
			check.Is(t, call(queries[i]), want, name)
		}
	}
}

// TestBinaryBody: the payload is what the client sent, however the gateway wrapped it.
func TestBinaryBody(t *testing.T) {
	call, _ := httpV1(t, nil)
	for _, c := range []struct {
		key, body string
		base64    bool
		want      int
	}{
		{"text", "aGk=", false, http.StatusCreated},
		{"text", "aGk=", true, http.StatusUnprocessableEntity}, // "hi"
		{"binary", "aGk=", true, http.StatusCreated},
		{"binary", "hi", false, http.StatusCreated},
		{"binary", "aGs=", true, http.StatusUnprocessableEntity}, // "hk"
		{"neither", "a-b", true, http.StatusCreated},
		{"neither", "a-c", true, http.StatusUnprocessableEntity},
	} {
		e := events.APIGatewayProxyRequest{Headers: map[string]string{"Idempotency-Key": c.key},
			Body: c.body, IsBase64Encoded: c.base64}
		check.Is(t, call(e), c.want, c.key, c.body)
	}
}

// TestCallersOfALambdaAuthorizer: nobody gets another one's response, also where the authorizer
// names no principal, as in the simple responses of HTTP APIs.
func TestCallersOfALambdaAuthorizer(t *testing.T) {
	as := func(given map[string]any) events.APIGatewayV2HTTPRequest {
		e := post("k", "/orders", "")
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			Lambda: given,
		}
		return e
	}
	for name, c := range map[string]struct {
		options *deduplambda.HTTPOptions
		callers []map[string]any
		want    int
	}{
		"by all that is given": {nil, []map[string]any{{"user": "alice"}, {"user": "bob"}, {"user": "alice"}, {"user": "alice", "integrationLatency": 3.0}, {}, nil}, 3},
		"by the principal":     {nil, []map[string]any{{"principalId": "alice", "at": "1"}, {"principalId": "alice", "at": "2"}, {"principalId": "bob"}}, 2},
		"by a function": {
			&deduplambda.HTTPOptions{Caller: func(given map[string]any) string { return given["user"].(string) }},
			[]map[string]any{{"user": "alice", "at": "1"}, {"user": "alice", "at": "2"},
				{"user": "bob"}, nil}, 3,
		},
	} {
		ran := 0
		h := deduplambda.HTTPv2(web(t, dedup.NewMemory(), nil),
			func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
				ran++
				return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated}, nil
			}, c.options)
		for _, given := range c.callers {
			check.Get(h(t.Context(), as(given)))
		}
		check.That(t, ran == c.want, "%s: ran %d times, want %d", name, ran, c.want)
	}
}

// TestForgottenWhateverOnErrorSays: a response of 500 and more is never remembered. OnError is
// asked for the handler's errors.
func TestForgottenWhateverOnErrorSays(t *testing.T) {
	ran := 0
	d := web(t, dedup.NewMemory(),
		&dedup.Options[string, deduplambda.Response]{OnError: func(err error) dedup.Failure {
			t.Errorf("asked for %v", err)
			return dedup.Remember
		}})
	h := deduplambda.HTTPv2(d,
		func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			ran++
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadGateway}, nil
		}, nil)
	for i := range 2 {
		got := check.Get(h(t.Context(), post("k", "/", "")))
		check.That(t, got.StatusCode == http.StatusBadGateway && ran == i+1,
			"status %d, ran %d times", got.StatusCode, ran)
	}
}

type options = dedup.Options[string, string]

var errDown = errors.New("down")

func process(t testing.TB, store dedup.Store, o *options) *dedup.Deduplicator[string, string] {
	t.Helper()
	return check.Get(dedup.New(store, "payments", o))
}

// TestNothingGiven: what must be given and is nil is an error that names it.
func TestNothingGiven(t *testing.T) {
	field := func(want string, err error) {
		t.Helper()
		check.Is(t, check.As[*dedup.InvalidError](t, err).Field, want)
	}
	ctx, d := t.Context(), process(t, dedup.NewMemory(), nil)
	id := func(s string) (string, error) { return s, nil }
	handle := func(_ context.Context, s string) (string, error) { return s, nil }
	var zero dedup.Deduplicator[string, string]
	for _, none := range []*dedup.Deduplicator[string, string]{nil, &zero} {
		field("deduplicator",
			check.Err(deduplambda.Handler(none, id, handle,
				&deduplambda.HandlerOptions[string]{MissingKey: deduplambda.RunUnprotected})(ctx, "")))
		field("deduplicator",
			check.Err(deduplambda.OnSQS(none, deduplambda.MessageID,
				func(context.Context, events.SQSMessage) (string, error) {
					return "", nil
				})(ctx, events.SQSEvent{Records: []events.SQSMessage{{}}})))
	}
	_, err := deduplambda.HTTPv2(nil,
		func(context.Context,
			events.APIGatewayV2HTTPRequest) (r events.APIGatewayV2HTTPResponse, err error) {
			return
		}, &deduplambda.HTTPOptions{MissingKey: deduplambda.RunUnprotected})(ctx, post("", "/", ""))
	field("deduplicator", err)

	field("key or handler", check.Err(deduplambda.Handler[string, string](d, id, nil, nil)(ctx, "a")))
	field("id or handler",
		check.Err(deduplambda.OnSQS[string, string](d, nil, nil)(ctx,
			events.SQSEvent{Records: []events.SQSMessage{{}}})))
	_, err = deduplambda.HTTPv2(web(t, dedup.NewMemory(), nil), nil, nil)(ctx, post("k", "/", ""))
	field("handler", err)
	field("handler",
		check.Err(deduplambda.HTTPv1(web(t, dedup.NewMemory(), nil), nil, nil)(ctx,
			events.APIGatewayProxyRequest{})))
	field("handler",
		check.Err(deduplambda.FunctionURL(web(t, dedup.NewMemory(), nil), nil, nil)(ctx,
			events.LambdaFunctionURLRequest{})))
}

// TestErrorsOfAnotherDeduplicator: an effect that uses one and returns its error has failed, and
// nothing is taken for an error of this one.
func TestErrorsOfAnotherDeduplicator(t *testing.T) {
	key := dedup.Key{ID: "elsewhere", Processor: "other"}
	all := []error{
		&dedup.NotRememberedError{Key: key, Err: dedup.ErrThrottled},
		&dedup.InvalidError{Field: "result", Problem: "cannot be encoded"},
		&dedup.InvalidError{Field: "id", Problem: "must not be empty"},
		&dedup.StillRunningError{Key: key, Until: time.Now().Add(time.Hour)},
		&dedup.PayloadMismatchError{Key: key},
		&dedup.QuarantinedError{Key: key, Attempts: 3},
		&dedup.LostError{Key: key, Attempt: 1},
		&dedup.RememberedError{Key: key, Message: "no such account"},
		&dedup.ForgetError{Reason: "status 502"}, &deduplambda.OmittedError{Key: key},
		dedup.ErrThrottled, dedup.ErrNoTime, dedup.ErrEnded,
	}
	for _, err := range slices.Clone(all) {
		all = append(all, fmt.Errorf("charge: %w", err))
	}
	for _, foreign := range all {
		t.Run(foreign.Error(), func(t *testing.T) {
			d := process(t, dedup.NewMemory(), nil)
			identity := func(s string) (string, error) { return s, nil }
			fails := func(context.Context, string) (string, error) { return "not mine", foreign }
			for range 2 {
				done, err := dedup.Each(t.Context(), d, []string{"a"}, identity, fails)
				check.That(t, done == 0 && errors.Is(err, foreign), "Each: %d done, %v", done, err)
				out, err := deduplambda.Handler(d, identity, fails, nil)(t.Context(), "b")
				check.That(t, out == "" && errors.Is(err, foreign), "Handler: %q, %v", out, err)
			}
			once, err := d.Once(t.Context(), "c",
				func(ctx context.Context) (string, error) { return fails(ctx, "") })
			check.That(t, once.Attempt == 0 && errors.Is(err, foreign), "Once: %+v, %v", once, err)
			onQueue := deduplambda.OnSQS(d, deduplambda.MessageID,
				func(context.Context, events.SQSMessage) (string, error) {
					return "", foreign
				})
			batch := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1"}}}
			check.Is(t, len(check.Get(onQueue(t.Context(), batch)).BatchItemFailures), 1)
			onHTTP := deduplambda.HTTPv2(web(t, dedup.NewMemory(), nil),
				func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
					return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusTeapot}, foreign
				}, nil)
			if got, err := onHTTP(t.Context(), post("k", "/", "")); got.StatusCode != 0 ||
				!errors.Is(err, foreign) {
				t.Errorf("HTTPv2: %d, %v", got.StatusCode, err)
			}
		})
	}
}
