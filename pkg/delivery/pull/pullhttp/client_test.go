package pullhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/pullhttp"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// That the client does over HTTP what the protocol does on the tables is tested with the function
// behind the API (functions/delivery). Here is what goes wrong on the way.

// api answers one request after the other as its script says, and notes them.
type api struct {
	*pullhttp.Client
	requests []string
}

func newAPI(t *testing.T, script ...http.HandlerFunc) *api {
	t.Helper()
	a := &api{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := check.Get(io.ReadAll(r.Body))
		a.requests = append(a.requests, fmt.Sprintf("%s %s %s", r.Method, r.URL, body))
		if len(a.requests) > len(script) {
			t.Errorf("request %d, of %d expected", len(a.requests), len(script))
			return
		}
		script[len(a.requests)-1](w, r)
	}))
	t.Cleanup(server.Close)
	a.Client = check.Get(pullhttp.New(server.URL))
	return a
}

// says answers with this document.
func says(status int, document string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, document)
	}
}

// refuses answers with a problem document.
func refuses(status int, code, more string) http.HandlerFunc {
	return says(status, fmt.Sprintf(`{"status":%d,"type":"https://streamsort.dev/problems/x","code":%q,"title":"x","detail":"why"%s}`, status, code, more))
}

// loses takes the request, and drops the connection in place of an answer.
func loses(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const ok = `{"status":200,"outcome":"OK","queue":"q","consumer":"c","token":"3-r","from":1,"to":2}`

var held = delivery.Held{Queue: "q", Consumer: "c", Token: delivery.Token{N: 3, Req: "r"}}

// TestClaim shows a request, and every member of an answer.
func TestClaim(t *testing.T) {
	a := newAPI(t, says(200, `{"status":200,"outcome":"OK","queue":"q","consumer":"c","token":"3-r","from":"9007199254740993","to":"9007199254740996",
		"messages":[
			{"seq":"9007199254740993","id":"a","body":{"n": 1.50},"contentType":"a/b","attributes":{"k":"v"},"enqueuedAt":"2026-01-02T03:04:05Z"},
			{"seq":"9007199254740995","bodyBase64":"AP8="}],
		"skipped":["9007199254740994","9007199254740996"],"attempt":2,"rewinds":1,"until":"2026-01-02T03:05:05Z","committed":2,
		"unsettled":["1-x"],"detail":"why"}`))
	got := check.Get(a.Claim(t.Context(),
		delivery.Request{Queue: "q", Consumer: "c", ID: "r", Lease: 30*time.Second + 1, MaxMessages: 9}))
	const first = int64(1)<<53 + 1
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := delivery.Answer{
		Outcome: delivery.OK, Until: at.Add(time.Minute), Committed: 2, Detail: "why",
		Batch: delivery.Batch{
			Queue: "q", Consumer: "c", Token: delivery.Token{N: 3, Req: "r"}, From: first - 1, To: first + 3,
			Attempt: 2, Rewinds: 1,
			Messages: []cursor.Message{
				{Queue: "q", Seq: first, ID: "a", Body: []byte(`{"n": 1.50}`), ContentType: "a/b", Attributes: map[string]string{"k": "v"}, EnqueuedAt: at},
				{Queue: "q", Seq: first + 2, Body: []byte{0, 255}},
			},
			Skipped: []int64{first + 1, first + 3},
		},
		Unsettled: []delivery.Held{{Queue: "q", Consumer: "c", Token: delivery.Token{N: 1, Req: "x"}}},
	}
	check.Is(t, cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)), "")
	check.Is(t, a.requests[0], `POST /claims {"queue":"q","consumer":"c","request":"r","maxMessages":9,"leaseSeconds":31}`)
}

