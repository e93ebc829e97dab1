package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestBankSeesWhatIsWrong: a check that never fails checks nothing.
func TestBankSeesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		charges []string // id and attempt
		wrong   int
	}{
		"right":                  {[]string{"a/1 1", "a/2 1", "b/1 1"}, 0},
		"again, as attempt 2":    {[]string{"a/1 1", "a/1 2", "a/2 1"}, 0},
		"again, as attempt 1":    {[]string{"a/1 1", "a/1 1"}, 1},
		"out of order":           {[]string{"a/2 1", "a/1 1"}, 2},
		"one left out":           {[]string{"a/1 1", "a/4 1"}, 1},
		"accounts are their own": {[]string{"a/1 1", "b/1 1", "b/2 1", "a/2 1"}, 0},
	} {
		w := check.Get(newWorld(values{}, t.Output()))
		for _, account := range []string{"a", "b"} {
			for seq := range int64(4) {
				w.Account.Note(charge(account, seq+1, "{}"))
			}
		}
		b := &bank{watched: w.Watch("bank", traffic.Once, traffic.All), receipts: map[string]int{}}
		for _, charge := range c.charges {
			id, attempt, _ := strings.Cut(charge, " ")
			request := httptest.NewRequest(http.MethodPost, "/charges?id="+id, nil)
			request.Header.Set("Attempt", attempt)
			b.ServeHTTP(httptest.NewRecorder(), request)
		}
		check.Is(t, len(b.watched.Report()), c.wrong, name)
	}
}
