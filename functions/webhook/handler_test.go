package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/webhook"
	"github.com/streamsort/streamsort/pkg/cursor"
)

const sources = `{"sources": [
  {"name": "github", "preset": "github", "order": "arrival", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/github",
   "queue": "repository.full_name | 'other'", "attributes": {"event": "@header(X-GitHub-Event)"}},
  {"name": "stripe", "preset": "stripe", "order": "arrival", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/stripe",
   "queue": "'stripe'", "maxBody": 1000},
  {"name": "shop", "preset": "shopify", "order": "arrival", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/shop",
   "queue": "@header(X-Shopify-Shop-Domain)", "prefix": "shops/"},
  {"name": "svix", "preset": "standard", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/svix",
   "queue": "data.account", "key": "timestamp", "keyType": "time"},
  {"name": "slack", "preset": "slack", "order": "arrival", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/slack",
   "queue": "'slack'"},
  {"name": "quiet", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/quiet", "id": "event_id",
   "signature": {"header": "X-Slack-Signature", "prefix": "v0=", "timestampHeader": "X-Slack-Request-Timestamp", "template": "v0:{timestamp}:{body}"}},
  {"name": "meta", "preset": "meta", "order": "arrival", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/meta",
   "verifyToken": "arn:aws:ssm:eu-west-1:123456789012:parameter/meta-token", "queue": "'meta'"},
  {"name": "grid", "challenge": "cloudevents", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/grid",
   "signature": {"header": "Authorization", "prefix": "Bearer ", "encoding": "token"}, "queue": "'grid'", "id": "id"},
  {"name": "ledger", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/ledger",
   "signature": {"header": "X-Sig", "encoding": "base64"}, "queue": "account", "seq": "n"},
  {"name": "raw", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/raw",
   "signature": {"header": "X-Sig"}, "queue": "'raw'", "id": "@digest"},
  {"name": "cms", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/cms",
   "signature": {"header": "X-Sig"}, "queue": "page", "prefix": "cms/", "id": "id", "key": "at,kind", "keyType": "time,rank(*.created|*)", "prev": "before"},
  {"name": "free", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/free",
   "signature": {"header": "X-Sig"}, "queue": "q", "prefix": "", "id": "@digest"},
  {"name": "acme", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/acme",
   "signature": {"header": "X-Sig"}, "queue": "q", "prefix": "@acme/", "id": "@digest"},
  {"name": "page", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/page",
   "signature": {"header": "X-Sig"}, "each": "entry[]", "queue": "@event.object", "id": "id", "key": "time | @received", "keyType": "time"},
  {"name": "mandrill", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/mandrill",
   "signature": {"header": "X-Sig"}, "each": "@form(mandrill_events)[]", "queue": "'mail'", "id": "_id", "attributes": {"event": "event"}}
]}`

const canary = "canary secret of this test"

