package main

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestEndpointConsumers: what process is started with is what its template has, but for the port.
func TestEndpointConsumers(t *testing.T) {
	written := check.Get(os.ReadFile("hooks/consumers.json"))
	want := check.Get(consumers.Read(written, os.LookupEnv))
	text := endpointConsumers("http://127.0.0.1:1234", "3s")
	all, err := consumers.Read([]byte(text), os.LookupEnv)
	check.That(t, err == nil && all[0].HasSink() && all[0].Reader.Apart &&
		reflect.DeepEqual(all[0].Reader, want[0].Reader), "%+v, %v", all, err)
}

// TestEndpoints: a check that never fails checks nothing.
func TestEndpoints(t *testing.T) {
	hook, err := standard.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	check.OK(t, err)
	type request struct {
		seq, token int
		id         string
		body, path string
		forged     bool
	}
	for says, requests := range map[string][]request{
		"":                      {{seq: 1, token: 1, id: "a"}, {seq: 1, token: 2, id: "a"}, {seq: 2, token: 3, id: "b"}},
		"1 was due":             {{seq: 2, token: 1, id: "b"}},
		"under another id":      {{seq: 1, token: 1, id: "a"}, {seq: 1, token: 2, id: "x"}},
		"under the token 1":     {{seq: 1, token: 1, id: "a"}, {seq: 1, token: 1, id: "a"}},
		"was never sent":        {{seq: 4, token: 1, id: "a"}},
		"another body":          {{seq: 1, token: 1, id: "a", body: "x"}},
		"its signature is not":  {{seq: 1, token: 1, id: "a", forged: true}},
		"came to the endpoint ": {{seq: 1, token: 1, id: "a", path: "/other"}},
	} {
		w := check.Get(newWorld(values{}, t.Output()))
		e := newEndpoints(w.Watch("endpoints", traffic.Named, traffic.All))
		e.hooks["q"] = hook
		for seq := range int64(3) {
			w.Account.Note(traffic.Plain("q", seq+1, "1", ""))
		}
		for _, r := range requests {
			body, path := cmp.Or(r.body, "1"), cmp.Or(r.path, "/q")
			now := time.Now()
			signature := check.Get(hook.Sign(r.id, now, []byte(body)))
			if r.forged {
				signature = "v1,AAAA"
			}
			asks := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			for name, value := range map[string]string{
				"Webhook-Id": r.id, "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10), "Webhook-Signature": signature,
				"Streamsort-Queue": "q", "Streamsort-Seq": strconv.Itoa(r.seq), "Streamsort-Token": strconv.Itoa(r.token) + "-req",
			} {
				asks.Header.Set(name, value)
			}
			answer := httptest.NewRecorder()
			if e.ServeHTTP(answer, asks); answer.Code != http.StatusNoContent {
				t.Errorf("answered %d", answer.Code)
			}
		}
		problems := strings.Join(e.watched.Report(), "\n")
		took, _ := e.watched.Took(0, traffic.All)
		check.That(t, (says != "" || problems == "" && len(e.watched.Missing()) == 1 &&
			e.watched.State().Again == 1 && len(took) == 2) && strings.Contains(problems, says), "%q: %s",
			says, problems)
	}
}

// TestManners: one in twenty is bad, in each way.
func TestManners(t *testing.T) {
	n := map[answer]int{}
	for i := range 1000 {
		n[mannerOf("hooks/"+strconv.Itoa(i))]++
	}
	check.That(t, len(n) == 5 && n[good] == 950, "%v", n)
	for manner, times := range n {
		check.That(t, times >= 10, "%+v: %d times", manner, times)
	}
}

// TestWaitsForNobody: one of 200 may take as long as the slow ones, one in ten may not.
func TestWaitsForNobody(t *testing.T) {
	fast := slices.Repeat([]time.Duration{time.Second}, 199)
	for _, c := range []struct {
		took  []time.Duration
		wrong int
	}{
		{append(slices.Clone(fast), 9*time.Second), 0},
		{append(slices.Clone(fast[:180]), slices.Repeat([]time.Duration{9 * time.Second}, 20)...), 1},
		{nil, 1},
	} {
		w := check.Get(newWorld(values{}, t.Output()))
		if w.waitsForNobody(c.took, 9*time.Second); len(w.Wrong) != c.wrong {
			t.Errorf("%d delays: %q", len(c.took), w.Wrong)
		}
	}
}

// healthy answers every request.
type healthy struct{ requests int }

func (h *healthy) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests++
	return &http.Response{StatusCode: http.StatusOK, Request: r,
		Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestNetwork(t *testing.T) {
	server := &healthy{}
	n := newNetwork(server, 1, faulty.Refused, faulty.Throttled, faulty.Lost, faulty.Failed)
	wrong := func(times int) map[string]int { // answers that are not the server's
		all := map[string]int{}
		for range times {
			response, err := n.RoundTrip(check.Get(http.NewRequestWithContext(t.Context(),
				http.MethodPost, "http://nowhere", strings.NewReader("{}"))))
			if err != nil {
				all[err.Error()]++
				continue
			}
			text := check.Get(io.ReadAll(response.Body))
			_ = response.Body.Close()
			if string(text) != "{}" {
				all[response.Status+string(text)]++
			}
		}
		return all
	}
	check.Is(t, len(wrong(1000)), 0, "undisturbed")
	n.disturb(true)
	const requests = 10_000
	disturbed, sum := wrong(requests), 0
	for _, times := range disturbed {
		sum += times
	}
	check.That(t, sum >= requests/between/2 && sum <= 2*requests/between && len(disturbed) >= 3,
		"%d requests of %d went wrong: %v", sum, requests, disturbed)
	planned := n.count()
	check.That(t, planned == sum || planned == sum+1, "%d were planned, %d went wrong", planned, sum)
	n.disturb(false)
	check.Is(t, len(wrong(1000)), 0, "undisturbed again")
	done := server.requests
	check.That(t, done < requests+2000 && done >= requests, "%d %d", done, requests+2000)
	for _, kind := range []faulty.Fault{faulty.Refused, faulty.Throttled, faulty.Lost, faulty.Failed} {
		check.That(t, strings.Contains(n.String(), string(kind)), "no %q in %q", kind, n.String())
	}
}
