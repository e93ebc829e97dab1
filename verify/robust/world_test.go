package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestVerdict: what a watcher, the sender or the scenario finds wrong, and what is lost, fails.
func TestVerdict(t *testing.T) {
	for says, spoil := range map[string]func(*world){
		"":                                 func(*world) {},
		"sink: seq 9 of queue \"q\" was n": func(w *world) { w.watchers[0].take(output{place: place{"q", 9}}) },
		"1 messages are lost, the first is seq 2": func(w *world) { w.account.note(plain("q", 2, "2", "")) },
		"other: nothing came out":                 func(w *world) { w.watch("other", unordered, getsGood) },
		"the scenario's":                          func(w *world) { w.not("%s", "the scenario's") },
	} {
		var out bytes.Buffer
		w, err := newWorld(values{}, &out)
		check.OK(t, err)
		w.account.note(plain("q", 1, "1", ""))
		w.watch("sink", unordered, all).take(output{place: place{"q", 1}, token: 1, sums: sumsOf([]byte("1"))})
		spoil(w)
		err = w.verdict()
		check.That(t, (err != nil) == (says != "") && (err == nil || strings.Contains(err.Error(), says)),
			"%q: error %v", says, err)
		check.That(t, strings.Contains(out.String(), "out, sink"), "%q: it says %s", says, &out)
	}
}

// TestEnd: what came last ends first, what runs is waited for, and folders are gone.
func TestEnd(t *testing.T) {
	w := check.Get(newWorld(values{}, t.Output()))
	var ended []string
	w.later(func() { ended = append(ended, "first") })
	stop := w.during(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		ended = append(ended, "second")
		return errors.New("its error")
	})
	w.later(func() { ended = append(ended, "third") })
	w.end()
	w.end()
	check.That(t, slices.Equal(ended, []string{"third", "second", "first"}), "%q", ended)
	err := stop()
	check.That(t, err != nil && err.Error() == "its error", "error %v", err)
}

// TestMust: an error ends the scenario with the stage's name before it, and all that was started.
func TestMust(t *testing.T) {
	var folder string
	ended := false
	s := scenario{name: "one", run: func(ctx context.Context, w *world) {
		folder = w.folder()
		w.during(ctx, func(ctx context.Context) error { <-ctx.Done(); ended = true; return nil })
		w.stages(ctx, []stage{{"a stage", func(context.Context) { check.Must(errors.New("its error")) }}})
		t.Error("it goes on")
	}}
	err := s.play(t.Context(), values{}, t.Output())
	check.Need(t, err != nil, "no error")
	check.Has(t, err.Error(), "a stage: its error")
	_, left := os.Stat(folder)
	check.That(t, ended && os.IsNotExist(left), "ended %t, folder %v", ended, left)
}

// api answers as enqueue: each message gets the outcome that a test says.
func api(t *testing.T, outcome func(document string) string) *world {
	t.Helper()
	w, err := newWorld(values{}, t.Output())
	check.OK(t, err)
	t.Cleanup(w.end)
	w.sender, err = traffic.NewSender(w.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Messages []json.RawMessage }
		err := json.NewDecoder(r.Body).Decode(&in)
		check.That(t, err == nil, "%v", err)
		var results []string
		for _, m := range in.Messages {
			said := outcome(string(m))
			if said == "" {
				w.WriteHeader(http.StatusBadRequest)
			}
			results = append(results, fmt.Sprintf(`{"status":200,"outcome":%q}`, said))
		}
		_, _ = fmt.Fprintf(w, `{"detail":"so it is","results":[%s]}`, strings.Join(results, ","))
	})))
	check.OK(t, err)
	return w
}

// TestSendSeesWrongOutcomes: what is sent is accepted, or was, and what conflicts is refused.
func TestSendSeesWrongOutcomes(t *testing.T) {
	batch := []message{
		{place: place{"q", 1}, document: []byte(`{"own":1}`)},
		{place: place{"q", 2}, document: []byte(`{"own":2}`), conflict: []byte(`{"other":2}`)},
	}
	for name, c := range map[string]struct {
		own, other string
		violations int
	}{
		"right":                       {"parked", "conflict", 0},
		"a conflict is taken":         {"advanced", "advanced", 1},
		"messages are called others'": {"conflict", "conflict", 2},
		"messages are skipped":        {"late", "conflict", 2},
		"duplicates of lost answers":  {"duplicate", "conflict", 0},
	} {
		w := api(t, func(document string) string {
			if strings.Contains(document, "own") {
				return c.own
			}
			return c.other
		})
		check.OK(t, w.sendAll(t.Context(), 2, 25, batch))
		sent := w.sender.Sent()
		check.That(t, sent.Messages == 3 && len(sent.Wrong) == c.violations, "%s: %+v", name, sent)
		messages, queues := w.account.count()
		check.That(t, messages == 2 && queues == 1, "%s %d %d", name, messages, queues)
	}
}

// TestSendEndsWhereRefused: an answer that no repeat changes ends it.
func TestSendEndsWhereRefused(t *testing.T) {
	w := api(t, func(string) string { return "" })
	err := w.sendAll(t.Context(), 1, 1, []message{plain("q", 1, "1", "")})
	check.That(t, err != nil && strings.Contains(err.Error(), "so it is"), "error %v", err)
}

// TestBlocked reads the list page by page.
func TestBlocked(t *testing.T) {
	w, err := newWorld(values{}, t.Output())
	check.OK(t, err)
	defer w.end()
	w.sender, err = traffic.NewSender(w.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{"": `{"list":[{"queue":"a"}],"next":"n"}`, "n": `{"list":[{"queue":"b"}]}`}[r.URL.Query().Get("after")]
		_, _ = fmt.Fprint(w, answer)
	})))
	check.OK(t, err)
	queues := check.Get(w.blocked(t.Context()))
	check.That(t, slices.Equal(queues, []string{"a", "b"}), "%+v", queues)
}
