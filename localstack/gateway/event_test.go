package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/gateway/gatewaytest"
	"github.com/streamsort/streamsort/localstack/template"
)

func TestEvent(t *testing.T) {
	r := httptest.NewRequest("POST", "http://here:8080/pets/a%20b?x=1&x=2&y=%20z&empty",
		strings.NewReader(`{"a":1}`))
	r.RemoteAddr = "192.0.2.7:1234"
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("X-Latin", "caf\xe9")
	r.Header.Add("X-Many", "one")
	r.Header.Add("X-Many", "two")
	r.Header.Add("Cookie", "a=1; b=2")
	r.Header.Add("Cookie", "c=3")
	r.Header.Set("User-Agent", "test/1")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261121/us-east-1/execute-api/aws4_request, SignedHeaders=host, Signature=00")
	now := time.Date(2026, 11, 21, 13, 14, 15, 123e6, time.FixedZone("", 3600))
	payload := check.Get(newEvent(r, []byte(`{"a":1}`), target{
		apiID: "a1", domain: "a1.example", routeKey: "POST /pets/{id}", path: "/pets/a b",
		stage:      template.Stage{Name: "$default", Variables: map[string]string{"v": "w"}},
		parameters: map[string]string{"id": "a b"}, iam: true,
	}, now))
	const want = `{
	 "version": "2.0", "routeKey": "POST /pets/{id}", "rawPath": "/pets/a b", "rawQueryString": "x=1&x=2&y=%20z&empty",
	 "cookies": ["a=1", "b=2", "c=3"],
	 "headers": {
	  "authorization": "AWS4-HMAC-SHA256 Credential=AKID/20261121/us-east-1/execute-api/aws4_request, SignedHeaders=host, Signature=00",
	  "content-length": "7", "content-type": "application/json; charset=utf-8", "host": "here:8080", "user-agent": "test/1",
	  "x-forwarded-for": "192.0.2.7", "x-forwarded-port": "8080", "x-forwarded-proto": "http", "x-latin": "café", "x-many": "one,two"
	 },
	 "queryStringParameters": {"x": "1,2", "y": " z", "empty": ""},
	 "requestContext": {
	  "accountId": "000000000000", "apiId": "a1",
	  "authorizer": {"iam": {"accessKey": "AKID", "accountId": "000000000000", "callerId": "AKID", "cognitoIdentity": null,
	    "principalOrgId": null, "userArn": "arn:aws:iam::000000000000:user/AKID", "userId": "AKID"}},
	  "domainName": "a1.example", "domainPrefix": "a1",
	  "http": {"method": "POST", "path": "/pets/a b", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.7", "userAgent": "test/1"},
	  "requestId": "ID", "routeKey": "POST /pets/{id}", "stage": "$default", "time": "21/Nov/2026:12:14:15 +0000", "timeEpoch": 1795263255123
	 },
	 "pathParameters": {"id": "a b"}, "stageVariables": {"v": "w"}, "body": "{\"a\":1}", "isBase64Encoded": false
	}`
	var got, wanted map[string]any
	check.Need(t, json.Unmarshal(payload, &got) == nil && json.Unmarshal([]byte(want), &wanted) == nil,
		"not JSON: %s", payload)
	got["requestContext"].(map[string]any)["requestId"] = "ID"
	check.Is(t, cmp.Diff(wanted, got), "")
	var typed events.APIGatewayV2HTTPRequest
	err := json.Unmarshal(payload, &typed)
	check.That(t, err == nil && typed.RequestContext.Authorizer.IAM.AccessKey == "AKID",
		"as the SDK's type: %+v, %v", typed.RequestContext.Authorizer, err)
}

func TestEventPlain(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	payload := check.Get(newEvent(r, nil, target{iam: true}, time.Now()))
	var got map[string]any
	check.OK(t, json.Unmarshal(payload, &got))
	for _, name := range []string{"body", "cookies", "queryStringParameters", "pathParameters",
		"stageVariables"} {
		value, there := got[name]
		check.That(t, !there, "%s = %v; want it absent", name, value)
	}
	authorizer, _ := got["requestContext"].(map[string]any)["authorizer"].(map[string]any)
	by, _ := authorizer["iam"].(map[string]any)
	check.Is(t, by["accessKey"], unsigned, authorizer)
}

