package httpsink_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/sink/httpsink"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/lambda"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const (
	secretARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hooks-Ab12Cd"
	allow     = "127.0.0.0/8"
)

// whsec is a secret as Standard Webhooks has it.
func whsec(key string) string { return "whsec_" + base64.StdEncoding.EncodeToString([]byte(key)) }

// endpoint is one that takes requests, and what it was asked.
type endpoint struct {
	*httptest.Server
	answer func(http.ResponseWriter, *http.Request)
	asked  []request
}

type request struct {
	http.Header
	body string
}

func newEndpoint(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *endpoint {
	t.Helper()
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check.That(t, err == nil && r.Method == http.MethodPost && r.URL.String() == "/hooks?a=b",
			"%s %s: %v", r.Method, r.URL, err)
		e.asked = append(e.asked, request{r.Header, string(body)})
		if e.answer != nil {
			e.answer(w, r)
		}
	}))
	t.Cleanup(e.Close)
	t.Setenv(egress.AllowVariable, allow)
	return e
}

func says(status int, header, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if name, value, some := strings.Cut(header, ": "); some {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// open opens the sink of the endpoint, with more members.
func (e *endpoint) open(t *testing.T, more string) kind.Sink {
	t.Helper()
	u := check.Get(url.Parse(e.URL))
	return open(t, fmt.Sprintf(`{"url":"%s/hooks?a=b","ports":[%s]%s}`, e.URL, u.Port(), more))
}

func open(t *testing.T, text string) kind.Sink {
	t.Helper()
	return check.Get(check.Get(settings(text)).Open(kind.Options{}))
}

func settings(text string) (kind.Settings, error) {
	return httpsink.Kind.Read([]byte(text))
}

// vault is Secrets Manager with one value.
func vault(t *testing.T, value string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if value == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"SecretString": value})
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", server.URL)
}

// TestSingle: a message is a request of its own body, with what else is known of it.
func TestSingle(t *testing.T) {
	e := newEndpoint(t, says(204, "", ""))
	b := sinktest.Batch("@acme/ö 1", `{"n":1}`, "two")
	b.Attempt, b.Rewinds = 2, 1
	b.Messages[0].ID, b.Messages[0].ContentType, b.Messages[0].Attributes = "a/1%\n",
		"application/json", map[string]string{"k": "ö\"😀"}
	key := check.Get(sortkey.ParseKeyType("number"))
	b.Messages[1].Key = check.Get(key.Key(7))
	b.Messages[1].Late, b.Messages[1].Unlinked = true, true
	b.Messages[1].Trace = cursor.Trace{
		Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1",
	}
	b = sinktest.Tracked(b, "chain")
	check.OK(t, e.open(t, `,"headers":{"X-Env":"prod"}`).Send(t.Context(), b))
	check.Need(t, len(e.asked) == 2 && e.asked[0].body == `{"n":1}` && e.asked[1].body == "two",
		"asked %+v", e.asked)
	for i, want := range []map[string]string{
		{
			"Streamsort-Seq": "1", "Streamsort-Id": "a/1%25%0A", "Streamsort-Attributes": `{"k":"\u00f6\"\ud83d\ude00"}`,
			"Content-Type": "application/json", "Streamsort-Key": "", "Streamsort-Late": "",
			"Traceparent": "", "Tracestate": "",
		},
		{
			"Streamsort-Seq": "2", "Streamsort-Id": "", "Streamsort-Attributes": "", "Content-Type": "application/json",
			"Streamsort-Key": "7", "Streamsort-Late": "true", "Streamsort-Unlinked": "true",
			"Traceparent": b.Messages[1].Trace.Parent, "Tracestate": "a=1",
		},
	} {
		for name, value := range map[string]string{
			"Streamsort-Queue": "@acme/%C3%B6%201", "Streamsort-Consumer": "c", "Streamsort-Token": "7-req", "Streamsort-Attempt": "2",
			"Streamsort-Enqueued-At": "2026-01-02T03:04:05.006Z", "Streamsort-Edge": b.Edges[i].String(), "X-Env": "prod",
			"User-Agent": "streamsort", "Webhook-Signature": "", "Idempotency-Key": "", "Accept-Encoding": "",
		} {
			want[name] = value
		}
		for name, value := range want {
			check.Is(t, e.asked[i].Get(name), value, i+1, name)
		}
	}
	attributes := []byte(e.asked[0].Get("Streamsort-Attributes"))
	check.Is(t, sinktest.Decode[map[string]string](t, attributes)["k"], "ö\"😀")
}