// TestClaimOfAKeyedQueue: each key has the JSON that was answered.
func TestClaimOfAKeyedQueue(t *testing.T) {
	keys := []string{`-1.5`, `"a"`, `["2026-05-06T05:08:09.5Z",2]`}
	var messages []string
	for i, key := range keys {
		messages = append(messages,
			fmt.Sprintf(`{"seq":%d,"id":"a","key":%s,"late":%t,"unlinked":%t,"body":1}`,
				i+1, key, i == 1, i == 2))
	}
	a := newAPI(t,
		says(200,
			strings.Replace(ok, `"to":2`, `"to":3,"messages":[`+strings.Join(messages, ",")+`]`, 1)),
		says(200, strings.Replace(ok, `"to":2`, `"to":2,"messages":[{"seq":1,"key":{},"body":1}]`, 1)))
	got, err := a.Claim(t.Context(), delivery.Request{Queue: "q", Consumer: "c", ID: "r"})
	check.Need(t, err == nil && len(got.Messages) == len(keys), "%+v, %v", got, err)
	for i, m := range got.Messages {
		check.That(t, string(m.Key.JSON()) == keys[i] && m.Late == (i == 1) && m.Unlinked == (i == 2),
			"key %s of %s: %+v", m.Key.JSON(), keys[i], m)
	}
	got, err = a.Claim(t.Context(), delivery.Request{Queue: "q", Consumer: "c", ID: "r"})
	check.That(t, err != nil, "what is no key is read as %+v", got)
}

// TestNotThere: a consumer or a queue that is not there is the error that the tables give.
func TestNotThere(t *testing.T) {
	for code, want := range map[string]error{"no-consumer": delivery.ErrNoConsumer,
		"no-queue": cursor.ErrNoQueue} {
		check.Fails(t,
			check.Err(newAPI(t, refuses(404, code, "")).List(t.Context(),
				delivery.Request{Queue: "q", Consumer: "c"})), want, code, want)
	}
}

// TestFieldsThatAreWrong: each reason arrives with its field and the element that it is in, named
// as the Go caller names it.
func TestFieldsThatAreWrong(t *testing.T) {
	for _, code := range []invalid.Code{
		invalid.Missing, invalid.Unknown, invalid.Malformed, invalid.TooLarge, invalid.OutOfRange, invalid.Misplaced, invalid.Clash,
	} {
		for _, c := range []struct{ sent, path, field string }{
			{`"field":"request"`, "request", "request"},
			{`"field":"leaseSeconds"`, "lease", "lease"},
			{`"field":"seqs[1]","index":1`, "seqs[1]", ""},
			{`"field":"replies[2].body","index":2`, "replies[2].body", "body"},
		} {
			a := newAPI(t, refuses(400, string(code),
				fmt.Sprintf(`,"errors":[{%s,"code":%q,"detail":"is wrong"}]`, c.sent, code)))
			_, err := a.Prepare(t.Context(), held)
			var wrong *invalid.Error
			check.That(t, errors.As(err, &wrong) && wrong.Code == code && wrong.Path() == c.path &&
				wrong.Field == c.field,
				"%s %s: %#v", code, c.sent, err)
		}
	}
}

// TestOtherProblems are no field's, and none of the errors above.
func TestOtherProblems(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"a problem":              refuses(403, "no-tenant", ""),
		"a gateway's refusal":    says(403, `{"message":"why"}`),
		"a page":                 says(404, `<html>why</html>`),
		"nothing":                says(400, ``),
		"a problem of no fields": refuses(400, "invalid", ""),
	} {
		_, err := newAPI(t, answer).Commit(t.Context(), held)
		var wrong *invalid.Error
		check.That(t, err != nil && !errors.As(err, &wrong) && !errors.Is(err, delivery.ErrNoConsumer) &&
			!errors.Is(err, cursor.ErrNoQueue),
			"%s: %v", name, err)
		check.That(t, name == "nothing" || strings.Contains(fmt.Sprint(err), "why"), "%s: %v", name, err)
	}
}

