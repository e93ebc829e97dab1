//go:build whole

package localstack

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// slowEndpoint answers at once at /fast, and never at /slow.
type slowEndpoint struct {
	mu sync.Mutex
	// began and ended are the requests to /slow, fast those to /fast.
	began, ended, fast int
}

// ServeHTTP implements [http.Handler].
func (e *slowEndpoint) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // before, the server does not see that the client has gone
	count := func(n *int) {
		e.mu.Lock()
		defer e.mu.Unlock()
		*n++
	}
	if r.URL.Path != "/slow" {
		count(&e.fast)
		return
	}
	count(&e.began)
	defer count(&e.ended)
	<-r.Context().Done()
}

func (e *slowEndpoint) seen() (began, ended, fast int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.began, e.ended, e.fast
}

// TestASlowEndpointTakesNoEnvironmentOfProcess: process, with one environment, delivers to a fast
// endpoint while a request to a slow one is under way.
func TestASlowEndpointTakesNoEnvironmentOfProcess(t *testing.T) {
	tables, err := localdb.Start(t.Context(), localdb.Choose(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tables.Close)
	e := &slowEndpoint{}
	server := httptest.NewServer(e)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"STREAMSORT_EVENT_BUS": ""}
	for _, function := range []string{"ProcessFunction", "ProcessSlowFunction", "DeliveryFunction"} {
		env[function+".STREAMSORT_HTTP_ALLOW"] = "127.0.0.0/8"
		env[function+".STREAMSORT_CONSUMERS"] = fmt.Sprintf(`{"consumers":[{"name":"hooks",
			"retries":["100ms"],"sink":{"kind":"http","endpoints":true,"timeout":"1m","ports":[%s]}}]}`, u.Port())
	}
	s := run(t, Config{
		Templates: []string{"../verify/robust/hooks/streamsort.patch.json"},
		Server:    tables.Endpoint, Env: env, Concurrency: 1,
	})
	for _, queue := range []string{"slow", "fast"} {
		status, made := fetch[struct{ Secret string }](t, http.MethodPut, s.URL()+"/endpoints",
			fmt.Sprintf(`{"consumer":"hooks","queue":%q,"url":"%s/%[1]s"}`, queue, server.URL))
		if status != http.StatusOK || made.Secret == "" {
			t.Fatal(status, made)
		}
	}
	puts := 0
	put := func(queue string, seq int) {
		t.Helper()
		body := fmt.Sprintf(`{"messages":[{"queue":%q,"seq":%d,"body":1}]}`, queue, seq)
		status, answer := fetch[any](t, http.MethodPost, s.URL()+"/messages", body)
		if status != http.StatusOK {
			t.Fatal(status, answer)
		}
	}
	put("slow", 1)
	// The first request is cut off. A later one ends with its call: then the next is looked at.
	const what = "a message of the fast queue while a request to the slow endpoint is under way"
	await.Until(t, what, func() (bool, any) {
		began, ended, fast := e.seen()
		under := began > 1 && began > ended
		if under && fast == puts {
			puts++
			put("fast", puts)
		}
		await.True(t, "the fast message, or the end of the slow request", func() bool {
			_, ended, fast = e.seen()
			return !under || fast == puts || ended == began
		})
		later, ended, fast := e.seen()
		if ended > 4 {
			t.Fatalf("%d requests to the slow endpoint ended, and the fast queue waited for each", ended)
		}
		return under && fast == puts && later == began && ended < began, fmt.Sprint(later, ended, fast)
	})
}