// TestContentTypesThatNoHeaderTakes: what a producer chose as a content type holds up no queue, and
// adds no header.
func TestContentTypesThatNoHeaderTakes(t *testing.T) {
	e := newEndpoint(t, nil)
	for _, given := range []string{"text/plain\r\nX-Evil: 1", "a\x00b",
		"text/\u00f6", " a/b", "a\x7f"} {
		b := sinktest.Batch("q", "1")
		b.Messages[0].ContentType = given
		check.OK(t, e.open(t, ``).Send(t.Context(), b))
		last := e.asked[len(e.asked)-1]
		check.Is(t, last.Get("Content-Type"), "application/octet-stream", given)
		check.That(t, last.Get("X-Evil") == "" && last.body == "1", "%q: %v", given, last)
	}
}

// TestIDs: what is sent again has the id that it had, and nothing else has it.
func TestIDs(t *testing.T) {
	e := newEndpoint(t, nil)
	first := sinktest.Batch("q", "1", "1")
	again := first
	again.Token.N, again.Attempt = 8, 2
	alone := again
	alone.To, alone.Messages = 1, again.Messages[:1]
	replayed := first
	replayed.Rewinds = 1
	other, queue, renewed := first, sinktest.Batch("q2", "1", "1"), sinktest.Batch("q", "1", "1")
	other.Consumer = "c2"
	for i := range renewed.Messages {
		renewed.Messages[i].EnqueuedAt = renewed.Messages[i].EnqueuedAt.Add(time.Millisecond)
	}
	for mode, want := range map[string]struct{ requests, ids int }{"single": {13, 10},
		"batch": {7, 6}} {
		e.asked = nil
		to := e.open(t, `,"mode":"`+mode+`"`)
		for _, b := range []delivery.Batch{first, again, alone, replayed, other, queue, renewed} {
			check.OK(t, to.Send(t.Context(), b))
		}
		ids := map[string]int{}
		for _, r := range e.asked {
			ids[r.Get("Webhook-Id")]++
		}
		check.That(t, len(e.asked) == want.requests && len(ids) == want.ids,
			"%s: %d requests have %d ids: %v", mode, len(e.asked), len(ids), ids)
	}
}

// TestStandardWebhooks: the standard's own library takes each request, by whichever of the secrets.
func TestStandardWebhooks(t *testing.T) {
	e := newEndpoint(t, nil)
	old, young := whsec("the old secret of these"), whsec("the young secret of these")
	vault(t, `["`+young+`","`+old+`"]`)
	to := e.open(t, `,"sign":{"scheme":"standard","secret":"`+secretARN+`"}`)
	bodies := append(sinktest.Bodies(20), "", "\x00\xff", strings.Repeat("x", 300_000))
	check.OK(t, to.Send(t.Context(), sinktest.Batch("q", bodies...)))
	check.Need(t, len(e.asked) == len(bodies), "%d requests, want %d", len(e.asked), len(bodies))
	for _, secret := range []string{old, young} {
		hook := check.Get(standard.NewWebhook(secret))
		for _, r := range e.asked {
			check.OK(t, hook.Verify([]byte(r.body), r.Header))
			check.That(t, hook.Verify([]byte(r.body+"x"), r.Header) != nil, "another body is taken")
		}
	}
}

func TestOtherSignatures(t *testing.T) {
	e := newEndpoint(t, nil)
	vault(t, `["the young secret of these","the old secret of these"]`)
	check.OK(t,
		e.open(t, `,"sign":{"scheme":"hmac","secret":"`+secretARN+
			`","header":"X-Hub-Signature-256","prefix":"sha256="}`).Send(t.Context(),
			sinktest.Batch("q", "body")))
	check.OK(t, e.open(t, `,"sign":{"scheme":"bearer","secret":"`+secretARN+`"}`).Send(t.Context(),
		sinktest.Batch("q", "body")))
	mac := hmac.New(sha256.New, []byte("the young secret of these"))
	mac.Write([]byte("body"))
	want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	check.Is(t, e.asked[0].Get("X-Hub-Signature-256"), want)
	check.Is(t, e.asked[1].Get("Authorization"), "Bearer the young secret of these")
}

