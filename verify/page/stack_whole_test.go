//go:build whole

package page

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/ui"
)

// stack is a local stack, whose process delivers to a sink that refuses some messages as long as it
// is broken, and the live page of it.
type stack struct {
	*trial.World
	t      testing.TB
	page   *httptest.Server
	broken atomic.Bool
	// edges are those of the chain import-7; the first three have ended.
	edges []string
	// run is the address of a bulk operation that was only looked at.
	run string
	// watching is how many live screens are being sent.
	watching atomic.Int64
	// away has what stands before the page answer 502; turned is how often it did.
	away   atomic.Bool
	turned atomic.Int64
}

// prefix is where the page is on its server: not at the root, so that links that are not relative
// lead nowhere.
const prefix = "/ops/"

// refused is the body of the messages that a broken sink refuses.
const refused = `{"refused":true}`

// consumers are one, which gives up soon.
const consumers = `{"consumers":[{"name":"billing","maxAttempts":2,"blockAfter":"1s","retries":["100ms"],"sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:000000000000:function:receiver"}}]}`

// startStack starts a stack and its page. through stands before DynamoDB Local, if not nil.
func startStack(t testing.TB, through http.RoundTripper) *stack {
	t.Helper()
	s := &stack{World: check.Get(trial.New(t.Output())), t: t}
	t.Cleanup(s.End)
	s.broken.Store(true)
	s.Start(t.Context(), trial.Setup{
		Templates: []string{"examples/demo/streamsort.patch.json"},
		Through:   through, Kind: localdb.DynamoDBLocal,
		Config: localstack.Config{
			Env: map[string]string{"STREAMSORT_EVENT_BUS": "",
				"ProcessFunction.STREAMSORT_CONSUMERS":    consumers,
				"ProcessFunction.AWS_ENDPOINT_URL_LAMBDA": s.Serve(http.HandlerFunc(s.take))},
			Failed: func(string, string) {}, // what fails here fails on purpose
		},
	})
	shown := check.Get(ui.New(ui.Options{URL: s.Stack.URL(), Operate: true}))
	s.page = httptest.NewServer(http.StripPrefix(strings.TrimSuffix(prefix, "/"),
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/live" {
				s.watching.Add(1)
				defer s.watching.Add(-1)
			}
			if s.away.Load() {
				w.WriteHeader(http.StatusBadGateway)
				s.turned.Add(1)
				return
			}
			shown.ServeHTTP(w, r)
		})))
	t.Cleanup(func() { s.page.CloseClientConnections(); s.page.Close(); shown.Close() })
	return s
}

// take is the sink: it answers as Lambda does for a function.
func (s *stack) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || s.broken.Load() && strings.Contains(string(body), refused) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_, _ = io.WriteString(w, `{"errorType":"Error","errorMessage":"the ledger has no such account"}`)
		return
	}
	_, _ = io.WriteString(w, "null")
}

// put puts a message.
func (s *stack) put(queue string, seq int64, body string) {
	s.t.Helper()
	message := json.RawMessage(fmt.Sprintf(`{"queue":%q,"seq":%d,"id":"m%d","body":%s}`,
		queue, seq, seq, body))
	results, err := s.Sender.Client.Put(s.t.Context(), []json.RawMessage{message})
	check.Need(s.t, err == nil && results[0].Status < http.StatusBadRequest,
		"put %s: %v, %v", message, results, err)
}

// post has the API do something.
func (s *stack) post(path, document string) (edges []string) {
	s.t.Helper()
	var answer struct{ Edges []string }
	check.OK(s.t,
		s.Sender.Client.Call(s.t.Context(), http.MethodPost, path, nil, []byte(document), &answer))
	return answer.Edges
}

// form sends a form of the page, and returns the address that it leads to.
func (s *stack) form(path, fields string) string {
	s.t.Helper()
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		request := httptest.NewRequest(method, prefix+path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer := httptest.NewRecorder()
		s.page.Config.Handler.ServeHTTP(answer, request)
		return answer
	}
	_, after, _ := strings.Cut(ask(http.MethodGet, "bulk", "").Body.String(), `name="token" value="`)
	token, _, _ := strings.Cut(after, `"`)
	answer := ask(http.MethodPost, path, fields+"&token="+token)
	check.Need(s.t, answer.Code == http.StatusSeeOther, "%s: %d %s", path, answer.Code, answer.Body)
	return answer.Header().Get("Location")
}

// await asks the API until it answers what is awaited.
func (s *stack) await(path string, query url.Values, what string) {
	s.t.Helper()
	s.awaitBeside(path, query, what, func() {})
}

// awaitBeside is await, with something done before each question.
func (s *stack) awaitBeside(path string, query url.Values, what string, do func()) {
	s.t.Helper()
	last := progress()
	await.Until(s.t, fmt.Sprint(path, " ", query, " to have ", what), func() (bool, any) {
		do()
		var raw json.RawMessage
		err := s.Sender.Client.Call(s.t.Context(), http.MethodGet, path, query, nil, &raw)
		return err == nil && strings.Contains(string(raw), what), last(fmt.Sprint(string(raw), err))
	})
}

// blocked are the queues whose consumer is blocked.
var blocked = []string{"shop/eu/blocked-1", "shop/eu/blocked-2", "shop/us/blocked-3"}

// fill has something for every screen.
func (s *stack) fill() {
	s.t.Helper()
	for seq := int64(1); seq <= 30; seq++ {
		s.put("shop/eu/orders", seq, fmt.Sprintf(`{"order":%d,"total":"%d.90 EUR"}`, 1000+seq, 3*seq))
	}
	for _, seq := range []int64{1, 2, 3, 6, 7, 8, 11} {
		s.put("shop/eu/gaps", seq, `{"sku":"A-17"}`)
	}
	for _, queue := range blocked {
		s.put(queue, 1, `{"order":1}`)
		s.put(queue, 2, refused)
		s.put(queue, 3, `{"order":3}`)
	}
	for i := range 60 {
		s.put(fmt.Sprintf("stock/%02d", i), 1, `{"pieces":4}`)
	}
	s.edges = s.post("/acks", `{"operation":"create","tag":"import-7","edges":8,"deadline":"1h"}`)
	for _, edge := range s.edges[:3] {
		s.post("/acks", `{"operation":"done","edge":"`+edge+`"}`)
	}
	wide := s.post("/acks", `{"operation":"create","tag":"import-8","edges":4,"deadline":"1h"}`)
	parts := s.post("/acks", `{"operation":"fan","edge":"`+wide[0]+`","edges":200}`)
	for _, edge := range append(parts[:40], wide[1]) {
		s.post("/acks", `{"operation":"done","edge":"`+edge+`"}`)
	}
	// A message is bad where the sink takes others after it has failed; else the sink may be away.
	good := int64(1)
	s.awaitBeside("/summary", nil, `"blocked":{"count":3`, func() {
		good++
		s.put("stock/00", good, `{"pieces":4}`)
	})
	s.await("/consumers", url.Values{"queue": {"stock/00"}}, `"lag":0`)
	s.run = s.form("look", "action=redrive&reason=the+ledger+is+asked+about+it&consumer=billing&state=blocked")
	s.await("/consumers", url.Values{"queue": {"shop/eu/orders"}}, `"lag":0`)
}
