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

type tokenOf struct{}

func ofContext(ctx context.Context) (string, error) {
	token, _ := ctx.Value(tokenOf{}).(string)
	return token, nil
}

// look is a screen as somebody with a token sees it.
func look(t *testing.T, page http.Handler, address, token string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "http://localhost/"+address, nil)
	page.ServeHTTP(answer, request.WithContext(context.WithValue(t.Context(), tokenOf{}, token)))
	check.Need(t, answer.Code == http.StatusOK, "%d: %s", answer.Code, answer.Body)
	return answer.Body.String()
}

// inOrder checks that a screen has texts, each behind the one before it.
func inOrder(t *testing.T, body string, texts ...string) {
	t.Helper()
	rest := body
	for _, text := range texts {
		_, after, is := strings.Cut(rest, text)
		check.Need(t, is, "it has no %q, or not there:\n%s", text, body)
		rest = after
	}
}

// failing has 21 queues that are blocked by one cause, and one with a gap.
const failing = `{"states":{"gap":{"count":1,"oldest":"2026-01-02T03:04:05Z"},"blocked":{"count":21},"paused":{"count":1}},
	"groups":[{"consumer":"books","state":"blocked","states":[{"state":"blocked","count":12},{"state":"held","count":9}],"cause":"failed","error":"HTTP # from URL","count":21,"since":"2026-01-02T03:04:05Z",
		"examples":[{"queue":"orders-7","seq":42,"error":"HTTP 500 from https://x/7","since":"2026-01-02T03:04:05Z"}]}],
	"rates":{"storedPerSecond":1.5,"deliveredPerSecond":1,"minutes":[
		{"at":"2026-01-02T03:04:00Z","stored":60,"delivered":50},{"at":"2026-01-02T03:05:00Z","stored":120,"delivered":70}]}}`

// stack answers with a summary, and lists of consumers by state, whose requests it counts.
func stack(t *testing.T, summary string) (url string, lists *atomic.Int64) {
	t.Helper()
	lists = new(atomic.Int64)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer := `{"list":[]}`
		switch state := r.URL.Query().Get("state"); {
		case r.URL.Path == "/summary":
			answer = summary
		case r.URL.Path == "/consumers" && state == "blocked":
			lists.Add(1)
			answer = `{"list":[{"queue":"stuck","consumer":"c","state":"blocked","lag":"9007199254740993"}]}`
		case r.URL.Path == "/consumers" && state == "":
			answer = `{"list":[{"queue":"stuck","consumer":"c","state":"blocked","lag":"1"},{"queue":"other","consumer":"c","state":"ok","lag":0}]}`
		}
		_, _ = fmt.Fprint(w, answer)
	}), lists
}

// TestOverview shows what is wrong first: how much, the counts of states, the causes; then how the
// messages flow.
func TestOverview(t *testing.T) {
	url, _ := stack(t, failing)
	page := check.Get(ui.New(ui.Options{URL: url, Operate: true}))
	inOrder(t, look(t, page, "overview", ""),
		"21 queues fail, for 1 cause.", "1 queue waits for a message that is missing.",
		`href="consumers?state=blocked"`, "<b>21</b>", `href="queues?state=gap"`, "<b>1</b>",
		`href="consumers?state=paused"`,
		`<span class="count">21</span>`, `href="consumers?consumer=books&amp;error=HTTP&#43;%23&#43;from&#43;URL&amp;state=blocked"`, ">12 <",
		`href="consumers?consumer=books&amp;error=HTTP&#43;%23&#43;from&#43;URL&amp;state=held"`, ">9 <", "HTTP # from URL",
		`href="bulk?action=redrive&amp;consumer=books&amp;error=HTTP&#43;%23&#43;from&#43;URL&amp;state=blocked">Redrive 12 blocked`,
		`href="bulk?action=redrive&amp;consumer=books&amp;error=HTTP&#43;%23&#43;from&#43;URL&amp;state=held">Redrive 9 held`, ">orders-7<", ">@42<",
		"1.5 messages a second put, 1.0 delivered", `points="0.0,40.0 300.0,2.0"`,
		`points="0.0,46.3 300.0,33.7"`, "As a table", "<td class=\"n\">120</td><td class=\"n\">70</td>",
		">9007199254740993<", ">other<")
	url, _ = stack(t, `{"states":{"paused":{"count":1}},"groups":[]}`)
	page = check.Get(ui.New(ui.Options{URL: url}))
	inOrder(t, look(t, page, "overview", ""), "All is well: nothing fails",
		`href="consumers?state=paused"`, "Flow")
}

// TestOpenBreaker is said beside how many queues fail; a chain that is open has none.
func TestOpenBreaker(t *testing.T) {
	url, _ := stack(t, `{"states":{"held":{"count":1}},
		"groups":[{"consumer":"books","state":"held","states":[{"state":"held","count":1}],"cause":"open","error":"refused","count":1,"examples":[{"queue":"q"}]}]}`)
	page := check.Get(ui.New(ui.Options{URL: url}))
	inOrder(t, look(t, page, "overview", ""),
		"1 queue fails, for 1 cause.", "Calls to books fail for ",
		": refused; they are held, and one at a time is tried again.",
		`href="consumers?consumer=books&amp;state=held"`, "circuit breaker open",
		">books<", "refused", ">q<")
	chains := answering(t, map[string]string{"/chains": `{"list":[{"tag":"t","state":"open"}]}`},
		ui.Options{})
	inOrder(t, shown(chains, "chains").Body.String(), ">t<", ">open<")
}