// TestSecretsThatCannotBeHad: nothing is sent, and no message is at fault.
func TestSecretsThatCannotBeHad(t *testing.T) {
	e := newEndpoint(t, nil)
	for value, scheme := range map[string]string{"": standardScheme,
		"no base64 of any kind": standardScheme, "a secret with\x01 a control": "bearer"} {
		vault(t, value)
		err := e.open(t, `,"sign":{"scheme":"`+scheme+`","secret":"`+secretARN+`"}`).Send(t.Context(),
			sinktest.Batch("q", "1"))
		check.That(t, kind.IsAway(err) && (value == "" || !strings.Contains(err.Error(), value)),
			"%q: %v", value, err)
	}
	check.That(t, len(e.asked) <= 0, "asked %v", e.asked)
}

const standardScheme = "standard"

// TestAnswers: what becomes of a message by what the endpoint answers.
func TestAnswers(t *testing.T) {
	e := newEndpoint(t, nil)
	to := e.open(t, ``)
	host := strings.TrimPrefix(e.URL, "http://")
	for name, c := range map[string]struct {
		status       int
		header, text string
		away, final  bool
		after        time.Duration
		said         string
	}{
		"taken":                {status: 200, text: strings.Repeat("x", 100_000)},
		"taken, with no words": {status: 204},
		"a redirect":           {status: 302, header: "Location: http://127.0.0.1/", said: "302"},
		"refused":              {status: 400, text: "no such\xff field", final: true, said: "ms: no such\uFFFD field"},
		"gone":                 {status: 410, said: "410"},
		"not understood":       {status: 422, final: true, said: "422"},
		"too large":            {status: 413, header: "Retry-After: 60", final: true, after: time.Minute, said: "413"},
		"time-out":             {status: 408, away: true, said: "408"},
		"too early":            {status: 425, away: true, said: "425"},
		"slow down":            {status: 429, header: "Retry-After: 120", away: true, after: 2 * time.Minute, said: "429"},
		"in a day":             {status: 429, header: "Retry-After: 86400", away: true, after: time.Hour, said: "429"},
		"in an aeon":           {status: 429, header: "Retry-After: 99999999999999999999", away: true, said: "429"},
		"at a date":            {status: 503, header: "Retry-After: " + time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat), away: true, after: 10 * time.Minute, said: "503"},
		"at a date long ago":   {status: 503, header: "Retry-After: " + time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), away: true, said: "503"},
		"some day":             {status: 503, header: "Retry-After: soon", away: true, said: "503"},
		"a bad gateway":        {status: 502, away: true, said: "502"},
		"a slow one":           {status: 504, away: true, said: "504"},
		"it fails":             {status: 500, text: strings.Repeat("é", 100_000), said: "é…"},
	} {
		t.Run(name, func(t *testing.T) {
			e.answer = says(c.status, c.header, c.text)
			before := len(e.asked)
			err := to.Send(t.Context(), sinktest.Batch("q", "1", "2"))
			if c.said == "" {
				check.That(t, err == nil && len(e.asked) == before+2,
					"%v after %d requests", err, len(e.asked)-before)
				return
			}
			var answered *kind.AnswerError
			check.Need(t, errors.As(err, &answered) && answered.Status == c.status &&
				strings.Contains(err.Error(), c.said) && strings.HasPrefix(err.Error(), host+" answered ") &&
				len(err.Error()) <= 700, "%v; want %s", err, c.said)
			check.That(t, kind.IsAway(err) == c.away && answered.Final() == c.final,
				"away %v, final %v; want %v, %v", kind.IsAway(err), answered.Final(), c.away, c.final)
			after := time.Until(answered.RetryAt)
			if answered.RetryAt.IsZero() {
				after = 0
			}
			check.That(t, (after-c.after).Abs() <= 5*time.Second,
				"it is tried again after %s, want %s", after, c.after)
			check.That(t, len(e.asked) == before+1,
				"%d requests: the second message was sent before the first was taken", len(e.asked)-before)
		})
	}
}

