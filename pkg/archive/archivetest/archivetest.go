// Package archivetest holds every implementation of [archive.Store] to what that
// interface promises. Call [Run] from a test of the implementation.
package archivetest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Run runs the suite on a Store that is empty.
func Run(t *testing.T, s archive.Store) {
	get := func(key string, want []byte) {
		t.Helper()
		got, err := s.Get(t.Context(), key)
		if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%.40s: %d bytes, %v; want %d", key, len(got), err, len(want))
		}
	}
	put := func(key string, document []byte) {
		t.Helper()
		if err := s.Put(t.Context(), key, document); err != nil {
			t.Fatal(err)
		}
	}
	get("q/1", nil)
	for range 2 {
		put("q/1", []byte("one"))
		get("q/1", []byte("one"))
	}
	put("q/1", []byte("another"))
	get("q/1", []byte("another"))
	get("q/", nil)
	get("Q/1", nil)
	long := strings.Repeat("%41", 341) + "x"
	large := bytes.Repeat([]byte{0, '\n', 0xff}, (cursor.MaxBody+20<<10)/3)
	put(long, large)
	get(long, large)
	get("q/1", []byte("another"))
	put("q/2", []byte("two"))
	for range 2 {
		if err := s.Delete(t.Context(), []string{"q/1", long, "q/3"}); err != nil {
			t.Fatal(err)
		}
		get("q/1", nil)
		get(long, nil)
		get("q/2", []byte("two"))
	}
}