func TestBase64(t *testing.T) {
	for contentType, text := range map[string]bool{
		"application/json":                  true,
		"Application/JSON; charset=utf-8":   true,
		"application/javascript":            true,
		"application/x-www-form-urlencoded": false,
		"application/xml":                   true,
		"text/plain":                        true,
		"application/problem+json":          false,
		"":                                  false,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Content-Type", contentType)
		payload := check.Get(newEvent(r, []byte("hi"), target{}, time.Now()))
		var got event
		check.OK(t, json.Unmarshal(payload, &got))
		want := map[bool]string{true: "hi", false: "aGk="}[text]
		check.That(t, got.Body == want && got.IsBase64Encoded != text,
			"%q: body %q, base64 %v; want %q", contentType, got.Body, got.IsBase64Encoded, want)
	}
}

func TestMatch(t *testing.T) {
	routes := func(keys ...string) []template.Route {
		var out []template.Route
		for _, key := range keys {
			method, path, _ := strings.Cut(key, " ")
			if key == "$default" {
				method, path = "", ""
			}
			out = append(out, template.Route{Key: key, Method: method, Path: path})
		}
		return out
	}
	// The table of "Create routes for HTTP APIs in API Gateway", and what it leaves open.
	pets := routes("GET /pets/dog/1", "GET /pets/dog/{id}", "GET /pets/{proxy+}",
		"ANY /{proxy+}", "$default")
	cases := []struct {
		routes             []template.Route
		method, path, want string
		parameters         map[string]string
	}{
		{pets, "GET", "/pets/dog/2", "GET /pets/dog/{id}", map[string]string{"id": "2"}},
		{pets, "GET", "/pets/cat/1", "GET /pets/{proxy+}", map[string]string{"proxy": "cat/1"}},
		{pets, "POST", "/test/5", "ANY /{proxy+}", map[string]string{"proxy": "test/5"}},
		{pets, "GET", "/", "$default", nil},
		{routes("ANY /a", "GET /a"), "GET", "/a", "GET /a", nil},
		{routes("ANY /a", "GET /a"), "PUT", "/a", "ANY /a", nil},
		{routes("GET /a"), "PUT", "/a", "", nil},
		{routes("GET /a"), "GET", "/a/", "", nil},
		{routes("GET /a/{x}"), "GET", "/a/", "", nil},
		{routes("GET /a/{x}"), "GET", "/a/b%2Fc%20d", "GET /a/{x}", map[string]string{"x": "b/c d"}},
		{routes("GET /a/{x}"), "GET", "/a/%zz", "", nil},
		{routes("GET /{x}/b", "GET /a/{x}"), "GET", "/a/b", "GET /a/{x}", map[string]string{"x": "b"}},
	}
	for _, c := range cases {
		route, parameters, ok := match(c.routes, c.method, c.path)
		check.That(t, ok == (c.want != "") && route.Key == c.want,
			"%s %s: route %q, %v; want %q", c.method, c.path, route.Key, ok, c.want)
		check.That(t, maps.Equal(c.parameters, parameters), "%s %s: %v", c.method, c.path, parameters)
	}
}

func TestStage(t *testing.T) {
	a := &api{API: template.API{Stages: []template.Stage{{Name: "$default"}, {Name: "prod"}}}}
	for path, want := range map[string][2]string{
		"/messages":      {"$default", "/messages"},
		"/prod/messages": {"prod", "/messages"},
		"/prod":          {"prod", "/"},
		"/product":       {"$default", "/product"},
	} {
		stage, rest, ok := a.stage(path)
		check.That(t, ok && stage.Name == want[0] && rest == want[1],
			"stage(%q) = %q, %q, %v; want %q", path, stage.Name, rest, ok, want)
	}
	a.Stages = a.Stages[1:]
	_, _, ok := a.stage("/messages")
	check.That(t, !ok, "a path outside the only stage was taken")
}