// TestUnanswered: an endpoint that is not there, is too slow, or must not be asked is away; the
// error has no more of the URL than its host.
func TestUnanswered(t *testing.T) {
	e := newEndpoint(t, nil)
	gone := make(chan struct{})
	defer close(gone)
	slow := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-gone:
		}
	}
	e.answer = slow
	isAway := func(name string, err error, want string) {
		t.Helper()
		check.That(t, err != nil && kind.IsAway(err) && strings.Contains(err.Error(), want) &&
			!strings.Contains(err.Error(), "hooks"),
			"%s: %v; want %s", name, err, want)
	}
	isAway("slow", e.open(t, `,"timeout":"1s"`).Send(t.Context(), sinktest.Batch("q", "1")),
		"no answer within 1")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	isAway("no time", e.open(t, ``).Send(ctx, sinktest.Batch("q", "1")), "no answer within")
	e.answer = func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	isAway("it hangs up", e.open(t, ``).Send(t.Context(), sinktest.Batch("q", "1")), "EOF")
	to := e.open(t, ``)
	e.Close()
	isAway("not there", to.Send(t.Context(), sinktest.Batch("q", "1")), "refused")

	// A name may come to have another address after it was opened.
	err := open(t, `{"url":"https://hooks-of-nobody.localhost/hooks"}`).Send(t.Context(),
		sinktest.Batch("q", "1"))
	check.That(t, err != nil && kind.IsAway(err), "%v", err)
}

// TestAPartIsTaken: what was answered 2xx before a request that failed is done; and so is what an
// answer says of its batch.
func TestAPartIsTaken(t *testing.T) {
	e := newEndpoint(t, nil)
	for _, c := range []struct {
		settings, answer string
		fails            int // the request that does
		want             string
	}{
		{``, ``, 1, "up to 0"},
		{``, ``, 3, "up to 2"},
		{``, `{"done":1}`, 0, "taken"}, // of one message there is no part
		{`,"mode":"batch"`, `{"done":2}`, 0, "up to 2"},
		{`,"mode":"batch"`, `{"batchItemFailures":[{"itemIdentifier":"2"}]}`, 0, "up to 1"},
		{`,"mode":"batch"`, `{"batchItemFailures":[{"itemIdentifier":"nobody's"}]}`, 0, "up to 0"},
		{`,"mode":"batch"`, `{"done":true}`, 0, "taken"},
		{`,"mode":"batch"`, `{"done":1,"Done":2}`, 0, "up to 0"},
		{`,"mode":"batch"`, `{"done":5}`, 0, "up to 0"},
		{`,"mode":"batch"`, "\ufeff" + `{"done":2}`, 0, "up to 2"},
		{`,"mode":"batch","format":"cloudevents"`, `{"done":3}`, 0, "up to 3"},
		{`,"mode":"batch","format":"cloudevents","maxBytes":1024`, ``, 2, "up to"},
	} {
		e.asked = nil
		e.answer = func(w http.ResponseWriter, r *http.Request) {
			if len(e.asked) == c.fails {
				w.WriteHeader(500)
				return
			}
			_, _ = io.WriteString(w, c.answer)
		}
		err := e.open(t, c.settings).Send(t.Context(),
			sinktest.Batch("q", slices.Repeat([]string{strings.Repeat("x", 300)}, 4)...))
		got := "taken"
		var part interface {
			error
			UpTo() int64
		}
		if errors.As(err, &part) {
			got = fmt.Sprint("up to ", part.UpTo())
		}
		if got != c.want && (c.want != "up to" || part == nil || part.UpTo() < 1 || part.UpTo() > 3) {
			t.Errorf("%s, %s, %d: %s, want %s (%v)", c.settings, c.answer, c.fails, got, c.want, err)
		}
	}
}

