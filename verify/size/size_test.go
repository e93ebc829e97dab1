package main

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestOnlyFalls: a count that rose is named, and written only with a reason; one that fell is
// written without.
func TestOnlyFalls(t *testing.T) {
	s := check.Get(parse("# head\n\na: 3\nb: 5\n\n+ 2026-01-02 a: as it was\n"))
	now := []entry{{"a", 4}, {"b", 2}, {"c", 1}}
	rose := s.compare(io.Discard, now)
	if want := []string{"a", "c"}; !slices.Equal(rose, want) {
		t.Errorf("rose: %q, want %q", rose, want)
	}
	got := s.renew(now, rose, "a tool", time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))
	want := "# head\n\na: 4\nb: 2\nc: 1\n\n+ 2026-01-02 a: as it was\n+ 2026-11-26 a; c: a tool\n"
	check.Is(t, got, want)
	again := check.Get(parse(got))
	rose = again.compare(io.Discard, now)
	check.That(t, len(rose) == 0, "rose after the update: %q", rose)
}
