package ui_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/ui"
)

// api answers as the API does about one queue, whose position grows each time that it is asked for.
func api(t *testing.T) *httptest.Server {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/queues" {
			asked.Add(1)
		}
		answer := map[string]string{
			"/queues":     fmt.Sprintf(`{"queue":"q","kind":"numbered","first":1,"position":"%d","maxParked":0}`, 9007199254740993+asked.Load()),
			"/consumers":  `{"queue":"q","consumers":[]}`,
			"/messages":   `{"messages":[]}`,
			"/operations": `{"operations":[]}`,
		}[r.URL.Path]
		_, err := fmt.Fprint(w, answer)
		check.That(t, err == nil, "%v", err)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestLive gets a screen's content again when it has changed, with seqs that are exact beyond 2^53,
// also under a path prefix.
func TestLive(t *testing.T) {
	page := check.Get(ui.New(ui.Options{URL: api(t).URL, Every: 200 * time.Millisecond}))
	server := httptest.NewServer(http.StripPrefix("/ops", page))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		server.URL+"/ops/live?of=queue&queue=q", nil)
	check.OK(t, err)
	answer, err := http.DefaultClient.Do(request)
	check.OK(t, err)
	defer answer.Body.Close()
	kind := answer.Header.Get("Content-Type")
	check.Need(t, kind == "text/event-stream", "content type %q", kind)
	lines := bufio.NewScanner(answer.Body)
	for _, position := range []string{"9007199254740994", "9007199254740995", "9007199254740996"} {
		for found := false; !found; found = strings.Contains(lines.Text(),
			"<b>"+position+"</b>position") {
			check.Need(t, lines.Scan(), "the stream ended before position %s: %v", position, lines.Err())
		}
	}
}

// TestTabsShareALook: what a screen costs does not grow with those who look at it.
func TestTabsShareALook(t *testing.T) {
	var asked atomic.Int64
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"list":[{"tag":"b%d"}]}`, asked.Add(1))
	}))
	t.Cleanup(backend.Close)
	page := check.Get(ui.New(ui.Options{URL: backend.URL, Every: time.Minute}))
	server := httptest.NewServer(page)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var tabs sync.WaitGroup
	for range 10 {
		tabs.Go(func() {
			check.Is(t, <-watch(ctx, server.URL+"/live?of=chains"), "content")
		})
	}
	tabs.Wait()
	check.Is(t, asked.Load(), 1, "the API was asked")
}

// TestForbidden refuses what is not of the page: other names, other origins, forms without its
// token.
func TestForbidden(t *testing.T) {
	page := check.Get(ui.New(ui.Options{URL: api(t).URL, Operate: true, Hosts: []string{"LocalHost"}}))
	form := url.Values{"queue": {"q"}, "consumer": {"c"}, "action": {"pause"},
		"reason": {"r"}}.Encode()
	for name, c := range map[string]struct {
		host, origin string
		want         int
	}{
		"a name that is pointed here": {"evil.example", "", http.StatusMisdirectedRequest},
		"another site's form":         {"localhost:4001", "http://evil.example", http.StatusForbidden},
		"no token":                    {"localhost:4001", "http://localhost:4001", http.StatusForbidden},
	} {
		for _, path := range []string{"operate", "look", "start", "stop"} {
			t.Run(name+" for "+path, func(t *testing.T) {
				request := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/"+path,
					strings.NewReader(form))
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				if c.origin != "" {
					request.Header.Set("Origin", c.origin)
				}
				answer := httptest.NewRecorder()
				page.ServeHTTP(answer, request)
				check.That(t, answer.Code == c.want, "%d, not %d: %s", answer.Code, c.want, answer.Body)
			})
		}
	}
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost/queue?queue=q", nil))
	policy := answer.Header().Get("Content-Security-Policy")
	check.That(t, answer.Code == http.StatusOK && strings.Contains(policy, "default-src 'none'") &&
		!strings.Contains(policy, "unsafe"),
		"%d, policy %q", answer.Code, policy)
	body := answer.Body.String()
	check.That(t, !strings.Contains(body, "style=") && !strings.Contains(body, "onclick"),
		"the screen has a style or a script of its own, which the policy refuses")
}

// TestOptions refuses options that make no page, and names them.
func TestOptions(t *testing.T) {
	for want, options := range map[string]ui.Options{
		"url":   {URL: "nowhere"},
		"Every": {URL: "http://127.0.0.1:1", Every: time.Hour},
	} {
		check.Says(t, check.Err(ui.New(options)), want, options)
	}
}
