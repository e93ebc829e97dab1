package main

import (
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/printable"
)

// TestViewFits the terminal, whatever its size is, and says what it does not show.
func TestViewFits(t *testing.T) {
	r := &reading{at: time.Now(), more: true}
	for _, queue := range []printable.Name{"a", "b", "c"} {
		r.consumers = append(r.consumers, listed{Queue: queue + "\x1b[2J", Consumer: "x", State: "retrying", Attempt: 2, Error: "no answer", Lag: "5"})
	}
	v := &view{s: &session{}}
	if got := v.lines(size{80, 24}); got[0] != "reading …" {
		t.Errorf("%q", got)
	}
	v.take(r)
	for lines, want := range map[int]string{5: "… and 2 or more: --limit reads others", 8: "… and 0 or more: --limit reads others", 24: "… and 0 or more: --limit reads others"} {
		got := v.lines(size{80, lines})
		if lines > 5 && len(got) > lines || got[len(got)-1] != want {
			t.Errorf("%d lines: %q", lines, got)
		}
	}
	all := strings.Join(v.lines(size{80, 24}), "\n")
	if !strings.Contains(all, "all is ok") || !strings.Contains(all, "no answer (attempt 2)") || !strings.Contains(all, `a\x1b[2J`) {
		t.Errorf("%s", all)
	}
	v.take(&reading{at: time.Now()})
	if got := v.lines(size{80, 24}); got[len(got)-1] != "no consumer" {
		t.Errorf("%q", got)
	}
}

// TestTrend is by the second, and not known of what was not there before.
func TestTrend(t *testing.T) {
	now := time.Now()
	v := &view{s: &session{}}
	v.take(&reading{at: now, consumers: []listed{{Queue: "a", Lag: "10"}, {Queue: "b", Lag: "10"}, {Queue: "c", Lag: "9007199254740993"}}})
	v.take(&reading{at: now.Add(2 * time.Second), consumers: []listed{{Queue: "a", Lag: "13"}, {Queue: "b", Lag: "4"}, {Queue: "c", Lag: "9007199254740993"}, {Queue: "d"}}})
	for i, want := range []string{"c = 0/s", "a ▲ +1.5/s", "b ▼ -3.0/s", "d -"} {
		if got := string(v.rows[i].Queue) + " " + v.rows[i].trend(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
