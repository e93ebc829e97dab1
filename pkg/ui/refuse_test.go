package ui_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/ui"
)

// serve is the URL of a server that ends with the test.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// answering is an API that answers with documents, by their paths, and a page of it.
func answering(t *testing.T, documents map[string]string, options ui.Options) http.Handler {
	t.Helper()
	options.URL = serve(t, func(w http.ResponseWriter, r *http.Request) {
		document, is := documents[r.URL.Path]
		if !is {
			w.WriteHeader(http.StatusNotFound)
			document = `{"status":404,"detail":"nothing is there"}`
		}
		_, _ = fmt.Fprint(w, document)
	})
	return check.Get(ui.New(options))
}

func shown(page http.Handler, address string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost/"+address, nil))
	return answer
}

// oneQueue has a queue with a gap, and a consumer that is blocked, of which each text is another's.
func oneQueue() map[string]string {
	const bad = `<script>alert(1)</script>\"'><img src=x onerror=alert(2)>`
	return map[string]string{
		"/queues": `{"queue":"` + bad + `","kind":"numbered","policy":"wait","gapAfter":"5m0s","first":1,"position":2,"maxParked":7,"gapOpen":true}`,
		"/gaps":   `{"maxParked":7,"gaps":[{"from":3,"to":4}]}`,
		"/consumers": `{"consumers":[{"consumer":"billing","state":"blocked","cause":"failed","delivered":1,"position":2,"lag":1,"attempt":2,"seq":2,
			"blocked":{"seq":2,"since":"2026-01-02T03:04:05Z"},"error":"` + bad + `"}]}`,
		"/messages":   `{"messages":[{"seq":2,"id":"` + bad + `","bodyBase64":"eyJ4IjogIjxpPiJ9","attributes":{"` + bad + `":"` + bad + `"}}]}`,
		"/operations": `{"operations":[{"reason":"` + bad + `","who":{"name":"` + bad + `"}}]}`,
	}
}

// TestTextsOfOthers are shown as they are, and are no elements of the page.
func TestTextsOfOthers(t *testing.T) {
	page := answering(t, oneQueue(), ui.Options{Operate: true})
	for _, address := range []string{"queue?queue=q", "message?queue=q&seq=2",
		"queue?queue=" + url.QueryEscape(`"><script>alert(3)</script>`), "live?of=x"} {
		body := shown(page, address).Body.String()
		for _, forbidden := range []string{"<script>alert", "<img src=x", "<i>"} {
			check.That(t, !strings.Contains(body, forbidden), "%s has %s:\n%s", address, forbidden, body)
		}
	}
}

// TestNamesThatEndLines, as a live screen's events do, are shown escaped, and no event of theirs is
// sent.
func TestNamesThatEndLines(t *testing.T) {
	const odd = `q\revent: content\rdata: all is well\r\r\nx\u0085y\u202ez`
	const shows = `q\revent: content\rdata: all is well\r\r\nx\u0085y\u202ez`
	page := answering(t, map[string]string{
		"/queues":     `{"queue":"` + odd + `","list":[{"queue":"` + odd + `"}],"first":1,"position":2}`,
		"/consumers":  `{"list":[{"queue":"` + odd + `","consumer":"c"}],"consumers":[{"consumer":"c","state":"retrying","error":"a\rb","attempts":[{"answer":"a\rb"}]}]}`,
		"/messages":   `{"messages":[{"seq":2,"id":"` + odd + `","attributes":{"a` + odd + `":"` + odd + `"}}]}`,
		"/operations": `{}`,
		"/chains":     `{"list":[{"tag":"` + odd + `"}]}`,
	}, ui.Options{Operate: true})
	server := serve(t, page.ServeHTTP)
	name := url.QueryEscape("q\revent: content\rdata: all is well\r\r\nx\u0085y\u202ez")
	for _, screen := range []string{"queues?", "consumers?", "chains?", "message?seq=2&queue=" + name,
		"queue?queue=" + name} {
		first, rest := screen[:strings.Index(screen, "?")], screen[strings.Index(screen, "?")+1:]
		live, err := http.Get(server + "/live?of=" + first + "&" + rest)
		check.OK(t, err)
		text := ""
		// up to the event's end
		for lines := bufio.NewScanner(live.Body); lines.Scan() && lines.Text() != ""; {
			text += lines.Text() + "\n"
		}
		_ = live.Body.Close()
		raw := strings.ContainsAny(text, "\r\u0085\u202e")
		check.That(t, strings.HasPrefix(text, "event: content\n") &&
			!strings.Contains(text, "\nevent:") && !raw && strings.Contains(text, shows),
			"%s: %q", screen, text)
		body := shown(page, screen).Body.String()
		check.That(t, !strings.ContainsAny(body, "\u0085\u202e") && strings.Contains(body, shows),
			"%s: %q", screen, body)
	}
}

