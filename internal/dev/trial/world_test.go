package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestVerdict: what a watcher, the sender or the scenario finds wrong, and what is lost, fails.
func TestVerdict(t *testing.T) {
	for says, spoil := range map[string]func(*World){
		"":                                 func(*World) {},
		"sink: seq 9 of queue \"q\" was n": func(w *World) { w.Watchers[0].Take(traffic.Output{Place: traffic.At("q", 9)}) },
		"1 messages are lost, the first is seq 2": func(w *World) { w.Account.Note(traffic.Plain("q", 2, "2", "")) },
		"other: nothing came out":                 func(w *World) { w.Watch("other", traffic.Unordered, traffic.All) },
		"the scenario's":                          func(w *World) { w.Not("%s", "the scenario's") },
	} {
		var out bytes.Buffer
		w := check.Get(New(&out))
		w.Account.Note(traffic.Plain("q", 1, "1", ""))
		w.Watch("sink", traffic.Unordered, traffic.All).
			Take(traffic.Output{Place: traffic.At("q", 1), Token: 1, Sums: traffic.SumsOf([]byte("1"))})
		spoil(w)
		err := w.Verdict()
		check.That(t, (err != nil) == (says != "") && (err == nil || strings.Contains(err.Error(), says)),
			"%q: error %v", says, err)
		check.That(t, strings.Contains(out.String(), "out, sink"), "%q: it says %s", says, &out)
	}
}

// TestEnd: what came last ends first, what runs is waited for, and folders are gone.
func TestEnd(t *testing.T) {
	w := check.Get(New(t.Output()))
	var ended []string
	w.Later(func() { ended = append(ended, "first") })
	stop := w.During(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		ended = append(ended, "second")
		return errors.New("its error")
	})
	w.Later(func() { ended = append(ended, "third") })
	w.End()
	w.End()
	check.That(t, slices.Equal(ended, []string{"third", "second", "first"}), "%q", ended)
	err := stop()
	check.That(t, err != nil && err.Error() == "its error", "error %v", err)
}

// api answers as enqueue: each message gets the outcome that a test says.
func api(t *testing.T, outcome func(document string) string) *World {
	t.Helper()
	w, err := New(t.Output())
	check.OK(t, err)
	t.Cleanup(w.End)
	w.Sender, err = traffic.NewSender(
		w.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	batch := []traffic.Message{
		{Place: traffic.At("q", 1), Document: []byte(`{"own":1}`)},
		{Place: traffic.At("q", 2), Document: []byte(`{"own":2}`), Conflict: []byte(`{"other":2}`)},
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
		check.OK(t, w.SendAll(t.Context(), 2, 25, batch))
		sent := w.Sender.Sent()
		check.That(t, sent.Messages == 3 && len(sent.Wrong) == c.violations, "%s: %+v", name, sent)
		messages, queues := w.Account.Count()
		check.That(t, messages == 2 && queues == 1, "%s %d %d", name, messages, queues)
	}
}

// TestSendEndsWhereRefused: an answer that no repeat changes ends it.
func TestSendEndsWhereRefused(t *testing.T) {
	w := api(t, func(string) string { return "" })
	err := w.SendAll(t.Context(), 1, 1, []traffic.Message{traffic.Plain("q", 1, "1", "")})
	check.That(t, err != nil && strings.Contains(err.Error(), "so it is"), "error %v", err)
}

// TestGet reads a list page by page.
func TestGet(t *testing.T) {
	w := check.Get(New(t.Output()))
	defer w.End()
	sender := check.Get(
		traffic.NewSender(w.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w,
				map[string]string{"": `{"list":["a"],"next":"n"}`, "n": `{"list":["b"]}`}[r.FormValue("after")])
		}))))
	all := check.Get(Get[string](t.Context(), sender.Client, "/", url.Values{}))
	check.That(t, slices.Equal(all, []string{"a", "b"}), "%q", all)
}