// TestAnAnswerThatCannotBeReadWhole: it may say of a batch what was not taken; of one message the
// status says all.
func TestAnAnswerThatCannotBeReadWhole(t *testing.T) {
	long := func(n int) string {
		return `{"batchItemFailures":[{"itemIdentifier":"2","reason":"` + strings.Repeat("x", n) + `"}]}`
	}
	cut := func(status int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"done":2}`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for _, c := range []struct {
		name, mode string
		answer     func(http.ResponseWriter, *http.Request)
		want       string // a part of the error; empty: taken
		away       bool
		upTo       int64
	}{
		{"cut off", "batch", cut(200), "EOF", true, 0},
		{"cut off", "single", cut(200), "", false, 0},
		{"a failure cut off", "batch", cut(400), "answered 400", false, 0},
		{"long", "batch", says(200, "", long(900<<10)), "up to 1", false, 1},
		{"too long", "batch", says(200, "", long(1<<20)), "1048576 bytes", false, 0},
		{"too long", "single", says(200, "", long(1<<20)), "", false, 0},
	} {
		t.Run(c.mode+" "+c.name, func(t *testing.T) {
			err := newEndpoint(t, c.answer).open(t, `,"mode":"`+c.mode+`"`).Send(t.Context(),
				sinktest.Batch("q", "1", "2", "3"))
			var part interface{ UpTo() int64 }
			switch {
			case c.want == "":
				check.That(t, err == nil, "%v", err)
			case err == nil || !strings.Contains(err.Error(), c.want) || kind.IsAway(err) != c.away:
				t.Errorf("%v, away %v; want %s, %v", err, kind.IsAway(err), c.want, c.away)
			case !errors.As(err, &part) || part.UpTo() != c.upTo:
				t.Errorf("%v is not done up to %d", err, c.upTo)
			}
		})
	}
}

// TestBatch: a batch is the document that a function gets, in as many requests as its bound asks
// for.
func TestBatch(t *testing.T) {
	e := newEndpoint(t, nil)
	b := sinktest.Batch("@acme/q", strings.Repeat("x", 700), strings.Repeat("y", 700))
	check.OK(t, e.open(t, `,"mode":"batch","maxBytes":1600`).Send(t.Context(), b))
	check.Need(t, len(e.asked) == 2 && e.asked[0].Get("Webhook-Id") != e.asked[1].Get("Webhook-Id"),
		"asked %v", e.asked)
	for i, r := range e.asked {
		d := sinktest.Decode[lambda.Document](t, []byte(r.body))
		check.That(t, d.Queue == "@acme/q" && d.Tenant == "acme" && int(d.To) == i+1 &&
			len(d.Messages) == 1 && r.Get("Content-Type") == "application/json", "%+v, %v", d, r.Header)
	}
	for _, mode := range []string{"batch", "single"} {
		e.asked = nil
		err := e.open(t, `,"mode":"`+mode+`","maxBytes":1024`).Send(t.Context(),
			sinktest.Batch("q", "1", strings.Repeat("x", 1025)))
		var tooLarge *kind.TooLargeError
		check.Need(t, errors.As(err, &tooLarge), "%s: %v", mode, err)
		check.That(t, tooLarge.Seq == 2 && tooLarge.Limit == 1024, "%s: %v", mode, err)
		check.Is(t, len(e.asked), 0, mode)
	}
}

func TestConfig(t *testing.T) {
	const u = `"url":"https://example.com/hooks"`
	sign := func(members string) string { return `{` + u + `,"sign":{` + members + `}}` }
	const arn = `"secret":"` + secretARN + `"`
	var eleven []string
	for i := range 11 {
		eleven = append(eleven, fmt.Sprintf(`"X-%d":""`, i))
	}
	for text, want := range map[string]string{
		`{` + u + `}`: "",
		`{` + u + `,"mode":"batch","timeout":"1m","maxBytes":6291456,"ports":[1,65535],"headers":{"X-A":"a b"}}`: "",
		sign(`"scheme":"standard",` + arn):                                                  "",
		sign(`"scheme":"bearer","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/a"`): "",
		sign(`"scheme":"hmac","header":"X-Sig","prefix":"sha256=",` + arn):                  "",

		`{}`:                            "url is missing",
		`{"url":7}`:                     "url must be a string",
		`{` + u + `,"format":"xml"}`:    `format must be cloudevents: it is "xml"`,
		`{` + u + `,"endpoints":false}`: "endpoints must be true, or left out",
		sign(`"scheme":"bearer","header":"",` + arn):                  "sign.header is empty",
		`{"url":"https://a@b/"}`:                                      "url has a user",
		`{"url":"https://2130706433/"}`:                               "url has the host",
		`{` + u + `,"arn":"x"}`:                                       "arn is not known",
		`{` + u + `,"mode":"Batch"}`:                                  "mode must be single or batch",
		`{` + u + `,"timeout":"999ms"}`:                               "timeout must be a duration from 1s",
		`{` + u + `,"timeout":"61s"}`:                                 "timeout must be a duration from 1s",
		`{` + u + `,"timeout":10}`:                                    "timeout must be a duration from 1s to 1m0s: it is 10",
		`{` + u + `,"maxBytes":1023}`:                                 "maxBytes must be an integer from 1024 to 6291456: it is 1023",
		`{` + u + `,"maxBytes":6291457}`:                              "maxBytes must be an integer from 1024 to 6291456: it is 6291457",
		`{` + u + `,"ports":[]}`:                                      "ports must be a list of 1 to 20",
		`{` + u + `,"ports":[0]}`:                                     "ports[0] must be an integer from 1 to 65535: it is 0",
		`{` + u + `,"ports":[65536]}`:                                 "ports[0] must be an integer from 1 to 65535: it is 65536",
		`{` + u + `,"ports":["443"]}`:                                 `ports[0] must be an integer from 1 to 65535: it is "443"`,
		`{` + u + `,"ports":443}`:                                     "ports must be a list of 1 to 20",
		`{` + u + `,"headers":{"A B":""}}`:                            "headers.A B is no header",
		`{` + u + `,"headers":{"Webhook-Id":""}}`:                     "headers.Webhook-Id is no header",
		`{` + u + `,"headers":{"HOST":""}}`:                           "headers.HOST is no header",
		`{` + u + `,"headers":{"Authorization":""}}`:                  "headers.Authorization is no header",
		`{` + u + `,"headers":{"A":"\r\nB: c"}}`:                      "headers.A must be at most",
		`{` + u + `,"headers":{"A":"ö"}}`:                             "headers.A must be at most",
		`{` + u + `,"headers":{"A":1}}`:                               "headers.A must be a string",
		`{` + u + `,"headers":{"A":"1","a":"2"}}`:                     "headers.a stands there twice",
		`{` + u + `,"headers":{` + strings.Join(eleven, ",") + `}}`:   "headers has 11 members: it must have at most 10",
		`{` + u + `,"sign":7}`:                                        "sign must be a JSON object",
		sign(``):                                                      "sign.scheme is missing",
		sign(arn):                                                     "sign.scheme is missing",
		sign(`"scheme":"md5"`):                                        "sign.scheme must be standard",
		sign(`"scheme":"standard"`):                                   "sign.secret is missing",
		sign(`"scheme":"standard","secret":"whsec_"`):                 "sign.secret must be the whole ARN",
		sign(`"scheme":"hmac",` + arn):                                "sign.header is missing",
		sign(`"scheme":"hmac","header":"Content-Type",` + arn):        "sign.header must be the name",
		sign(`"scheme":"hmac","header":"X-Sig","prefix":"\n",` + arn): "sign.prefix must be",
		sign(`"scheme":"bearer","header":"X-Sig",` + arn):             "sign.header and prefix are for the scheme hmac",
		sign(`"scheme":"bearer","key":"x",` + arn):                    "sign.key is not known",
	} {
		s, err := settings(text)
		check.That(t, want == "" && err == nil || want != "" && s == nil &&
			strings.HasPrefix(fmt.Sprint(err), want), "%s: %v; want %s", text, err, want)
	}
}

// TestOpenRefuses: what is wrong with a URL is known when the function starts, and so is a
// malformed list of addresses.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ allow, url, want string }{
		{"", "http://example.com/", "url: "},
		{"", "https://127.0.0.1/", "url: "},
		{"", "https://localhost/", "url: "},
		{"", "https://[fd00:ec2::254]/", "url: "},
		{"", "https://example.com:8443/", "url: "},
		{"x", "https://example.com/", egress.AllowVariable + " has"},
		{"127.0.0.0/8", "http://169.254.169.254:443/", "url: "},
		{"127.0.0.0/8", "http://127.0.0.1:443/", ""},
	} {
		t.Setenv(egress.AllowVariable, c.allow)
		s := check.Get(settings(`{"url":"` + c.url + `"}`))
		_, err := s.Open(kind.Options{})
		check.That(t, (err == nil) == (c.want == "") && (err == nil ||
			strings.HasPrefix(err.Error(), c.want)), "%s with %q: %v", c.url, c.allow, err)
	}
}

// TestDefaults: where nothing else is said, a single message is a batch.
func TestDefaults(t *testing.T) {
	for text, want := range map[string]int{`{"url":"https://a.example/"}`: 1,
		`{"url":"https://a.example/","mode":"batch"}`: 0} {
		s := check.Get(settings(text))
		var r delivery.Reader
		_ = s.(interface{ Defaults(*delivery.Reader) error }).Defaults(&r)
		check.That(t, r.MaxMessages == want, "%s: %d messages", text, r.MaxMessages)
		r.MaxMessages = 5
		_ = s.(interface{ Defaults(*delivery.Reader) error }).Defaults(&r)
		check.That(t, r.MaxMessages == 5, "%s: %d messages, want those that are set", text, r.MaxMessages)
	}
}

// TestTheGuardIsAsked: the sink's own connections keep to the rules.
func TestTheGuardIsAsked(t *testing.T) {
	e := newEndpoint(t, nil)
	to := e.open(t, ``)
	t.Setenv(egress.AllowVariable, "10.0.0.0/8")
	s := check.Get(settings(fmt.Sprintf(`{"url":"%s/","ports":[%s]}`,
		strings.Replace(e.URL, "127.0.0.1", "localhost", 1), e.URL[strings.LastIndex(e.URL, ":")+1:])))
	inner := check.Get(s.Open(kind.Options{}))
	var forbidden *egress.ForbiddenError
	err := inner.Send(t.Context(), sinktest.Batch("q", "1"))
	check.That(t, errors.As(err, &forbidden) && len(e.asked) <= 0, "a name of this host: %v, asked %v",
		err, e.asked)
	check.OK(t, to.Send(t.Context(), sinktest.Batch("q", "1")))
	check.Is(t, e.asked[0].body, "1")
}

// TestThePageListsTheHeaders: docs/reference/events.md shows those of a request of each mode.
func TestThePageListsTheHeaders(t *testing.T) {
	page := check.Get(os.ReadFile("../../../docs/reference/events.md"))
	vault(t, whsec("0123456789abcdef0123456789abcdef"))
	e := newEndpoint(t, nil)
	b := sinktest.Batch("orders", `{"n":1}`)
	b.Messages[0].ID, b.Messages[0].Attributes = "o-1", map[string]string{"k": "v"}
	parts := strings.Split(string(page), "\n```\nwebhook-id: ")
	for i, mode := range []string{"single", "batch"} {
		e.asked = nil
		check.OK(t, e.open(t, `,"mode":"`+mode+`","sign":{"scheme":"standard","secret":"`+secretARN+`"}`).
			Send(t.Context(), b))
		var sent, listed []string
		for name := range e.asked[0].Header {
			sent = append(sent, strings.ToLower(name))
		}
		sent = slices.DeleteFunc(sent, func(name string) bool {
			return slices.Contains([]string{"accept-encoding", "content-length", "user-agent"}, name)
		})
		block, _, _ := strings.Cut("webhook-id: "+parts[min(i+1, len(parts)-1)], "\n```")
		for line := range strings.Lines(block) {
			name, _, _ := strings.Cut(line, ":")
			listed = append(listed, name)
		}
		slices.Sort(sent)
		slices.Sort(listed)
		check.That(t, slices.Equal(sent, listed),
			"%s: the page has %v, and sent were %v", mode, listed, sent)
	}
}

