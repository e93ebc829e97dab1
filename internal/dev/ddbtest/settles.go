package ddbtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// Settles fails the test where a read that need not be strong, or one of an index, does not come to
// show this. Every older state is right until then; in memory there is no older state.
func Settles[T any](t testing.TB, what string, read func() T, want T) {
	t.Helper()
	if strings.Contains(t.Name(), "/"+string(Memory)) {
		check.Is(t, cmp.Diff(want, read()), "", what)
		return
	}
	await.Until(t, what, func() (bool, any) {
		got := read()
		return cmp.Equal(got, want), cmp.Diff(want, got)
	})
}