// TestTimesThatPassed are not ahead, and what lasts has no "ago".
func TestTimesThatPassed(t *testing.T) {
	page := answering(t, map[string]string{
		"/queues": `{"queue":"q","kind":"numbered","first":1,"position":2,"parked":1,"gapOpen":true,"gapSince":"2026-01-02T03:04:05Z"}`,
		"/gaps":   `{"gaps":[{"from":3,"to":4}]}`,
		"/consumers": `{"consumers":[{"consumer":"c","claim":{"from":1,"to":2,"leaseUntil":"2026-01-02T03:04:05Z"},
			"state":"held","cause":"open","error":"no","nextTry":"2026-01-02T03:04:05Z"}]}`,
		"/messages": `{}`, "/operations": `{}`,
	}, ui.Options{})
	text := regexp.MustCompile(`</?time[^>]*>`).
		ReplaceAllString(shown(page, "queue?queue=q").Body.String(), "")
	for _, want := range []string{"parked beyond a gap, open for ", "lease ended ", " ago</div>",
		"Next try now.", "next try of its queue now"} {
		check.That(t, strings.Contains(text, want), "it has no %q:\n%s", want, text)
	}
}

// TestSaid: a screen says what was done by the page, and not what an address that somebody was sent
// says.
func TestSaid(t *testing.T) {
	page := answering(t, oneQueue(), ui.Options{Operate: true})
	body := shown(page, "queue?queue=q&did=redrive&to=billing").Body.String()
	check.That(t, strings.Contains(body, "redrive of billing is done"), "it is not said:\n%s", body)
	for _, address := range []string{"queue?queue=q&did=Sign+in+at+evil.example&to=billing",
		"queue?queue=q&did=pause&to=Sign+in+at+evil.example",
		"queue?queue=q&said=Sign+in+at+evil.example"} {
		body := shown(page, address).Body.String()
		check.That(t, !strings.Contains(body, "Sign in at"), "%s says it", address)
	}
}

// TestMessageScreen shows what a message is, whatever it is, and what keeps a consumer from it.
func TestMessageScreen(t *testing.T) {
	page := answering(t, oneQueue(), ui.Options{Operate: true})
	for address, want := range map[string][]string{
		"message?queue=q&seq=0": {"Before the queue's first seq, 1"},
		"message?queue=q&seq=2": {"&#34;x&#34;: &#34;&lt;i&gt;&#34;", "blocked on <a", "alert(2)&gt;", `name="seq" value="2"`, "skip: give it up"},
		"message?queue=q&seq=3": {"in the gap of 3 to 4"},
		"message?queue=q&seq=6": {"Stored, and waits for the gap at 3"},
		"message?queue=q&seq=9": {"Beyond the position, 2"},
		"queue?queue=q":         {"wait for what is missing", "blocked on <a", "for ", "Repair the cause and redrive it", "{&#34;x&#34;:&#34;&lt;i&gt;&#34;}"},
	} {
		answer := shown(page, address)
		check.Is(t, answer.Code, http.StatusOK, address)
		for _, text := range want {
			check.Has(t, answer.Body.String(), text, address)
		}
	}
	body := shown(page, "message?queue=q&seq=9223372036854775807").Body.String()
	check.That(t, !strings.Contains(body, "next") && !strings.Contains(body, "-9223372036854775808"),
		"something is behind the last seq:\n%s", body)
	body = shown(page, "message?queue=q&seq=6").Body.String()
	check.That(t, !strings.Contains(body, "give it up"),
		"nobody is blocked on 6, and it can be skipped")
	for address, name := range map[string]string{"queue": "queue", "message?seq=1": "queue",
		"chain?id=x": "tag", "run": "run"} {
		check.Has(t, shown(page, address).Body.String(), "the address has no "+name, address)
	}
	answer := shown(page, "qeue?queue=q")
	body = answer.Body.String()
	check.That(t, answer.Code == http.StatusNotFound &&
		strings.Contains(body, "There is no screen at this address") &&
		strings.Contains(body, `href="overview"`), "%d: %s", answer.Code, body)
}