// TestAnEndpointDefersItsBatch: by a header beside 2xx, where the batch is one request.
func TestAnEndpointDefersItsBatch(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		header, mode string
		ended        delivery.Outcome
		cause        string
	}{
		"a message":               {202, "Streamsort-Defer-Seconds: 900", "", delivery.Deferred, ""},
		"a batch":                 {200, "Streamsort-Defer-Seconds: 2592000", `,"mode":"batch"`, delivery.Deferred, ""},
		"not deferred":            {202, "", "", delivery.Empty, ""},
		"refused":                 {400, "Streamsort-Defer-Seconds: 900", "", delivery.Wait, "answered 400"},
		"too short":               {202, "Streamsort-Defer-Seconds: 0", "", delivery.Wait, "defer is 0s: it must be from 1s to 720h0m0s"},
		"too long":                {202, "Streamsort-Defer-Seconds: 2592001", "", delivery.Wait, "defer is 720h0m1s: it must be from 1s to 720h0m0s"},
		"no number":               {202, "Streamsort-Defer-Seconds: soon", "", delivery.Wait, `for "soon": it must be a whole number of seconds`},
		"no whole number":         {202, "Streamsort-Defer-Seconds: 1.5", "", delivery.Wait, `for "1.5": it must be a whole number of seconds`},
		"far too long":            {202, "Streamsort-Defer-Seconds: 99999999999999999999", "", delivery.Wait, "it must be a whole number of seconds"},
		"one of several requests": {202, "Streamsort-Defer-Seconds: 900", "several", delivery.Wait, "to one of 2 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, says(c.status, c.header, ""))
			to := e.open(t, strings.TrimPrefix(c.mode, "several"))
			messages := 1
			if c.mode != "" {
				messages = 2
			}
			sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
			for seq := range messages {
				check.OK(t,
					sorter.Put(t.Context(),
						cursor.Message{Queue: "q", Seq: int64(seq) + 1, Body: []byte("1")})[0].Err)
			}
			d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
			done := d.Deliver(t.Context(), "q", delivery.Reader{Name: "c", Handle: to.Send}, -1)
			check.That(t, done.Err == nil && done.Outcome == c.ended &&
				(c.cause == "" || strings.Contains(done.Cause.Error(), c.cause)),
				"it ended as %s (%v, %v), want %s, %s", done.Outcome, done.Cause, done.Err, c.ended, c.cause)
			check.Is(t, len(e.asked), 1)
		})
	}
}

