package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/ui"
)

// fleet answers as the API does where the consumer c is blocked in so many queues.
type fleet struct {
	queues int
	sync.Mutex
	acts   []string      // the ids of the operations, in their order
	held   chan struct{} // operations wait for it to be closed
	goesOn func()        // closes it

	claimed string // the queue of one that refuses
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := map[string]any{}
	blocked := map[string]any{"seq": 1, "since": "2026-01-02T03:04:05Z"}
	switch q := r.URL.Query(); {
	case r.Method == http.MethodPost:
		var asked struct{ ID, Queue string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		f.Lock()
		f.acts = append(f.acts, asked.ID)
		f.Unlock()
		<-f.held
		if f.claimed != "" && asked.Queue == f.claimed {
			w.WriteHeader(http.StatusConflict)
			answer = map[string]any{"status": http.StatusConflict, "code": "claimed",
				"detail": "a claim is in flight"}
		}
	case r.URL.Path == "/operations":
		answer["operations"] = []any{}
	case q.Get("queue") != "":
		c := map[string]any{"consumer": "c", "state": "blocked", "blocked": blocked, "seq": 1,
			"error": "no such account"}
		answer["consumers"] = []any{c}
	default:
		var list []any
		for i := range f.queues {
			list = append(list, map[string]any{
				"queue": fmt.Sprint("q<", i), "consumer": "c", "since": blocked["since"], "ageSeconds": 1,
			})
		}
		answer["list"] = list
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *fleet) begun() int {
	f.Lock()
	defer f.Unlock()
	return len(f.acts)
}

// bulkPage is a page of a fleet, for those who have the token that is in a request's context.
func bulkPage(t *testing.T, queues int) (*fleet, *ui.UI) {
	f := &fleet{queues: queues, held: make(chan struct{})}
	f.goesOn = sync.OnceFunc(func() { close(f.held) })
	backend := httptest.NewServer(f)
	page := check.Get(ui.New(ui.Options{URL: backend.URL, Operate: true, Token: ofContext}))
	t.Cleanup(func() {
		f.goesOn()
		page.Close()
		backend.Close()
	})
	return f, page
}

// sent is the answer to a form of the page, whose browser then leaves.
func sent(page http.Handler, path, form string) *httptest.ResponseRecorder {
	_, after, _ := strings.Cut(shown(page, "bulk").Body.String(), `name="token" value="`)
	token, _, _ := strings.Cut(after, `"`)
	body := strings.NewReader(form + "&token=" + token)
	request := httptest.NewRequest(http.MethodPost, "http://localhost/"+path, body)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ctx, leaves := context.WithCancel(request.Context())
	defer leaves()
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, request.WithContext(ctx))
	return answer
}

// posts sends a form of the page, and returns the address that it leads to.
func posts(t *testing.T, page http.Handler, path, form string) string {
	t.Helper()
	answer := sent(page, path, form)
	check.Need(t, answer.Code == http.StatusSeeOther, "%s: %d %s", path, answer.Code, answer.Body)
	return answer.Header().Get("Location")
}

// shows waits until a screen, asked for again each time, has some texts.
func shows(t *testing.T, page http.Handler, address string, texts ...string) (body string) {
	t.Helper()
	await.Until(t, address+" to show "+strings.Join(texts, ", "), func() (bool, any) {
		body = shown(page, address).Body.String()
		const over = "state stopped"
		check.Need(t, !strings.Contains(body, over) || slices.Contains(texts, over),
			"it is stopped: %s", body)
		for _, text := range texts {
			if !strings.Contains(body, text) {
				return false, body
			}
		}
		return true, nil
	})
	return body
}

const redrive = "action=redrive&reason=the+ledger+is+back&rate=1000"

// TestBulkOnThePage: a dry run, which is started, goes on without the browser, and is shown to its
// end.
func TestBulkOnThePage(t *testing.T) {
	f, page := bulkPage(t, 3)
	at := posts(t, page, "look", redrive)
	shows(t, page, at, "redrive of 3 consumers", "Nothing is done yet", "q&lt;0", `id="start"`)
	n := f.begun()
	check.Need(t, n == 0, "%d operations are begun by a dry run", n)
	id := strings.TrimPrefix(at, "run?")
	for range 2 { // a form that is sent twice is carried out once
		check.Is(t, posts(t, page, "start", id), at, "it leads to")
	}
	shows(t, page, at, "running", "0 done", `id="stop"`)
	await.True(t, "the operations", func() bool { return f.begun() >= 3 })
	f.goesOn()
	body := shows(t, page, at, `done</span> redrive`,
		"3 done, 0 done already, 0 changed meanwhile, 0 failed")
	check.That(t, !strings.Contains(body, `id="stop"`) && !strings.Contains(body, `id="go-on"`),
		"it is over: %s", body)
	shows(t, page, "bulk", `href="`+at+`"`, "the ledger is back")
	n = f.begun()
	check.That(t, n == 3, "%d operations for 3 consumers", n)
	left := page.Close()
	check.That(t, left == nil, "cut short: %v", left)
}

// TestBulkOfPicked: a dry run of those that are picked lists them alone, with what they are at, and
// then what became of each.
func TestBulkOfPicked(t *testing.T) {
	f, page := bulkPage(t, 3)
	f.goesOn()
	f.claimed = "q<2"
	picks := "&picks=yes&pick=" + url.QueryEscape(`["q<1","c"]`) + "&pick=" +
		url.QueryEscape(`["q<2","c"]`)
	at := posts(t, page, "look", redrive+picks)
	body := shows(t, page, at, "redrive of 2 consumers", "Nothing is done yet", "It would touch")
	if inOrder(t, body, ">q&lt;1<", ">1<", "no such account",
		">q&lt;2<"); strings.Contains(body, "q&lt;0") {
		t.Errorf("it has one that is not picked:\n%s", body)
	}
	posts(t, page, "start", strings.TrimPrefix(at, "run?"))
	body = shows(t, page, at, `done</span> redrive`,
		"1 done, 0 done already, 0 changed meanwhile, 1 failed", `id="go-on"`)
	inOrder(t, body, `name="pick" value="[&#34;q\u003c1&#34;,&#34;c&#34;]"`, ">q&lt;1<", ">done<",
		">q&lt;2<", ">failed<", "a claim is in flight")
	check.Is(t, f.begun(), 2)
}

// TestBulkStopped: a run that is stopped says so, and goes on under its name.
func TestBulkStopped(t *testing.T) {
	f, page := bulkPage(t, 300)
	at := posts(t, page, "look", redrive)
	shows(t, page, at, "Nothing is done yet")
	id := strings.TrimPrefix(at, "run?")
	posts(t, page, "start", id)
	await.True(t, "an operation", func() bool { return f.begun() > 0 })
	posts(t, page, "stop", id)
	shows(t, page, at, "state stopping")
	f.goesOn()
	body := shows(t, page, at, "state stopped", "before all had their turn: interrupted", `id="go-on"`)
	begun := f.begun()
	check.Need(t, begun != 300, "it was not stopped")
	_, after, _ := strings.Cut(body, `name="run" value="`)
	name, _, _ := strings.Cut(after, `"`)
	again := posts(t, page, "look", redrive+"&run="+name)
	shows(t, page, again, "redrive of 300 consumers", "<dd>"+name+"</dd>")
	posts(t, page, "start", strings.TrimPrefix(again, "run?"))
	shows(t, page, again, `done</span> redrive`, "300 done")
	for _, act := range f.acts {
		check.That(t, strings.HasPrefix(act, name+"-"),
			"an operation has the id %s, in the run %s", act, name)
	}
}

// TestBulkEndsWithThePage: what is under way when the page ends is named, and nothing new begins.
func TestBulkEndsWithThePage(t *testing.T) {
	f, page := bulkPage(t, 300)
	at := posts(t, page, "look", redrive)
	shows(t, page, at, "Nothing is done yet")
	posts(t, page, "start", strings.TrimPrefix(at, "run?"))
	await.True(t, "an operation", func() bool { return f.begun() > 0 })
	ended := make(chan []string)
	go func() { ended <- page.Close() }()
	shows(t, page, at, "running")
	f.goesOn()
	left := <-ended
	check.That(t, len(left) == 1 && strings.HasPrefix(left[0], "redrive was cut short after ") &&
		strings.Contains(left[0], "goes on with run 1"), "%v", left)
	n := f.begun()
	check.That(t, n != 300, "all was done")
	answer := sent(page, "look", redrive)
	check.That(t, answer.Code == http.StatusBadRequest, "a new one begins: %d", answer.Code)
}

// TestBulkOfAnother: who has another token sees nothing of it, and cannot start it.
func TestBulkOfAnother(t *testing.T) {
	f, page := bulkPage(t, 3)
	at := posts(t, page, "look", redrive)
	shows(t, page, at, "Nothing is done yet")
	another := context.WithValue(t.Context(), tokenOf{}, "another")
	for _, address := range []string{at, "bulk"} {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "http://localhost/"+address, nil)
		page.ServeHTTP(answer, request.WithContext(another))
		check.That(t, !strings.Contains(answer.Body.String(), "the ledger is back"),
			"%s shows it: %d", address, answer.Code)
	}
	answer := shown(page, "run?run=none")
	check.That(t, answer.Code == http.StatusNotFound &&
		strings.Contains(answer.Body.String(), "end with it"),
		"%d %s", answer.Code, answer.Body)
	check.Is(t, f.begun(), 0)
}

// TestBulkForms that are wrong are refused with the field, and nothing is looked at.
func TestBulkForms(t *testing.T) {
	_, page := bulkPage(t, 0)
	body := shows(t, page, posts(t, page, "look", redrive), "there is nothing to do")
	check.That(t, !strings.Contains(body, `id="start"`), "%v", body)
	for form, says := range map[string]string{
		"action=pause&reason=r":              "consumer is missing",
		"action=redrive":                     "reason is missing: it must have 1 to ",
		"action=redrive&reason=r&rate=x":     "rate is &#34;x&#34;",
		"action=redrive&reason=r&since=soon": "since is &#34;soon&#34;",
		"action=redrive&reason=r&run=x":      "run is &#34;x&#34;",
		"action=redrive&reason=r&picks=yes":  "no consumer is picked",
		"action=redrive&reason=r&pick=x":     "pick is &#34;x&#34;",
	} {
		answer := sent(page, "look", form)
		check.That(t, answer.Code == http.StatusBadRequest &&
			strings.Contains(answer.Body.String(), says),
			"%s: %d, has no %s:\n%s", form, answer.Code, says, answer.Body)
	}
}