func TestNoAnswerOfTheProtocol(t *testing.T) {
	for _, document := range []string{
		`<html>`, ``, `7`, `{"outcome":"OK","token":"r"}`, `{"outcome":"OK","unsettled":["r"]}`, `{"outcome":"OK","from":"x"}`,
	} {
		_, err := newAPI(t, says(200, document)).Claim(t.Context(),
			delivery.Request{Queue: "q", Consumer: "c", ID: "r"})
		check.That(t, err != nil, "taken for an answer: %s", document)
	}
}

// TestRepeats: what was lost or may succeed later is asked for again, in the same words.
func TestRepeats(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"a lost response":    loses,
		"throttled":          says(429, `{"message":"Too Many Requests"}`),
		"unavailable":        refuses(503, "unavailable", ""),
		"a function's fault": says(502, `{"message":"Internal Server Error"}`),
		"no problem":         says(503, `<html>`),
	} {
		calls := map[string]func(*api) (delivery.Answer, error){
			"claim": func(a *api) (delivery.Answer, error) {
				return a.Claim(t.Context(), delivery.Request{Queue: "q", Consumer: "c", ID: "r"})
			},
			"commit": func(a *api) (delivery.Answer, error) { return a.Commit(t.Context(), held) },
		}
		for verb, call := range calls {
			a := newAPI(t, first, says(200, ok))
			got, err := call(a)
			check.That(t, err == nil && got.Outcome == delivery.OK && got.Token == held.Token,
				"%s, %s: %+v, %v", name, verb, got, err)
			check.That(t, len(a.requests) == 2 && len(slices.Compact(a.requests)) == 1,
				"%s, %s: %q, want one request twice", name, verb, a.requests)
		}
	}
}

// TestCommitAndClaim: both answers; and a claim that is not the commit's consumer's is refused
// before it is sent.
func TestCommitAndClaim(t *testing.T) {
	a := newAPI(t,
		says(200, `{"outcome":"OK","token":"3-r","next":`+strings.Replace(ok, "3-r", "4-s", 1)+`}`))
	done, next, err := a.CommitAndClaim(t.Context(), held,
		delivery.Request{Queue: "q", Consumer: "c", ID: "s"})
	check.That(t, err == nil && done.Token == held.Token &&
		next.Token == (delivery.Token{N: 4, Req: "s"}) && next.To == 2,
		"%+v, %+v, %v", done, next, err)
	check.Is(t, a.requests[0], `PATCH /claims {"action":"commit","queue":"q","consumer":"c","token":"3-r","next":{"request":"s"}}`)
	for field, r := range map[string]delivery.Request{"queue": {Queue: "p", Consumer: "c"},
		"consumer": {Queue: "q", Consumer: "d"}} {
		var wrong *invalid.Error
		_, _, err := newAPI(t).CommitAndClaim(t.Context(), held, r)
		check.That(t, errors.As(err, &wrong) && wrong.Field == field && wrong.Code == invalid.Clash,
			"%s: %v", field, err)
	}
}

func TestQueues(t *testing.T) {
	a := newAPI(t,
		says(200, `{"status":200,"list":[{"queue":"a/1","kind":"numbered","position":"9007199254740993"}],"next":"x"}`),
		says(200, `{"status":200,"list":[]}`),
		refuses(400, "validation-failed",
			`,"errors":[{"field":"prefix","code":"too-large","detail":"begins none"}]`))
	page, next := check.Get2(a.Queues(t.Context(), "a/", ""))
	check.Is(t, fmt.Sprintf("%+v %s", page, next), "[{Name:a/1 Position:9007199254740993}] x")
	page, next = check.Get2(a.Queues(t.Context(), "a/", next))
	check.That(t, next == "" && len(page) == 0, "%+v, %q", page, next)
	var wrong *cursor.InvalidError
	_, _, err := a.Queues(t.Context(), "", "")
	check.That(t, errors.As(err, &wrong) && wrong.Field == "prefix", "error %v", err)
	want := []string{"GET /queues?limit=100&prefix=a%2F ",
		"GET /queues?after=x&limit=100&prefix=a%2F ", "GET /queues?limit=100 "}
	check.Is(t, cmp.Diff(want, a.requests), "")
}

