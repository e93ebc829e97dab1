package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// api answers as enqueue: each message gets the outcome that a test says.
func api(t *testing.T, status int, outcome func(document string) string) *producers {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Messages []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		var results []string
		for _, m := range in.Messages {
			results = append(results, fmt.Sprintf(`{"status":200,"outcome":%q}`, outcome(string(m))))
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"detail":"so it is","results":[%s]}`, strings.Join(results, ","))
	}))
	t.Cleanup(server.Close)
	p, err := newProducers(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProducersSeeWrongOutcomes(t *testing.T) {
	batch := []message{
		{queue: "q", seq: 1, document: []byte(`{"own":1}`)},
		{queue: "q", seq: 2, document: []byte(`{"own":2}`), conflict: []byte(`{"other":2}`)},
	}
	for name, c := range map[string]struct {
		own, other string
		violations int
	}{
		"right":                       {"parked", "conflict", 0},
		"a conflict is taken":         {"advanced", "advanced", 1},
		"messages are called others'": {"conflict", "conflict", 2},
		"messages are skipped":        {"late", "conflict", 2},
	} {
		p := api(t, http.StatusOK, func(document string) string {
			if strings.Contains(document, "own") {
				return c.own
			}
			return c.other
		})
		if err := p.send(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if sent := p.Sent(); sent.Messages != 3 || len(sent.Wrong) != c.violations {
			t.Errorf("%s: %s, %+v", name, p.Outcomes(), sent)
		}
	}
}

// TestProducersEndWhereRefused: an answer that no repeat changes ends them.
func TestProducersEndWhereRefused(t *testing.T) {
	p := api(t, http.StatusBadRequest, func(string) string { return "" })
	if err := p.send(t.Context(), []message{{document: []byte(`{}`)}}); err == nil || !strings.Contains(err.Error(), "so it is") {
		t.Errorf("error %v", err)
	}
}
