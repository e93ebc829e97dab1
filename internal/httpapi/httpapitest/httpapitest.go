// Package httpapitest is a client for tests of functions behind an API: it makes the events of API
// Gateway ([V2], [V1]), calls the handler, and holds every answer to the contract,
// docs/openapi.yaml ([Client.Request]).
package httpapitest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/httpapi"
)

// Handler is the type of the functions that Lambda calls.
type Handler = func(context.Context, json.RawMessage) (json.RawMessage, error)

// Client calls a handler.
type Client struct {
	t      testing.TB
	handle Handler
	router routers.Router
}

// contract is docs/openapi.yaml, which is read once.
var contract = sync.OnceValues(func() (*openapi3.T, error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	read, err := openapi3.NewLoader().LoadFromFile(filepath.Join(root, "docs", "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	return read, read.Validate(context.Background())
})

// Contract returns docs/openapi.yaml.
func Contract(t testing.TB) *openapi3.T {
	t.Helper()
	read := check.Get(contract())
	return read
}

// Routes holds a function's routes to the contract: each is in it, and it has no other methods of
// their resources, but for those that are shared with another function.
func Routes(t testing.TB, routes []httpapi.Route, shared ...string) {
	t.Helper()
	answered := map[string]bool{}
	for _, r := range routes {
		answered[r.Method+" "+r.Resource] = true
	}
	for _, r := range routes {
		path := Contract(t).Paths.Value("/" + r.Resource)
		if r.Resource == "" {
			continue
		}
		if path == nil || path.GetOperation(r.Method) == nil {
			t.Errorf("%s /%s is not in the contract", r.Method, r.Resource)
			continue
		}
		for method := range path.Operations() {
			check.That(t, answered[method+" "+r.Resource] || slices.Contains(shared, r.Resource),
				"%s /%s is in the contract, and not answered", method, r.Resource)
		}
	}
}

// New returns a Client of a handler.
func New(t testing.TB, handle Handler) *Client {
	t.Helper()
	router := check.Get(gorillamux.NewRouter(Contract(t)))
	return &Client{t: t, handle: handle, router: router}
}

// Answer is what came back.
type Answer struct {
	Status  int
	Headers map[string]string
	Body    string
}

// V2 is the event of an HTTP API, payload format 2.0, and of a function URL.
func V2(method, path, query, body string, base64Encoded bool) string {
	event := map[string]any{
		"version": "2.0", "routeKey": method + " " + path, "rawPath": path, "rawQueryString": query,
		"headers":        map[string]string{"content-type": "application/json", "host": "id.execute-api.us-east-1.amazonaws.com"},
		"requestContext": map[string]any{"accountId": "123456789012", "stage": "$default", "http": map[string]any{"method": method, "path": path}},
		"body":           body, "isBase64Encoded": base64Encoded,
	}
	raw, _ := json.Marshal(event)
	return string(raw)
}

// V1 is the event of a REST API.
func V1(method, path string, query url.Values, body string) string {
	one := map[string]string{}
	for name, values := range query {
		one[name] = values[len(values)-1]
	}
	event := map[string]any{
		"resource": path, "path": "/prod" + path, "httpMethod": method,
		"headers":                         map[string]string{"Content-Type": "application/json; charset=utf-8"},
		"queryStringParameters":           one,
		"multiValueQueryStringParameters": query,
		"requestContext":                  map[string]any{"stage": "prod", "httpMethod": method, "identity": map[string]any{"sourceIp": "127.0.0.1"}},
		"body":                            body, "isBase64Encoded": false,
	}
	raw, _ := json.Marshal(event)
	return string(raw)
}

// Invoke calls the handler with an event, and returns what it answers.
func (c *Client) Invoke(event string) string {
	c.t.Helper()
	raw, err := c.handle(c.t.Context(), json.RawMessage(event))
	check.Need(c.t, err == nil, "%s: a function error: %v", event, err)
	return string(raw)
}

// Raw calls the handler with an event of API Gateway.
func (c *Client) Raw(event string) Answer {
	c.t.Helper()
	var r struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Body       string            `json:"body"`
	}
	check.OK(c.t, json.Unmarshal([]byte(c.Invoke(event)), &r))
	return Answer{r.StatusCode, r.Headers, r.Body}
}

// Request makes a request of an HTTP API, and holds the answer to the contract.
func (c *Client) Request(method, path, query, body string) Answer {
	c.t.Helper()
	a := c.Raw(V2(method, path, query, body, false))
	c.Check(method, path, query, body, a)
	return a
}

// Check holds an answer, and the request where it was taken, to the contract.
func (c *Client) Check(method, path, query, body string, a Answer) {
	c.t.Helper()
	request := httptest.NewRequest(method, path+"?"+query, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	route, parameters, err := c.router.FindRoute(request)
	if err != nil {
		return // no such route: there is nothing in the contract to hold it to
	}
	in := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: parameters, Route: route,
		// API Gateway authorises the caller.
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if a.Status < 300 {
		if err := openapi3filter.ValidateRequest(c.t.Context(), in); err != nil {
			c.t.Errorf("a request that is answered %d is not in the contract: %v", a.Status, err)
		}
	}
	header := http.Header{}
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	err = openapi3filter.ValidateResponse(c.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.Status, Header: header,
		Body: io.NopCloser(strings.NewReader(a.Body)),
	})
	check.That(c.t, err == nil,
		"the answer %d to %s %s is not in the contract: %v\n%s", a.Status, method, path, err, a.Body)
}

// Want fails the test where an answer has not the status, or its body not the parts.
func (c *Client) Want(what string, a Answer, status int, parts ...string) {
	c.t.Helper()
	check.That(c.t, a.Status == status, "%s: status %d, want %d: %s", what, a.Status, status, a.Body)
	for _, part := range parts {
		check.That(c.t, strings.Contains(a.Body, part), "%s: no %s in %s", what, part, a.Body)
	}
}

// RequestAs is Request under a token whose claim has this value.
func (c *Client) RequestAs(claim, value, method, path, query, body string) Answer {
	c.t.Helper()
	caller := check.Get(
		json.Marshal(map[string]any{"jwt": map[string]any{"claims": map[string]string{claim: value}}}))
	event := V2(method, path, query, body, false)
	a := c.Raw(strings.Replace(event, `"requestContext":{`,
		`"requestContext":{"authorizer":`+string(caller)+`,`, 1))
	c.Check(method, path, query, body, a)
	return a
}
