//go:build unix && whole

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestTwoLocalStacks: the context local is the stack that was started last, and the one before it again when that ends.
func TestTwoLocalStacks(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	stack := func() *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/_streamsort/health" {
				w.WriteHeader(http.StatusNotFound)
			}
		}))
	}
	meant := func(want string) {
		t.Helper()
		all, err := readPlaces()
		if err != nil || all.Contexts[localContext].URL != want {
			t.Errorf("the context is %q, want %q, %v", all.Contexts[localContext].URL, want, err)
		}
	}
	first, second := stack(), stack()
	defer second.Close()
	begin := func(s *httptest.Server, instead string) (forget func()) {
		t.Helper()
		before, forget, err := register(place{URL: s.URL})
		if err != nil || before.URL != instead {
			t.Errorf("in place of %q, want %q, %v", before.URL, instead, err)
		}
		meant(s.URL)
		return forget
	}
	endFirst := begin(first, "")
	begin(second, first.URL)()
	meant(first.URL)
	endSecond := begin(second, first.URL)
	endFirst()
	meant(second.URL)
	first.Close()
	endSecond()
	meant("")
}