// TestOverviewIsCheap: however many look, a list is asked for once in a while; but again for
// another who has a token.
func TestOverviewIsCheap(t *testing.T) {
	url, lists := stack(t, failing)
	page := check.Get(ui.New(ui.Options{URL: url, Token: ofContext}))
	for i, token := range []string{"a", "b", "a"} {
		look(t, page, "overview", token)
		if want := int64(min(i+1, 2)); lists.Load() != want {
			t.Errorf("after %d looks, the list was asked for %d times, not %d", i+1, lists.Load(), want)
		}
	}
}

// TestGroup: a list has those of one group of errors alone, and a box for each.
func TestGroup(t *testing.T) {
	page := answering(t, map[string]string{
		"/consumers": `{"list":[
			{"queue":"a","consumer":"c","state":"paused","also":["blocked"],"error":"HTTP 500","group":"HTTP #","seq":7,"lag":3,"attempt":5},
			{"queue":"b","consumer":"c","state":"blocked","error":"refused","group":"refused","seq":8}]}`,
	}, ui.Options{Operate: true})
	body := shown(page, "consumers?state=blocked&error=HTTP+%23").Body.String()
	inOrder(t, body, `name="pick" form="picks" value="[&#34;a&#34;,&#34;c&#34;]"`, ">paused<",
		">blocked<", ">7<", ">3<", "attempt 5", "HTTP 500",
		`name="state" value="blocked"`, "<option>redrive</option><option>skip</option>",
		`id="act-on-all" href="bulk?error=HTTP&#43;%23&amp;state=blocked"`)
	check.That(t, !strings.Contains(body, "refused"), "it has one of another group:\n%s", body)
}

// TestTabs: there is one of chains always, and one of bulk operations where they are allowed.
func TestTabs(t *testing.T) {
	for _, operate := range []bool{true, false} {
		page := answering(t, map[string]string{"/summary": "{}", "/consumers": `{}`, "/queues": `{}`},
			ui.Options{Operate: operate})
		body := shown(page, "overview").Body.String()
		chains, bulk := strings.Contains(body, `<a href="chains"`),
			strings.Contains(body, `<a href="bulk"`)
		check.That(t, chains && bulk == operate, "operate %v: tabs %v, %v", operate, chains, bulk)
	}
}