// TestPagesOfAll come in no order, which is said: each looks like the whole list.
func TestPagesOfAll(t *testing.T) {
	list := `{"list":[{"queue":"a","consumer":"c"}],"next":"more"}`
	page := answering(t, map[string]string{"/queues": list, "/consumers": list}, ui.Options{})
	for address, want := range map[string]bool{"queues": true, "consumers": true,
		"queues?after=more&prefix=a": true, "queues?state=gap": false, "consumers?state=blocked": false} {
		is := strings.Contains(shown(page, address).Body.String(), "come in no order")
		check.That(t, is == want, "%s: %v, not %v", address, is, want)
	}
}

// TestEmptyStack says how to begin.
func TestEmptyStack(t *testing.T) {
	page := answering(t, map[string]string{"/summary": `{"states":{}}`, "/consumers": `{"list":[]}`,
		"/queues": `{"list":[]}`}, ui.Options{})
	body := shown(page, "").Body.String()
	for _, want := range []string{"No queue is here yet", "streamsort put", "make demo"} {
		check.That(t, strings.Contains(body, want), "it has no %s:\n%s", want, body)
	}
}

// TestNotDone says why, and leads back to the queue.
func TestNotDone(t *testing.T) {
	page := answering(t, nil, ui.Options{Operate: true})
	answer := sent(page, "operate", "queue=a%26b&consumer=c&action=skip&reason=r")
	body := answer.Body.String()
	check.That(t, answer.Code == http.StatusNotFound &&
		strings.Contains(body, "Not done: nothing is there") &&
		strings.Contains(body, `href="queue?queue=a%26b"`), "%d: %s", answer.Code, body)
}

// watch opens a live screen, and sends its events' names, until it ends.
func watch(ctx context.Context, address string) <-chan string {
	events := make(chan string, 100)
	go func() {
		defer close(events)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if name, is := strings.CutPrefix(lines.Text(), "event: "); is {
				events <- name
			}
		}
	}()
	return events
}

// TestWindowsTakeTurns: of one browser, which has few connections to a server, only so many windows
// are live that it can still ask for something else; another one gets an answer that says so, and
// no other window ends for it.
func TestWindowsTakeTurns(t *testing.T) {
	server := serve(t, answering(t, oneQueue(), ui.Options{Every: time.Minute}).ServeHTTP)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	window := func(mark string) <-chan string {
		events := watch(ctx, server+"/live?of=bulk"+mark)
		got := <-events
		check.Need(t, got == "content", "%q, not content", got)
		return events
	}
	other, unmarked := window("&browser=other"), window("")
	var windows []<-chan string
	for range 6 {
		windows = append(windows, window("&browser=mine"))
	}
	for i, events := range windows[:2] {
		got := <-events
		check.That(t, got == "turn", "window %d: %q, not turn", i, got)
		got, more := <-events
		check.That(t, !more, "window %d goes on with %q", i, got)
	}
	for i, events := range append(windows[2:], other, unmarked) {
		select {
		case got := <-events:
			t.Errorf("window %d ended, or has %q", i+2, got)
		default:
		}
	}
}

// TestSlowAPI: those who wait for a slow API all get its next answer, and do not ask it one after
// another.
func TestSlowAPI(t *testing.T) {
	const tabs = 8
	var asked, came atomic.Int64
	allCame := make(chan struct{})
	backend := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		select {
		case <-allCame: // it is slow
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprintf(w, `{"list":[{"tag":"b%d"}]}`, n)
	})
	page := check.Get(ui.New(ui.Options{URL: backend, Every: 200 * time.Millisecond}))
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if came.Add(1) == tabs {
			close(allCame)
		}
		page.ServeHTTP(w, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for range tabs {
		all.Go(func() {
			check.Is(t, <-watch(ctx, server+"/live?of=chains"), "content")
		})
	}
	all.Wait()
	n := asked.Load()
	check.That(t, n <= tabs/2, "the API was asked %d times before %d tabs had its answer", n, tabs)
}