// TestCloudEvents: CloudEvents' own SDK reads what comes, one by one and in batches.
func TestCloudEvents(t *testing.T) {
	e := newEndpoint(t, nil)
	b := sinktest.Batch("q", `{"n": 1}`, strings.Repeat("x", 500), strings.Repeat("y", 500))
	for mode, want := range map[string]struct {
		contentType string
		requests    int
	}{"single": {"application/cloudevents+json", 3},
		"batch": {"application/cloudevents-batch+json", 2}} {
		e.asked = nil
		to := e.open(t, `,"format":"cloudevents","maxBytes":1500,"mode":"`+mode+`"`)
		check.OK(t, to.Send(t.Context(), b))
		var ids, bodies string
		for _, r := range e.asked {
			body := r.body
			if mode == "single" {
				body = "[" + body + "]"
			}
			var events []event.Event
			err := json.Unmarshal([]byte(body), &events)
			check.Need(t, err == nil && len(r.body) <= 1500, "%s: %v", body, err)
			for _, it := range events {
				check.OK(t, it.Validate())
				ids, bodies = ids+it.ID(), bodies+string(it.Data())
			}
			check.That(t, r.Get("Content-Type") == want.contentType && r.Get("Streamsort-Queue") == "q",
				"%+v", r.Header)
		}
		check.That(t, len(e.asked) == want.requests && ids == "123" &&
			bodies == `{"n": 1}`+strings.Repeat("x", 500)+strings.Repeat("y", 500),
			"%s: %d requests of %s", mode, len(e.asked), ids)
		check.That(t, e.open(t, `,"format":"cloudevents","maxBytes":1024,"mode":"`+mode+`"`).
			Send(t.Context(), sinktest.Batch("q", strings.Repeat("x", 1000))) != nil,
			"%s: one that is too large was sent", mode)
	}
}