// role gives out credentials as the server of a container's role does, the next ones for each
// question. They say that they are about to run out, and are good for one request.
type role struct {
	mu          sync.Mutex
	given, used int
}

func (r *role) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given++
	_, _ = fmt.Fprintf(w, `{"AccessKeyId":"AKID%d","SecretAccessKey":"secret","Token":"token","Expiration":%q}`,
		r.given, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
}

// accepts reports whether a request is signed with credentials that have not run out.
func (r *role) accepts(request *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	good := r.used < r.given &&
		strings.Contains(request.Header.Get("Authorization"), fmt.Sprintf("Credential=AKID%d/", r.given))
	r.used = r.given
	return good
}

// counted is a database that counts the messages it got.
type counted struct{ messages int }

func (*counted) Name() string { return "db" }

func (d *counted) Apply(ctx context.Context, b delivery.Batch, _ int64,
	prepare func(context.Context) error) error {
	if err := prepare(ctx); err != nil {
		return err
	}
	d.messages += len(b.Messages)
	return nil
}

func (*counted) Settle(context.Context, delivery.Held,
	int64) (delivery.TokenOutcome, []delivery.Reply, error) {
	return "", nil, fmt.Errorf("nothing is in doubt")
}

func (*counted) Check(context.Context, string, string, int64) error { return nil }

func (*counted) Forget(context.Context, string, string, int64) error { return nil }

// TestConsumeOutlivesItsCredentials: a consumer under a role whose credentials run out goes on with
// the next ones.
func TestConsumeOutlivesItsCredentials(t *testing.T) {
	r := &role{}
	credentials := httptest.NewServer(r)
	t.Cleanup(credentials.Close)
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": credentials.URL,
	} {
		t.Setenv(name, value)
	}
	const batches = 3
	claimed, refused := 0, 0
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch {
		case !r.accepts(request):
			if refused++; refused == 100 {
				giveUp()
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"message":"The security token included in the request is expired"}`)
		case request.Method == http.MethodPost && claimed == batches:
			_, _ = fmt.Fprint(w, `{"outcome":"EMPTY"}`)
		case request.Method == http.MethodPost:
			claimed++
			_, _ = fmt.Fprintf(w, `{"outcome":"OK","token":"%d-db-r","from":%d,"to":%d,"messages":[{"seq":%d,"body":1}]}`, claimed, claimed, claimed, claimed)
		default:
			_, _ = fmt.Fprintf(w, `{"outcome":"OK","token":"%d-db-r"}`, claimed)
		}
	}))
	t.Cleanup(api.Close)
	claims := check.Get(pullhttp.NewSigned(api.URL, "eu-west-1"))
	db := &counted{}
	err := pull.Consume(ctx, claims, db, "q", "c",
		&pull.ConsumeOptions{UntilEmpty: true, Beat: -1, Poll: time.Millisecond})
	check.That(t, err == nil && db.messages == batches && refused <= 0,
		"%d messages, %d requests refused, %v", db.messages, refused, err)
}

// TestNewWithToken: every request carries a token that is asked for then, and a URL without TLS is
// refused, but of this machine.
func TestNewWithToken(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	token := func(context.Context) (string, error) { return fmt.Sprint("token-", len(sent)), nil }
	c := check.Get(pullhttp.NewWithToken(server.URL, token))
	for range 2 {
		check.Get2(c.Queues(t.Context(), "", ""))
	}
	check.Is(t, strings.Join(sent, ", "), "Bearer token-0, Bearer token-1")
	_, err := pullhttp.NewWithToken("http://queues.example.com", token)
	check.That(t, err != nil && strings.Contains(err.Error(), "use https"), "no TLS: %v", err)
}
