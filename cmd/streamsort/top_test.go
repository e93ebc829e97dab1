package main

import (
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

// TestViewFits the terminal, whatever its size is, and says what it does not show.
func TestViewFits(t *testing.T) {
	r := &reading{at: time.Now(), more: true}
	for _, queue := range []printable.Name{"a", "b", "c"} {
		r.consumers = append(r.consumers, at(queue+"\x1b[2J", 5))
	}
	v := &topView{s: &session{}}
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

// at is a consumer that retries, and its lag.
func at(queue printable.Name, lag jsonseq.Seq) listed {
	return listed{Head: view.Head{Queue: queue, Consumer: "x", State: view.Retrying, Attempt: 2, Error: "no answer", Lag: &lag}}
}

// TestTrend is by the second, and not known of what was not there before.
func TestTrend(t *testing.T) {
	now := time.Now()
	v := &topView{s: &session{}}
	v.take(&reading{at: now, consumers: []listed{at("a", 10), at("b", 10), at("c", 9007199254740993)}})
	v.take(&reading{at: now.Add(2 * time.Second), consumers: []listed{at("a", 13), at("b", 4), at("c", 9007199254740993), at("d", 0)}})
	for i, want := range []string{"c = 0/s", "a ▲ +1.5/s", "b ▼ -3.0/s", "d -"} {
		if got := string(v.rows[i].Queue) + " " + v.rows[i].trend(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