func base64Of(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

func sign(text string) []byte {
	mac := hmac.New(sha256.New, []byte(canary))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

type server struct {
	*httpapitest.Client
	t       *testing.T
	service *service
	memory  *cursor.Store
	sorter  *cursor.Sorter
	// logs are what the function prints: lines of its log, and metrics.
	logs  bytes.Buffer
	now   time.Time
	value string
	err   error
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, memory: cursor.NewMemory(), now: time.Unix(1_700_000_000, 0), value: canary}
	runtimetest.Logs(t, &s.logs)
	service := newService(t, s.memory, func() time.Time {
		return s.now
	}, func(context.Context, secret.Reference) (string, error) { return s.value, s.err })
	s.service, s.sorter = service, service.sorter
	s.Client = httpapitest.New(t, runtime.Around(&s.logs, runtime.Headroom, service.api().Handle))
	return s
}

func newService(t testing.TB, memory *cursor.Store, clock func() time.Time,
	fetch func(context.Context, secret.Reference) (string, error)) *service {
	t.Helper()
	sorter := check.Get(cursor.New(memory, &cursor.Options{Now: clock}))
	all := check.Get(webhook.Read([]byte(sources), nil))
	return &service{sorter: sorter, sources: byName(all), now: clock,
		secrets: secret.NewCache(fetch, clock)}
}

type request struct {
	source, body string
	headers      map[string]string
	binary       bool // API Gateway passes the body on in base64
}

func (s *server) send(r request) httpapitest.Answer {
	s.t.Helper()
	headers := map[string]string{"content-type": "application/json"}
	for name, value := range r.headers {
		headers[strings.ToLower(name)] = value
	}
	return s.ask("POST", r.source, "", headers, r.body, r.binary)
}

func (s *server) ask(method, source, query string, headers map[string]string, body string,
	binary bool) httpapitest.Answer {
	s.t.Helper()
	path, sent := "/webhooks/"+source, body
	if binary {
		sent = base64Of([]byte(body))
	}
	a := s.Raw(string(check.Get(json.Marshal(map[string]any{
		"version": "2.0", "routeKey": method + " /webhooks/{source}", "rawPath": path, "rawQueryString": query, "headers": headers,
		"requestContext": map[string]any{"http": map[string]any{"method": method, "path": path}},
		"body":           sent, "isBase64Encoded": binary,
	}))))
	// The contract's checker sends no body of another type.
	if method != "POST" || headers["content-type"] == "application/json" {
		s.Check(method, path, query, body, a)
	}
	return a
}

// signed is a request to a source whose signature is in X-Sig.
func signed(source, body string) request {
	return request{source: source, body: body,
		headers: map[string]string{"X-Sig": hex.EncodeToString(sign(body))}}
}

func ledger(body string) request {
	return request{source: "ledger", body: body,
		headers: map[string]string{"X-Sig": base64Of(sign(body))}}
}

func github(id, body string) request {
	return request{source: "github", body: body, headers: map[string]string{
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(sign(body)), "X-GitHub-Delivery": id, "X-GitHub-Hook-ID": "7", "X-GitHub-Event": "push",
	}}
}

func (s *server) svix(id, body string) request {
	seconds := strconv.FormatInt(s.now.Unix(), 10)
	return request{source: "svix", body: body, headers: map[string]string{
		"Webhook-Id": id, "Webhook-Timestamp": seconds, "Webhook-Signature": "v1," + base64Of(sign(id+"."+seconds+"."+body)),
	}}
}

func (s *server) stripe(at time.Time, body string) request {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return request{source: "stripe", body: body, headers: map[string]string{
		"Stripe-Signature": "t=" + seconds + ",v1=" + hex.EncodeToString(sign(seconds+"."+body)),
	}}
}

func (r request) with(header, value string) request {
	r.headers = maps.Clone(r.headers)
	if r.headers[header] = value; value == "" {
		delete(r.headers, header)
	}
	return r
}

func (s *server) counts(metrics ...string) {
	s.t.Helper()
	for _, metric := range metrics {
		check.Has(s.t, s.logs.String(), metric)
	}
}

// stored are the messages of a queue, each as "seq id body".
func (s *server) stored(queue string) string {
	s.t.Helper()
	it, err := s.sorter.Status(s.t.Context(), queue)
	if errors.Is(err, cursor.ErrNoQueue) {
		return "no queue"
	}
	check.OK(s.t, err)
	var all []string
	for m, err := range s.sorter.Read(s.t.Context(), queue, 0, it.Position) {
		check.OK(s.t, err)
		all = append(all, fmt.Sprintf("%d %s %s%s%s", m.Seq, m.ID, m.Body, m.ContentType,
			m.Attributes["event"]))
	}
	return strings.Join(all, "; ")
}

func (s *server) wantStored(queue, want string) {
	s.t.Helper()
	check.Is(s.t, s.stored(queue), want, queue)
}

func TestGitHub(t *testing.T) {
	s := newServer(t)
	const one, two = `{"repository":{"full_name":"o/r"},"n": 1}`,
		`{"repository":{"full_name":"o/r"},"n":2}`
	s.Want("first", s.send(github("a", one)), 200,
		`{"status":200,"outcome":"advanced","queue":"github/o/r"}`)
	s.Want("second, as base64",
		s.send(request{source: "github", body: two, headers: github("b", two).headers, binary: true}),
		200, "advanced")
	s.Want("again", s.send(github("a", one)), 200,
		`{"status":200,"outcome":"duplicate","queue":"github/o/r"}`)
	s.Want("again with another body", s.send(github("a", two)), 200, `"outcome":"duplicate"`)
	s.Want("no repository", s.send(github("c", `{"organization":{}}`)), 200, "advanced")
	s.wantStored("github/o/r", `1 a/7 `+one+`push; 2 b/7 `+two+`push`)
	s.wantStored("github/other", `1 c/7 {"organization":{}}push`)
	s.counts(`"WebhooksAccepted":1`, `"MessagesStored":1`, `"Duplicates":1`, `"Conflicts":1`)
}

// TestStandardWebhooks: a sender's messages come in the order of their own times.
func TestStandardWebhooks(t *testing.T) {
	s := newServer(t)
	s.value = "whsec_" + base64Of([]byte(canary))
	first := s.svix("msg_1", `{"type":"user.created","timestamp":"2022-11-03T20:26:10Z","data":{"account":"a"}}`)
	s.Want("one", s.send(first), 202, "waiting", "svix/a")
	s.Want("again", s.send(first), 200, "duplicate", "svix/a")
	s.Want("under another id", s.send(first.with("Webhook-Id", "msg_2")), 401)
	s.value = canary
	s.now = s.now.Add(time.Hour)
	s.Want("a secret that does not fit the scheme", s.send(s.svix("msg_3", `{}`)), 503)
	s.Want("the same at once again", s.send(s.svix("msg_3", `{}`)), 503)
	if logged := s.logs.String(); !strings.Contains(logged, "secret 1 of 1 is not whsec_") ||
		strings.Contains(logged, canary) {
		t.Error("the log does not say what is wrong, or has the secret")
	}
}

// A source whose requests have keys: they wait, and come out by their keys.
func TestASourceWithKeys(t *testing.T) {
	s := newServer(t)
	cms := func(body string) request { return signed("cms", body) }
	const updated, created = `{"page":"p","id":1,"at":1700000000,"kind":"page.updated","before":7}`,
		`{"page":"p","id":2,"at":"2023-11-14T22:13:20Z","kind":"page.created"}`
	s.Want("first", s.send(cms(updated)), 202, `{"status":202,"outcome":"waiting","queue":"cms/p"}`)
	s.Want("again", s.send(cms(updated)), 200, `{"status":200,"outcome":"duplicate","queue":"cms/p"}`)
	s.Want("created", s.send(cms(created)), 202)
	s.Want("again with another body", s.send(cms(created[:len(created)-1]+`,"attempt":2}`)), 200,
		`"outcome":"duplicate"`)
	s.Want("a malformed key", s.send(cms(`{"page":"p","id":3,"at":1700000000,"kind":{}}`)), 400,
		`"field":"key"`, "part 2 of 2")
	s.Want("no JSON", s.send(cms(updated).with("Content-Type", "text/plain")), 415, "not-json")
	s.now = s.now.Add(5 * time.Second)
	did, err := s.sorter.Settle(t.Context(), "cms/p", sortkey.EverySortKey)
	check.Need(t, err == nil && did.Unlinked == 1, "%+v, %v", did, err)
	s.wantStored("cms/p", `1 2 `+created+`; 2 1 `+updated)
	const ahead = `{"page":"p","id":4,"at":"2099-01-01T00:00:00Z","kind":"page.created"}`
	s.Want("a clock that is ahead", s.send(cms(ahead)), 202,
		`{"status":202,"outcome":"waiting","queue":"cms/p","clockAhead":true}`)
	s.now = s.now.Add(time.Second)
	s.Want("again", s.send(cms(ahead)), 200, `"outcome":"duplicate"`, `"clockAhead":true`)
	check.Has(t, s.logs.String(), `"ClocksAhead":1`)
	s.Want("late", s.send(cms(`{"page":"p","id":0,"at":1,"kind":"page.created"}`)), 200,
		`{"status":200,"outcome":"advanced","queue":"cms/p"}`)
}

// A sender that has not signed is answered the same, whatever is wrong and whether or not there is
// such a source, and nothing is stored.
func TestRefused(t *testing.T) {
	s := newServer(t)
	const body = `{"repository":{"full_name":"o/r"}}`
	good := github("a", body)
	flipped := good
	flipped.body = strings.Replace(body, "o/r", "o/s", 1)
	broken := good
	broken.body = "{canary"
	nobody := good
	nobody.source = "nobody"
	for name, r := range map[string]request{
		"no signature":               good.with("X-Hub-Signature-256", ""),
		"a wrong one":                good.with("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64)),
		"another body":               flipped,
		"a broken body":              broken,
		"a form":                     flipped.with("Content-Type", "application/x-www-form-urlencoded"),
		"unknown source":             nobody,
		"too old":                    s.stripe(s.now.Add(-301*time.Second), `{"id":"a"}`),
		"too large for its source":   {source: "stripe", body: `"` + strings.Repeat("a", 2000) + `"`},
		"an Idempotency-Key of 2 KB": flipped.with("Idempotency-Key", strings.Repeat("k", 2000)),
	} {
		a := s.send(r)
		const want = `{"code":"not-signed","status":401,"title":"The request is not signed as it must be","type":"https://streamsort.dev/problems/not-signed"}`
		check.That(t, a.Status == 401 && a.Body == want, "%s: %d %s", name, a.Status, a.Body)
	}
	s.wantStored("github/o/r", "no queue")
	s.wantStored("stripe", "no queue")
	s.counts(`"WebhooksRefused":1`, `"WebhooksUnknown":1`)
	check.That(t, !strings.Contains(s.logs.String(), `"WebhooksAccepted"`) &&
		!strings.Contains(s.logs.String(), "nobody"),
		"something was accepted, or what a stranger sent is in the log")
}

// To what is signed and cannot be taken, the answer says what is wrong.
func TestNotUnderstood(t *testing.T) {
	s := newServer(t)
	huge := strings.Repeat("a", 2000)
	for name, test := range map[string]struct {
		request
		status int
		// code is that of the problem, field what is wrong, names what its text has to name.
		code, field, names string
	}{
		"no JSON":         {github("a", `{"repository":`), 400, "malformed", "body", ""},
		"no UTF-8":        {request{source: "github", body: "\"\xff\"", binary: true, headers: github("a", "\"\xff\"").headers}, 400, "malformed", "body", ""},
		"a form":          {github("a", "payload=%7B%7D").with("Content-Type", "application/x-www-form-urlencoded"), 415, "not-json", "content-type", ""},
		"no id":           {github("", `{}`), 400, "missing", "id", "X-GitHub-Delivery"},
		"too large":       {s.stripe(s.now, `{"id":"`+huge+`"}`), 413, "too-large", "body", "1000"},
		"no seq":          {ledger(`{"account":"a"}`), 400, "missing", "seq", ""},
		"huge":            {github("a", `{"a":"`+strings.Repeat("a", 400_000)+`"}`), 413, "too-large", "body", "358400"},
		"larger than all": {github("a", strings.Repeat("a", 7<<20)), 413, "too-large", "request body", ""},
	} {
		s.Want(name, s.send(test.request), test.status, `"code":"`+test.code+`"`,
			`"field":"`+test.field+`"`, test.names)
	}
	for _, queue := range []string{"github/other", "stripe", "ledger/a"} {
		s.wantStored(queue, "no queue")
	}
	s.counts(`"WebhooksInvalid":1`)
	// Nor can what is no webhook at all.
	got := s.Invoke(`{"queue":"q","seq":1,"body":1}`)
	check.That(t, strings.Contains(got, `"status":400`) && strings.Contains(got, "direct invoke"),
		"a direct invoke: %s", got)
	a := s.Raw(httpapitest.V2("GET", "/webhooks/github", "", "", false))
	check.That(t, a.Status == 405 && a.Headers["allow"] == "POST", "GET: %+v", a)
	check.Is(t, s.Raw(httpapitest.V2("POST", "/webhooks/github", "", "!", true)).Status, 400)
}

// A store of secrets that fails accepts nothing, refuses nothing for good, and says so to the
// sender.
func TestSecretsCannotBeHad(t *testing.T) {
	s := newServer(t)
	s.err = errors.New("the store answers 400 AccessDeniedException")
	a := s.send(github("a", `{}`))
	s.Want("no secrets", a, 503, "problems/unavailable")
	check.That(t, a.Headers["retry-after"] == "1" &&
		!strings.Contains(a.Body, "AccessDenied"), "%+v", a)
	s.wantStored("github/other", "no queue")
	check.That(t, strings.Contains(s.logs.String(), "AccessDeniedException") &&
		strings.Contains(s.logs.String(), `"Errors":1`),
		"it is not logged")
	s.err = nil
	s.now = s.now.Add(time.Second)
	s.Want("a second later", s.send(github("a", `{}`)), 200, "advanced")
	// A secret that its scheme cannot use is its sender's trouble alone. The start logs it, and a
	// direct invoke reports each.
	s.value = canary
	s.service.checkSecrets()
	check.Has(t, s.logs.String(), "secret arn:aws:ssm:eu-west-1:123456789012:parameter/svix: secret 1 of 1 is not whsec_ and 16 bytes or more in base64, as the scheme has it")
	check.That(t, !strings.Contains(s.logs.String(), canary), "logs the secret: %s", &s.logs)
	s.Want("of that sender", s.send(s.svix("msg_1", `{}`)), 503, "problems/unavailable")
	s.Want("of another one", s.send(github("b", `{}`)), 200, "advanced")
	asked := s.Invoke(`{"operation":"secrets"}`)
	for _, part := range []string{`{"source":"github"}`, `{"source":"svix","problem":"secret arn:`,
		"is not whsec_"} {
		check.Has(t, asked, part)
	}
	s.value = "short"
	s.now = s.now.Add(secret.Lifetime)
	s.logs.Reset()
	s.service.checkSecrets()
	check.That(t, strings.Contains(s.logs.String(), `"source":"meta"`) &&
		!strings.Contains(s.logs.String(), "short"), "%s", &s.logs)
	asked = s.Invoke(`{"operation":"secrets"}`)
	check.Has(t, asked, "16 to 1024 bytes")
	check.Has(t, asked, `{"source":"meta","problem":"`)
	check.That(t, !strings.Contains(asked, "short"), "shows the secret: %s", asked)
	s.err = errors.New("down")
	s.now = s.now.Add(secret.Lifetime)
	check.Has(t, s.Invoke(`{"operation":"secrets"}`), "down")
	for _, event := range []string{`{"operation":"put"}`, `{}`, `7`} {
		check.Has(t, s.Invoke(event), `"code":"misplaced"`, event)
	}
}

// A sender reaches a tenant's queues only where its description says so.
func TestTenantsQueues(t *testing.T) {
	s := newServer(t)
	send := func(source, body string) httpapitest.Answer { return s.send(signed(source, body)) }
	s.Want("any queue", send("free", `{"q":"orders"}`), 200, "advanced")
	s.Want("a tenant's", send("free", `{"q":"@acme/orders"}`), 400, `"code":"misplaced"`,
		`"field":"queue"`)
	s.Want("the tenant's own sender", send("acme", `{"q":"orders"}`), 200, "advanced")
	s.Want("the tenant's own sender, another tenant",
		send("acme", `{"q":"@other/orders"}`), 200, "advanced")
	s.wantStored("@acme/@other/orders",
		`1 `+fmt.Sprintf("%x", sha256.Sum256([]byte(`{"q":"@other/orders"}`)))+` {"q":"@other/orders"}`)
	s.wantStored("@other/orders", "no queue")
}

// Neither bodies nor secrets are printed, whatever becomes of a request.
func TestNothingIsLogged(t *testing.T) {
	s := newServer(t)
	s.send(github("a", `{"canary":1}`))
	s.send(github("a", `{"canary":2}`))
	s.send(github("a", `{canary`))
	s.send(github("a", `{"repository":{"full_name":["canary"]}}`))
	s.send(request{source: "github", body: `{"canary":3}`})
	s.value = "canary"
	s.now = s.now.Add(secret.Lifetime)
	s.send(github("a", `{"canary":4}`))
	text := s.logs.String()
	check.That(t, !strings.Contains(text, "canary") && strings.Contains(text, "refused") &&
		strings.Contains(text, "has not from 16"), "log:\n%s", text)
}

// TestStart: a function without its sources does not start, and says so beside what else is wrong.
func TestStart(t *testing.T) {
	t.Setenv("LAMBDA_TASK_ROOT", t.TempDir())
	t.Setenv("STREAMSORT_MESSAGES_TABLE", "")
	for _, want := range []string{webhook.File, "STREAMSORT_MESSAGES_TABLE is not set"} {
		check.Has(t, fmt.Sprint(check.Err(runtime.New(io.Discard, newHandler))), want)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add("/webhooks/github", "x-github-delivery", "a", []byte(`{"repository":{"full_name":"a"}}`))
	f.Add("/webhooks/raw", "content-type", "text/plain", []byte("\xff"))
	slog.SetDefault(slog.New(slog.DiscardHandler))
	service := newService(f, cursor.NewMemory(), time.Now,
		func(context.Context, secret.Reference) (string, error) {
			return canary, nil
		})
	handle := runtime.Around(io.Discard, runtime.Headroom, service.api().Handle)
	f.Fuzz(func(t *testing.T, path, header, value string, body []byte) {
		headers := map[string]string{
			"x-hub-signature-256": "sha256=" + hex.EncodeToString(sign(string(body))), "x-sig": hex.EncodeToString(sign(string(body))),
			"content-type": "application/json", "x-github-delivery": "d",
		}
		headers[strings.ToLower(header)] = value
		event := check.Get(json.Marshal(map[string]any{
			"rawPath": path, "headers": headers, "body": base64.StdEncoding.EncodeToString(body), "isBase64Encoded": true,
			"requestContext": map[string]any{"http": map[string]any{"method": "POST"}},
		}))
		answer, err := handle(t.Context(), event)
		var got struct{ StatusCode int }
		check.That(t, err == nil && json.Unmarshal(answer, &got) == nil && got.StatusCode >= 200 &&
			got.StatusCode < 500,
			"%s: %s, %v", event, answer, err)
	})
}

func formOf(list string) request {
	return signed("mandrill", "mandrill_events="+url.QueryEscape(list)).with("Content-Type",
		"application/x-www-form-urlencoded")
}

// TestEach: a request with a list is a message of each element, by key of receipt where that has no
// time; a repeat is known.
func TestEach(t *testing.T) {
	s := newServer(t)
	page := signed("page", `{"object":"page","entry":[{"id":"1","time":null},{"id":"2","time":1699999999}]}`)
	s.Want("first", s.send(page), 200, `{"status":200,"results":[{"status":202,"outcome":"waiting","queue":"page/page"},{"status":202,"outcome":"waiting","queue":"page/page"}]}`)
	s.now = s.now.Add(2 * time.Second)
	s.Want("again", s.send(page), 200, `{"status":200,"results":[{"status":200,"outcome":"duplicate","queue":"page/page"},{"status":200,"outcome":"duplicate","queue":"page/page"}]}`)
	s.now = s.now.Add(time.Minute)
	check.Get(s.sorter.Settle(t.Context(), "page/page", sortkey.EverySortKey))
	s.wantStored("page/page", `1 2 {"id":"2","time":1699999999}; 2 1 {"id":"1","time":null}`)
	s.Want("one is not understood",
		s.send(signed("page", `{"object":"page","entry":[{"id":"3"},{"id":[]}]}`)), 400,
		`"field":"messages[1].id"`, "id is a list")
	s.Want("no list", s.send(signed("page", `{"object":"page"}`)), 400, `"field":"each"`,
		"the event has no entry")
	s.Want("a form", s.send(formOf(`[{"_id":"a","event":"open"},{"_id":"b"}]`)), 200,
		`"outcome":"advanced","queue":"mail"`)
	s.wantStored("mail", `1 a {"_id":"a","event":"open"}open; 2 b {"_id":"b"}`)
	// A sender's request may be larger than a message, where it is several.
	var events strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&events, `,{"id":"%d","time":%d,"text":"%s"}`, i, 1_700_000_000+i,
			strings.Repeat("x", 400))
	}
	a := s.send(signed("page", `{"object":"all","entry":[`+events.String()[1:]+`]}`))
	check.That(t, a.Status == 200 && strings.Count(a.Body, `"waiting"`) == 1500,
		"%d %.200s", a.Status, a.Body)
	s.Want("an element that is too large",
		s.send(signed("page", `{"object":"all","entry":[{"id":"a"},{"id":"b","text":"`+
			strings.Repeat("x", cursor.MaxBody)+`"}]}`)), 413, `"field":"messages[1].body"`)
}

// TestTwinsInARequest: two elements under one id are answered as in two requests.
func TestTwinsInARequest(t *testing.T) {
	s := newServer(t)
	send := func(source, list string) httpapitest.Answer {
		if source == "mandrill" {
			return s.send(formOf(list))
		}
		return s.send(signed(source, `{"object":"page","entry":`+list+`}`))
	}
	s.Want("the same, in arrival order", send("mandrill", `[{"_id":"a"},{"_id":"b"},{"_id":"a"}]`), 200, `"advanced","queue":"mail"},{"status":200,"outcome":"advanced","queue":"mail"},{"status":200,"outcome":"duplicate","queue":"mail"}]`)
	s.wantStored("mail", `1 a {"_id":"a"}; 2 b {"_id":"b"}`)
	s.Want("the same, by keys", send("page", `[{"id":"1","time":1699999999},{"id":"1","time":1699999999}]`), 200, `"waiting","queue":"page/page"},{"status":200,"outcome":"duplicate","queue":"page/page"}]`)
	s.Want("others, by keys", send("page", `[{"id":"2","time":1699999999},{"id":"2","time":1699999999,"x":1}]`), 200, `"waiting","queue":"page/page"},{"status":200,"outcome":"duplicate","queue":"page/page"`)
}

func (s *server) asked(method, source, query string, headers map[string]string) httpapitest.Answer {
	s.t.Helper()
	return s.ask(method, source, query, headers, "", false)
}

func (s *server) slackRequest(source, body string) request {
	at := strconv.FormatInt(s.now.Unix(), 10)
	return request{source: source, body: body, headers: map[string]string{
		"X-Slack-Request-Timestamp": at, "X-Slack-Signature": "v0=" + hex.EncodeToString(sign("v0:"+at+":"+body)),
	}}
}

// TestChallenges are answered for the senders alone whose sources ask for it, and none of them is
// stored.
func TestChallenges(t *testing.T) {
	s := newServer(t)
	const verify = `{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}`
	text := func(what string, a httpapitest.Answer, want string) {
		t.Helper()
		check.That(t, a.Status == 200 && a.Body == want &&
			a.Headers["content-type"] == "text/plain; charset=utf-8" &&
			a.Headers["x-content-type-options"] == "nosniff",
			"%s: %d %q %v, want %q", what, a.Status, a.Body, a.Headers, want)
	}
	text("Slack", s.send(s.slackRequest("slack", verify)),
		"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P")
	s.Want("Slack, not signed", s.send(request{source: "slack", body: verify}), 401)
	s.Want("an event of Slack",
		s.send(s.slackRequest("slack", `{"type":"event_callback","event_id":"Ev1"}`)), 200, "advanced")
	s.wantStored("slack", `1 Ev1 {"type":"event_callback","event_id":"Ev1"}`)
	s.Want("a source that does not ask", s.send(s.slackRequest("quiet", verify)), 400, `"field":"id"`)

	hub := url.Values{"hub.mode": {"subscribe"}, "hub.challenge": {"1158201444"},
		"hub.verify_token": {canary}}
	with := func(name, value string) string {
		changed := maps.Clone(hub)
		if changed.Set(name, value); value == "" {
			changed.Del(name)
		}
		return changed.Encode()
	}
	text("a hub", s.asked("GET", "meta", hub.Encode(), nil), "1158201444")
	text("the end of a subscription", s.asked("GET", "meta", with("hub.mode", "unsubscribe"), nil),
		"1158201444")
	s.Want("another token", s.asked("GET", "meta", with("hub.verify_token", canary+"x"), nil),
		401, "not-signed")
	s.Want("no token", s.asked("GET", "meta", with("hub.verify_token", ""), nil), 400,
		`"field":"hub.verify_token"`)
	s.Want("no challenge", s.asked("GET", "meta", with("hub.challenge", ""), nil), 400,
		`"field":"hub.challenge"`)
	s.Want("another mode", s.asked("GET", "meta", with("hub.mode", "denied"), nil), 400,
		`"field":"hub.mode"`)
	s.Want("two tokens", s.asked("GET", "meta", hub.Encode()+"&hub.verify_token=x", nil), 400,
		`"field":"hub.verify_token"`)
	s.Want("a source that does not ask", s.asked("GET", "github", hub.Encode(), nil), 405, "no-method")
	s.Want("no source", s.asked("GET", "nobody", hub.Encode(), nil), 405, "no-method")

	origin := map[string]string{"webhook-request-origin": "eventgrid.azure.net"}
	a := s.asked("OPTIONS", "grid", "", origin)
	text("Event Grid", a, "")
	check.That(t, a.Headers["webhook-allowed-origin"] == "eventgrid.azure.net" &&
		a.Headers["webhook-allowed-rate"] == "*",
		"headers %v", a.Headers)
	s.Want("no origin", s.asked("OPTIONS", "grid", "", nil), 400, `"field":"WebHook-Request-Origin"`)
	s.Want("an origin that is no host",
		s.asked("OPTIONS", "grid", "", map[string]string{"webhook-request-origin": "a\r\nb"}), 400)
	s.Want("a source that does not ask", s.asked("OPTIONS", "meta", "", origin), 405)
	grid := request{source: "grid", body: `{"id":1}`,
		headers: map[string]string{"Authorization": "Bearer " + canary}}
	s.Want("an event of Event Grid", s.send(grid), 200, "advanced")
	s.Want("of somebody else", s.send(grid.with("Authorization", "Bearer x")), 401)

	s.err = errors.New("down")
	s.now = s.now.Add(secret.Lifetime)
	s.Want("the token cannot be had", s.asked("GET", "meta", hub.Encode(), nil), 503)
}

// TestPackedBodies: what is signed is the body as it came, or as it was before it was packed; a
// byte order mark is signed, and not stored.
func TestPackedBodies(t *testing.T) {
	s := newServer(t)
	const body = `{"id":1}`
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(body))
	check.OK(t, w.Close())
	packed := out.String()
	for name, signed := range map[string]string{"before": body, "after": packed} {
		r := request{source: "shop", body: packed, binary: true, headers: map[string]string{
			"Content-Type": "application/json; charset=utf-8", "Content-Encoding": "gzip", "X-Shopify-Webhook-Id": name, "X-Shopify-Shop-Domain": name, "X-Shopify-Hmac-Sha256": base64Of(sign(signed)),
		}}
		s.Want(name, s.send(r), 200, "advanced")
		s.wantStored("shops/"+name, "1 "+name+" "+body)
		s.Want(name+", another", s.send(r.with("X-Shopify-Hmac-Sha256", base64Of(sign("x")))), 401)
		s.Want(name+", another encoding", s.send(r.with("Content-Encoding", "br")), 415,
			`"field":"content-encoding"`)
	}
	marked := "\xef\xbb\xbf" + body
	s.Want("marked", s.send(request{source: "shop", body: marked, headers: map[string]string{
		"Content-Type": "application/json; charset=utf-8", "Shopify-Webhook-Id": "m", "Shopify-Shop-Domain": "marked", "Shopify-Hmac-Sha256": base64Of(sign(marked)),
	}}), 200, "advanced")
	s.wantStored("shops/marked", "1 m "+body)
	// Seqs come out in order, and bytes as they came.
	s.Want("beyond a gap", s.send(ledger(`{"account":7,"n":"2"}`)), 202,
		`{"status":202,"outcome":"parked","queue":"ledger/7"}`)
	s.Want("the missing one", s.send(ledger(`{"account":7,"n":1}`)), 200, "advanced")
	s.Want("again", s.send(ledger(`{"account":7,"n":1}`)), 200, "duplicate")
	s.Want("another under its seq", s.send(ledger(`{"account":7,"n":1,"x":0}`)), 409,
		"problems/conflict", `"queue":"ledger/7"`)
	s.wantStored("ledger/7", `1  {"account":7,"n":1}; 2  {"account":7,"n":"2"}`)

	bytes := signed("raw", "\xff\x00 no text").with("Content-Type", "image/png")
	bytes.binary = true
	s.Want("bytes", s.send(bytes), 200, "advanced")
	s.Want("bytes again", s.send(bytes), 200, "duplicate")
	s.wantStored("raw",
		fmt.Sprintf("1 %x \xff\x00 no textimage/png", sha256.Sum256([]byte(bytes.body))))
}

// What a sender stores in a tenant's queues counts against that one's quota, and what it stores
// elsewhere against nobody's.
func TestQuotas(t *testing.T) {
	s := newServer(t)
	s.service.quotas = runtimetest.Quotas(func() time.Time { return s.now },
		quota.Quota{Name: "*", Limits: quota.Amounts{quota.NewQueues: 1}})
	send := func(source, body string) httpapitest.Answer { return s.send(signed(source, body)) }
	for _, body := range []string{`{"q":"a"}`, `{"q":"a","n":2}`} {
		s.Want(body, send("acme", body), 200)
	}
	over := send("acme", `{"q":"b"}`)
	s.Want("another queue", over, 429, `"code":"quota"`, `"quota":"newQueues"`)
	check.That(t, over.Headers["retry-after"] != "", "no Retry-After: %v", over.Headers)
	for _, body := range []string{`{"q":"a"}`, `{"q":"b"}`} {
		s.Want(body, send("free", body), 200)
	}
	s.now = s.now.Add(time.Minute)
	s.Want("a minute later", send("acme", `{"q":"b"}`), 200)
}