func TestReply(t *testing.T) {
	cases := []struct {
		name, payload string
		status        int // 0 for an answer that cannot be read
		contentType   string
		body          string
	}{
		// The table of "Lambda function response for format 2.0".
		{"text", `"Hello from Lambda!"`, 200, "application/json", "Hello from Lambda!"},
		{"object", `{ "message": "Hello" }`, 200, "application/json", `{ "message": "Hello" }`},
		{"full", `{"statusCode": 201, "headers": {"Content-Type": "text/html", "X-N": 5, "x-b": true}, "body": "<p>"}`, 201, "text/html", "<p>"},
		// And what it leaves open.
		{"status alone", `{"statusCode": 204}`, 204, "default/type", ""},
		{"status as text", `{"statusCode": "404", "body": "x"}`, 404, "default/type", "x"},
		{"null fields", `{"statusCode": 200, "headers": null, "body": null, "cookies": null, "multiValueHeaders": null}`, 200, "default/type", ""},
		{"base64", `{"statusCode": 200, "isBase64Encoded": true, "body": "aGk="}`, 200, "default/type", "hi"},
		{"null", `null`, 200, "application/json", "null"},
		{"own length", `{"statusCode": 200, "headers": {"content-length": "99"}, "body": "x"}`, 200, "default/type", "x"},
		{"nothing", ``, 0, "", ""},
		{"status 99", `{"statusCode": 99}`, 0, "", ""},
		{"body object", `{"statusCode": 200, "body": {}}`, 0, "", ""},
		{"headers list", `{"statusCode": 200, "headers": []}`, 0, "", ""},
		{"header object", `{"statusCode": 200, "headers": {"x": {}}}`, 0, "", ""},
		{"bad base64", `{"statusCode": 200, "isBase64Encoded": true, "body": "?"}`, 0, "", ""},
		{"cookies text", `{"statusCode": 200, "cookies": "a=1"}`, 0, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := newReply([]byte(c.payload), "default/type")
			if c.status == 0 {
				check.That(t, err != nil, "reply = %+v; want an error", got)
				return
			}
			check.OK(t, err)
			w := httptest.NewRecorder()
			got.write(w)
			check.That(t, w.Code == c.status && w.Header().Get("Content-Type") == c.contentType &&
				w.Body.String() == c.body, "reply = %d %q %q; want %d %q %q", w.Code,
				w.Header().Get("Content-Type"), w.Body, c.status, c.contentType, c.body)
		})
	}
}

func TestReplyCookies(t *testing.T) {
	got, err := newReply(
		[]byte(`{"statusCode": 200, "cookies": ["a=1; Secure", "b=2"], "headers": {"x-n": 5}}`), "")
	check.OK(t, err)
	w := httptest.NewRecorder()
	got.write(w)
	cookies := strings.Join(w.Header()["Set-Cookie"], "|")
	check.That(t, cookies == "a=1; Secure|b=2" && w.Header().Get("X-N") == "5", "%v", w.Header())
}

const testIssuer = "https://tokens.example/pool"

type claims = map[string]any

