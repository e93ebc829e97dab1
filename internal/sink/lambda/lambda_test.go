package lambda

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const functionARN = "arn:aws:lambda:us-east-1:000000000000:function:orders"

// invoked is a server of Lambda's Invoke action that notes its payloads.
func invoked(t *testing.T, answer http.HandlerFunc) (endpoint string, payloads *[]string) {
	t.Helper()
	payloads = new([]string)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw := check.Get(io.ReadAll(r.Body))
		check.Is(t, r.URL.Path, "/2015-03-31/functions/"+functionARN+"/invocations")
		check.Is(t, r.Header.Get("X-Amz-Invocation-Type"), "RequestResponse")
		mu.Lock()
		*payloads = append(*payloads, string(raw))
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, payloads
}

func TestLambdaAnswers(t *testing.T) {
	const taken = "<nil>"
	failed := func(payload string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, payload)
		}
	}
	says := func(status int, payload string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, payload)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // in the error
	}{
		"nothing":                   {says(200, ""), taken},
		"null":                      {says(200, " null\n"), taken},
		"an object without failure": {says(200, `{"batchItemFailures":[]}`), taken},
		"a number":                  {says(200, `7`), "neither null nor an object"},
		"HTML":                      {says(200, `<p>secret</p>`), "13 bytes that are not JSON"},
		"half an object":            {says(200, `{"a":`), "not JSON"},
		"failed items":              {says(200, `{"batchItemFailures":[{"itemIdentifier":"1"}]}`), "took its document up to 0"},
		"failed items, oddly":       {says(200, `{"batchItemFailures":"secret"}`), "batchItemFailures"},
		"replies twice":             {says(200, `{"replies":[{"queue":"x","body":1}],"replies":[{"queue":"x","body":2}]}`), "twice"},
		"failed items twice":        {says(200, `{"batchItemFailures":[{"itemIdentifier":"1"}],"batchItemFailures":[]}`), "twice"},
		"a reply's member twice":    {says(200, `{"replies":[{"queue":"x","queue":"y","body":1}]}`), `replies[0] has the member "queue" twice`},
		"an attribute twice":        {says(200, `{"replies":[{"queue":"x","body":1,"attributes":{"k":"1","k":"2"}}]}`), `replies[0].attributes has the member "k" twice`},
		"a reply to nobody":         {says(200, `{"replies":[{"body":1}]}`), "replies[0].queue is missing"},
		"accepted only":             {says(202, ``), "status 202, not 200"},
		"an error":                  {failed(`{"errorType":"Bad","errorMessage":"no luck"}`), "failed: Bad: no luck"},
		"a long error":              {failed(`{"errorType":"Bad","errorMessage":"` + strings.Repeat("é", 9999) + `"}`), "failed: Bad: éé"},
		"an error that is no JSON":  {failed(strings.Repeat("x", 9999)), "failed: Unhandled: xxx"},
		"no such function":          {says(404, `{"__type":"ResourceNotFoundException","message":"nobody"}`), "nobody"},
		"a fault":                   {says(500, `{"message":"oops"}`), "500"},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint, payloads := invoked(t, c.answer)
			s := sinktest.Open(t, Kind, functionARN, endpoint)
			err := s.Send(sinktest.Within(t, time.Minute), sinktest.Batch("q", "1", "2").Answerable())
			said := fmt.Sprint(err)
			check.Has(t, said, c.want)
			check.That(t, len(said) <= 900 && !strings.Contains(said, "secret"), "an error: %s", said)
			check.Is(t, len(*payloads), 1)
		})
	}
}

// TestLambdaReplies: what a function answers joins the batch's replies, part after part.
func TestLambdaReplies(t *testing.T) {
	calls := 0
	endpoint, _ := invoked(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			_, _ = io.WriteString(w, `{"replies":[{"queue":"x","body":{ "a":1}},{"queue":"n","seq":"9007199254740993","id":"i","bodyBase64":"AA==","contentType":"a/b","attributes":{"k":"v"}}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"replies":[{"queue":"x","body":2}]}`)
	})
	s := sinktest.Open(t, Kind, functionARN, endpoint)
	b := sinktest.Batch("q", slices.Repeat([]string{strings.Repeat("x", 350*1024)}, 20)...).
		Answerable()
	check.OK(t, s.Send(sinktest.Within(t, time.Minute), b))
	seq := int64(9007199254740993)
	want := []delivery.Reply{
		{Queue: "x", Body: []byte(`{ "a":1}`)},
		{Queue: "n", Seq: &seq, ID: "i", Body: []byte{0}, ContentType: "a/b", Attributes: map[string]string{"k": "v"}},
	}
	for range calls - 1 {
		want = append(want, delivery.Reply{Queue: "x", Body: []byte("2")})
	}
	check.Is(t, cmp.Diff(want, check.Get(b.Replies())), "")
	check.That(t, calls >= 2, "%d calls", calls)
}

// TestLambdaRepeats: only what was throttled is repeated.
func TestLambdaRepeats(t *testing.T) {
	var calls atomic.Int64
	endpoint, payloads := invoked(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("X-Amzn-Errortype", "TooManyRequestsException")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		panic(http.ErrAbortHandler) // the response is lost
	})
	s := sinktest.Open(t, Kind, functionARN, endpoint)
	err := s.Send(sinktest.Within(t, time.Minute), sinktest.Batch("q", "1"))
	check.That(t, err != nil, "a lost response was taken for success")
	check.Is(t, len(*payloads), 2, "the throttled and its repeat")
}

// TestLambdaParts: a batch beyond the limit goes in parts, and a part that fails ends it.
func TestLambdaParts(t *testing.T) {
	fail := false
	endpoint, payloads := invoked(t, func(w http.ResponseWriter, _ *http.Request) {
		if fail {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		}
	})
	s := sinktest.Open(t, Kind, functionARN, endpoint)
	// 20 times 467 KB of base64
	b := sinktest.Batch("q", slices.Repeat([]string{strings.Repeat("x", 350*1024)}, 20)...)
	check.OK(t, s.Send(sinktest.Within(t, time.Minute), b))
	var spans []int64
	for _, raw := range *payloads {
		check.That(t, len(raw) <= 6<<20, "a payload of %d bytes", len(raw))
		spans = append(spans, sinktest.Decode[span](t, []byte(raw)).To)
	}
	check.Is(t, cmp.Diff([]int64{13, 20}, spans), "")
	fail, *payloads = true, nil
	check.That(t, s.Send(sinktest.Within(t, time.Minute), b) != nil, "a failure was taken for success")
	check.Is(t, len(*payloads), 1)
}