// TestSearch leads to the queue, message or chain that is meant, or lists what may be, and says
// what cannot be found.
func TestSearch(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		kind := " "
		if q.Has("prefix") {
			kind = "? "
		}
		switch r.URL.Path + kind + q.Get("queue") + q.Get("tag") + q.Get("prefix") {
		case "/queues orders", "/queues o@7":
			_, _ = fmt.Fprint(w, `{"queue":"orders","first":1,"position":3000}`)
		case "/queues? ord":
			_, _ = fmt.Fprint(w, `{"list":[{"queue":"orders"},{"queue":"ordinary"}]}`)
		case "/queues? ordi":
			_, _ = fmt.Fprint(w, map[string]string{
				"": `{"list":[],"next":"far"}`, "far": `{"list":[{"queue":"ordinary"}]}`, // pages may be empty
			}[q.Get("after")])
		case "/messages orders":
			check.That(t, q.Get("after") == "2000" && q.Get("limit") == "1000", "it asks for %v", q)
			_, _ = fmt.Fprint(w, `{"messages":[{"seq":2001,"id":"m-1"},{"seq":2002,"id":"m-2","key":"k/2"},{"seq":2003,"key":[1,"x"]}]}`)
		case "/chains import-7":
			_, _ = fmt.Fprint(w, `{"chain":{}}`)
		default:
			if r.URL.Path != "/chains" && q.Get("queue") == "" {
				_, _ = fmt.Fprint(w, `{"list":[]}`)
				return
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"status":404,"detail":"nothing is there"}`)
		}
	})
	page := check.Get(ui.New(ui.Options{URL: url}))
	for asked, want := range map[string]string{
		"orders": "queue?queue=orders", "+orders+": "queue?queue=orders", "o@7": "queue?queue=o%407", "ordi": "queue?queue=ordinary",
		"orders@17": "message?queue=orders&seq=17", "orders@m-1": "message?queue=orders&seq=2001",
		"orders@k/2": "message?queue=orders&seq=2002", "orders@[1,%22x%22]": "message?queue=orders&seq=2003", "import-7": "chain?tag=import-7",
	} {
		answer := shown(page, "search?q="+asked)
		check.That(t, answer.Code == http.StatusSeeOther && answer.Header().Get("Location") == want,
			"%s: %d leads to %q, not %q\n%s", asked, answer.Code, answer.Header().Get("Location"), want,
			answer.Body)
	}
	for asked, want := range map[string][]string{
		"ord":        {`value="ord"`, "names begin with", ">orders<", ">ordinary<"},
		"orders@m-9": {"No message of the last 3 in order of", "has the id or the key", "no index"},
		"%3Cb%3E":    {"No queue, and no chain,", "&lt;b&gt;", "A message's id alone", "not found"},
	} {
		answer := shown(page, "search?q="+asked)
		check.Need(t, answer.Code == http.StatusOK, "%s: %d %s", asked, answer.Code, answer.Body)
		inOrder(t, answer.Body.String(), want...)
	}
	answer := shown(page, "search?q=")
	check.That(t, answer.Code == http.StatusBadRequest, "nothing is asked for: %d", answer.Code)
	answer = shown(page, "live?of=search&q=ord")
	check.That(t, answer.Code == http.StatusBadRequest, "a search is live: %d", answer.Code)
}

// TestAttempts: a message shows the attempts on it, whose function's log is linked, and a queue why
// it stands still.
func TestAttempts(t *testing.T) {
	const arn = "arn:aws:lambda:eu-west-1:123456789012:function:books"
	documents := map[string]string{
		"/queues": `{"queue":"q","kind":"numbered","state":"ok","first":1,"position":3}`,
		"/consumers": `{"consumers":[{"queue":"q","consumer":"books","state":"blocked","cause":"failed","delivered":1,"position":3,"lag":2,"seq":2,"attempt":2,
			"error":"HTTP 500","blocked":{"seq":2,"since":"2026-01-02T03:04:05Z"},"attempts":[
			{"attempt":1,"at":"2026-01-02T03:04:05Z","ms":120,"from":2,"to":3,"by":"` + arn + `","requestId":"r-1","answer":"HTTP <500>"},
			{"attempt":2,"at":"2026-01-02T03:04:05Z","from":2,"to":2,"by":"worker-7","died":true}]}]}`,
		"/messages": `{"messages":[{"seq":2,"id":"m"}]}`, "/operations": `{}`,
	}
	page := answering(t, documents, ui.Options{Operate: true})
	body := shown(page, "message?queue=q&seq=2").Body.String()
	inOrder(t, body, ">blocked<", "Attempts of books", ">1<", "120 ms",
		`href="https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logsV2:log-groups/log-group/$252Faws$252Flambda$252Fbooks/log-events$3FfilterPattern$3D$2522r-1$2522"`,
		"books: its log", "HTTP &lt;500&gt;", ">2<", "worker-7", "nothing: it died")
	body = shown(page, "message?queue=q&seq=3").Body.String()
	if inOrder(t, body, "120 ms"); strings.Contains(body, "it died") {
		t.Errorf("it has an attempt on another message:\n%s", body)
	}
	inOrder(t, shown(page, "queue?queue=q").Body.String(), ">blocked<", "books", "failed 2 times",
		`href="#operate"`, "120 ms", "streamsort redrive q books")
}

// api answers as the API does about one queue, whose position grows each time that it is asked for.
func api(t *testing.T) (url string) {
	t.Helper()
	var asked atomic.Int64
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/queues" {
			asked.Add(1)
		}
		answer := map[string]string{
			"/queues":     fmt.Sprintf(`{"queue":"q","kind":"numbered","first":1,"position":"%d","maxParked":0}`, 9007199254740993+asked.Load()),
			"/consumers":  `{"queue":"q","consumers":[]}`,
			"/messages":   `{"messages":[]}`,
			"/operations": `{"operations":[]}`,
		}[r.URL.Path]
		_, _ = fmt.Fprint(w, answer)
	})
}

// TestLive gets a screen's content again when it has changed, with seqs that are exact beyond 2^53,
// also under a path prefix.
func TestLive(t *testing.T) {
	page := check.Get(ui.New(ui.Options{URL: api(t), Every: 200 * time.Millisecond}))
	server := serve(t, http.StripPrefix("/ops", page).ServeHTTP)
	answer, err := http.Get(server + "/ops/live?of=queue&queue=q")
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
	backend := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"list":[{"tag":"b%d"}]}`, asked.Add(1))
	})
	page := check.Get(ui.New(ui.Options{URL: backend, Every: time.Minute}))
	server := serve(t, page.ServeHTTP)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var tabs sync.WaitGroup
	for range 10 {
		tabs.Go(func() {
			check.Is(t, <-watch(ctx, server+"/live?of=chains"), "content")
		})
	}
	tabs.Wait()
	check.Is(t, asked.Load(), 1, "the API was asked")
}

// TestForbidden refuses what is not of the page: other names, other origins, forms without its
// token.
func TestForbidden(t *testing.T) {
	page := check.Get(ui.New(ui.Options{URL: api(t), Operate: true, Hosts: []string{"LocalHost"}}))
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
	picture := httptest.NewRequest(http.MethodGet, "http://localhost/queue?queue=q", nil)
	picture.Header = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"},
		"Sec-Fetch-Dest": {"image"}}
	refused := httptest.NewRecorder()
	page.ServeHTTP(refused, picture)
	check.Is(t, refused.Code, http.StatusForbidden, "a picture of another site")
	answer := shown(page, "queue?queue=q")
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