// TestVerify holds tokens to what API Gateway's documentation says of them.
func TestVerify(t *testing.T) {
	issuer := gatewaytest.NewIssuer(t)
	keys := NewKeys(map[string]string{testIssuer: listen(t, issuer)})
	good := func(more claims) claims {
		all := claims{"iss": testIssuer, "aud": "shop", "org": "acme"}
		for name, value := range more {
			if all[name] = value; value == nil {
				delete(all, name)
			}
		}
		return all
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	check.OK(t, err)
	now := time.Now()
	head, body, _ := strings.Cut(issuer.Sign(good(nil)), ".")
	_, signature, _ := strings.Cut(body, ".")
	tampered := head + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+testIssuer+
			`","aud":"shop","org":"globex","exp":9999999999}`)) + "." + signature
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"key-1"}`)) + "." +
		strings.Split(body, ".")[0] + "."
	for name, c := range map[string]struct {
		token  string
		scopes []string
		want   string // of the error; empty: let in
	}{
		"good":                 {issuer.Sign(good(nil)), nil, ""},
		"with Bearer":          {"Bearer " + issuer.Sign(good(nil)), nil, ""},
		"one of the audiences": {issuer.Sign(good(claims{"aud": []string{"x", "desk"}})), nil, ""},
		"client_id":            {issuer.Sign(good(claims{"aud": nil, "client_id": "shop"})), nil, ""},
		"a scope":              {issuer.Sign(good(claims{"scope": "a put"})), []string{"put", "b"}, ""},
		"scopes of a list":     {issuer.Sign(good(claims{"scp": []string{"put"}})), []string{"put"}, ""},

		"no token":              {"AWS4-HMAC-SHA256 Credential=AKID/x", nil, "no token"},
		"not signed":            {none, nil, "no token"},
		"signed by a secret":    {issuer.SignAs(jose.HS256, []byte("0123456789abcdef0123456789abcdef"), good(nil)), nil, "no token"},
		"signed by another":     {issuer.SignAs(jose.RS256, other, good(nil)), nil, "cryptographic"},
		"altered":               {tampered, nil, "cryptographic"},
		"of another issuer":     {issuer.Sign(good(claims{"iss": testIssuer + "/"})), nil, "the issuer is"},
		"for another audience":  {issuer.Sign(good(claims{"aud": "books"})), nil, "the audience is"},
		"for none":              {issuer.Sign(good(claims{"aud": nil})), nil, "the audience is"},
		"aud before client_id":  {issuer.Sign(good(claims{"aud": "books", "client_id": "shop"})), nil, "the audience is"},
		"over":                  {issuer.Sign(good(claims{"exp": now.Add(-time.Second).Unix()})), nil, "exp is"},
		"without an end":        {issuer.Sign(good(claims{"exp": "never"})), nil, "exp is"},
		"not yet":               {issuer.Sign(good(claims{"nbf": now.Add(time.Minute).Unix()})), nil, "nbf is"},
		"of tomorrow":           {issuer.Sign(good(claims{"iat": now.Add(time.Hour).Unix()})), nil, "iat is"},
		"without the scope":     {issuer.Sign(good(claims{"scope": "putt"})), []string{"put"}, "scopes"},
		"scope before scp":      {issuer.Sign(good(claims{"scope": "a", "scp": []string{"put"}})), []string{"put"}, "scopes"},
		"without a scope claim": {issuer.Sign(good(nil)), []string{"put"}, "scopes"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", c.token)
		verified, err := keys.verify(r,
			template.JWT{Issuer: testIssuer, Audience: []string{"shop", "desk"}, Scopes: c.scopes}, now)
		check.That(t, c.want != "" || err == nil && verified.Claims["org"] == "acme",
			"%s: %+v, %v", name, verified, err)
		check.That(t, c.want == "" || err != nil && strings.Contains(err.Error(), c.want),
			"%s: %+v, %v; want %q", name, verified, err, c.want)
	}
}

// A claim is a text, whatever it was.
func TestClaims(t *testing.T) {
	issuer := gatewaytest.NewIssuer(t)
	address := listen(t, issuer)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", issuer.Sign(claims{
		"iss": address, "aud": "shop", "iat": 1, "exp": 9999999999, "n": 7, "list": []any{"a", "b", 1},
		"yes": true, "x": claims{"y": 1},
	}))
	// No address is given: the issuer tells where its keys are.
	verified, err := NewKeys(nil).verify(r,
		template.JWT{Issuer: address, Audience: []string{"shop"}}, time.Now())
	check.OK(t, err)
	want := map[string]string{
		"iss": address, "aud": "shop", "iat": "1", "exp": "9999999999", "n": "7", "list": "[a b 1]", "yes": "true", "x": `{"y":1}`,
	}
	check.Is(t, cmp.Diff(want, verified.Claims), "")
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
