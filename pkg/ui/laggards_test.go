package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/ui"
)

// manyBehind answers as the API does where 30 consumers are behind: the later their queue's name, the longer, and the
// greater their lag. gone is the queue of one that is not there any more.
func manyBehind(t *testing.T, gone string) (url string, single *atomic.Int64) {
	t.Helper()
	single = new(atomic.Int64)
	now := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		answer := ""
		switch queue := q.Get("queue"); {
		case r.URL.Path == "/summary":
			answer = `{"states":{"lagging":{"count":30}}}`
		case queue != "" && queue == gone:
			single.Add(1)
			w.WriteHeader(http.StatusNotFound)
			answer = `{"status":404,"detail":"there is no such consumer"}`
		case queue != "":
			single.Add(1)
			answer = fmt.Sprintf(`{"consumers":[{"consumer":%q,"state":"READY","delivered":"0","position":"900%s","lag":"900%s"}]}`, q.Get("consumer"), queue[1:], queue[1:])
		case q.Get("state") == "lagging":
			var rows []string
			for i := range 30 {
				rows = append(rows, fmt.Sprintf(`{"queue":"q%02d","consumer":"c","state":"lagging","since":%q}`, i, now.Add(-time.Duration(i)*time.Minute).Format(time.RFC3339)))
			}
			answer = `{"list":[` + strings.Join(rows, ",") + `]}`
		default:
			answer = `{"list":[{"queue":"other","consumer":"c","state":"READY","lag":"7"}],"next":"more"}`
		}
		if _, err := fmt.Fprint(w, answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, single
}

// look is the overview as somebody with a token sees it.
func look(t *testing.T, page http.Handler, token string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "http://localhost/overview", nil)
	page.ServeHTTP(answer, request.WithContext(context.WithValue(t.Context(), tokenOf{}, token)))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// tokenOf is the key of a request's token.
type tokenOf struct{}

// TestOverviewShowsWhoIsBehind: those that have been behind for the longest, the greatest lag first, wherever their
// queues are; one that is gone is left out. However many look, each is asked for once in a while.
func TestOverviewShowsWhoIsBehind(t *testing.T) {
	url, asked := manyBehind(t, "q15")
	page, err := ui.New(ui.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		body := look(t, page, "")
		first, last := strings.Index(body, ">90029<"), strings.Index(body, ">90010<")
		if first < 0 || last < first {
			t.Fatalf("the lags of q29 and q10 are at %d and %d of\n%s", first, last, body)
		}
		for _, other := range []string{">q09<", ">q15<"} {
			if strings.Contains(body, other) {
				t.Errorf("%s is shown", other)
			}
		}
		if !strings.Contains(body, ">other<") { // there is room for one
			t.Error("a consumer that is not behind is not shown, and there is room")
		}
	}
	if n := asked.Load(); n != 20 {
		t.Errorf("single consumers were asked for %d times, not 20", n)
	}
}

// TestWhoLooks: what was seen by one who has a token is asked for again for another.
func TestWhoLooks(t *testing.T) {
	url, asked := manyBehind(t, "")
	page, err := ui.New(ui.Options{URL: url, Token: func(ctx context.Context) (string, error) {
		token, _ := ctx.Value(tokenOf{}).(string)
		return token, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, token := range []string{"a", "b", "a"} {
		look(t, page, token)
		if want := int64(min(20*(i+1), 40)); asked.Load() != want {
			t.Errorf("after %d looks, single consumers were asked for %d times, not %d", i+1, asked.Load(), want)
		}
	}
}

// TestOverviewShowsWhoIsBlocked: lagging has none of those that do not move at all, and they are the farthest behind.
func TestOverviewShowsWhoIsBlocked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		answer := map[string]string{
			"":        `{"list":[{"queue":"other","consumer":"c","state":"IDLE","lag":"0"}]}`,
			"lagging": `{"list":[{"queue":"slow","consumer":"c","state":"lagging","since":"2026-01-02T03:04:05Z"}]}`,
			"blocked": `{"list":[{"queue":"stuck","consumer":"c","state":"blocked","since":"2026-01-02T03:04:06Z"}]}`,
		}[q.Get("state")]
		switch {
		case r.URL.Path == "/summary":
			answer = `{"states":{"lagging":{"count":1},"blocked":{"count":1}}}`
		case q.Get("queue") == "slow":
			answer = `{"consumers":[{"consumer":"c","state":"IDLE","lag":"7"}]}`
		case q.Get("queue") == "stuck":
			answer = `{"consumers":[{"consumer":"c","state":"BLOCKED","lag":"9007199254740993"}]}`
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	page, err := ui.New(ui.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	body := look(t, page, "")
	stuck, slow, other := strings.Index(body, ">9007199254740993<"), strings.Index(body, ">7<"), strings.Index(body, ">other<")
	if stuck < 0 || slow < stuck || other < slow {
		t.Errorf("they are at %d, %d and %d of\n%s", stuck, slow, other, body)
	}
}
