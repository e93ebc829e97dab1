//go:build unix && whole

package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestTwoLocalStacks: the context local is the stack that was started first, as long as it runs;
// another has one of its own, and neither takes the other's away.
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
	first, second := stack(), stack()
	defer second.Close()
	own := "local-" + second.URL[strings.LastIndexByte(second.URL, ':')+1:]
	begin := func(s *httptest.Server, want string) (forget func()) {
		t.Helper()
		name, forget, err := register(place{URL: s.URL})
		if err != nil || name != want {
			t.Errorf("the context is %q, want %q, %v", name, want, err)
		}
		return forget
	}
	are := func(want ...string) {
		t.Helper()
		all, err := readPlaces()
		if got := slices.Sorted(maps.Keys(all.Contexts)); err != nil || !slices.Equal(got, want) {
			t.Errorf("contexts %q, want %q, %v", got, want, err)
		}
	}
	endFirst := begin(first, "local")
	endSecond := begin(second, own)
	are("local", own)
	endSecond()
	are("local")
	endSecond = begin(second, own)
	endFirst()
	are(own)
	endSecond()
	are()
	begin(first, "local") // and is killed
	begin(first, "local") // and the next one is where it was
	first.Close()
	begin(second, "local")()
	are()
}
