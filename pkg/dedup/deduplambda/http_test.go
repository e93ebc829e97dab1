package deduplambda_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduplambda"
)

// httpV1 is a handler of a REST API, and how often it ran.
func httpV1(t *testing.T, options *deduplambda.HTTPOptions) (func(events.APIGatewayProxyRequest) int, *int) {
	ran := new(int)
	handler := deduplambda.HTTPv1(web(t, dedup.NewMemory(), nil), func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		*ran++
		return events.APIGatewayProxyResponse{StatusCode: http.StatusCreated}, nil
	}, options)
	return func(e events.APIGatewayProxyRequest) int {
		e.HTTPMethod, e.Path = http.MethodPost, "/orders"
		return check.Get(handler(t.Context(), e)).StatusCode
	}, ran
}

// TestHeaderTwice: a header that comes in two cases is one key, the same one
// each time.
func TestHeaderTwice(t *testing.T) {
	call, ran := httpV1(t, nil)
	for range 50 {
		call(events.APIGatewayProxyRequest{Headers: map[string]string{"Idempotency-Key": "a", "idempotency-key": "b"}})
		call(events.APIGatewayProxyRequest{MultiValueHeaders: map[string][]string{"Idempotency-Key": {"a"}, "idempotency-key": {"b"}}})
	}
	if *ran != 1 {
		t.Errorf("ran %d times, want once", *ran)
	}
}

// TestAnotherQuery: queries that look alike when their values are written down one
// after the other are distinguished.
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

// TestBinaryBody: the payload is what the client sent, however the gateway
// wrapped it.
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
		e := events.APIGatewayProxyRequest{Headers: map[string]string{"Idempotency-Key": c.key}, Body: c.body, IsBase64Encoded: c.base64}
		check.Is(t, call(e), c.want, c.key, c.body)
	}
}

// TestCallersOfALambdaAuthorizer: nobody gets another one's response, also where
// the authorizer names no principal, as in the simple responses of HTTP APIs.
func TestCallersOfALambdaAuthorizer(t *testing.T) {
	as := func(given map[string]any) events.APIGatewayV2HTTPRequest {
		e := post("k", "/orders", "")
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: given}
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
			[]map[string]any{{"user": "alice", "at": "1"}, {"user": "alice", "at": "2"}, {"user": "bob"}, nil},
			3,
		},
	} {
		ran := 0
		h := deduplambda.HTTPv2(web(t, dedup.NewMemory(), nil), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			ran++
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated}, nil
		}, c.options)
		for _, given := range c.callers {
			check.Get(h(t.Context(), as(given)))
		}
		check.That(t, ran == c.want, "%s: ran %d times, want %d", name, ran, c.want)
	}
}

// TestHTTPContextEnds: a request whose time is over before the table answers
// may be repeated.
func TestHTTPContextEnds(t *testing.T) {
	h := deduplambda.HTTPv2(web(t, dedup.NewMemory(), &dedup.Options[string, deduplambda.Response]{Lease: time.Minute}), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		t.Error("the handler ran")
		return events.APIGatewayV2HTTPResponse{}, nil
	}, nil)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	check.Is(t, check.Get(h(ctx, post("k", "/", ""))).StatusCode, http.StatusServiceUnavailable)
}

// TestForgottenWhateverOnErrorSays: whether a response is remembered is said by
// HTTPOptions.Forget alone. OnError is asked for the handler's errors.
func TestForgottenWhateverOnErrorSays(t *testing.T) {
	ran := 0
	d := web(t, dedup.NewMemory(), &dedup.Options[string, deduplambda.Response]{OnError: func(err error) dedup.Failure {
		t.Errorf("asked for %v", err)
		return dedup.Remember
	}})
	h := deduplambda.HTTPv2(d, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		ran++
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadGateway}, nil
	}, nil)
	for i := range 2 {
		got := check.Get(h(t.Context(), post("k", "/", "")))
		check.That(t, got.StatusCode == http.StatusBadGateway && ran == i+1,
			"status %d, ran %d times", got.StatusCode, ran)
	}
}
