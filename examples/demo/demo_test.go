package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/jsonseq"
)

// TestTreesSeeWhatIsEarly: what is committed and has no line of its work is
// found.
func TestTreesSeeWhatIsEarly(t *testing.T) {
	w := &trees{done: map[string]map[int64]bool{"q": {}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.line(`{"message":"work","queue":"q","seq":1}`)
	w.line(`{"message":"other","queue":"q","seq":2}`)
	w.line(`no JSON`)
	if !w.isDone(ctx, "q", 1) || w.isDone(ctx, "q", 2) {
		t.Errorf("done: %v", w.done)
	}
}

// TestAcceptanceSeesWhatIsWrong: as with the watcher.
func TestAcceptanceSeesWhatIsWrong(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	for name, c := range map[string]struct {
		// each is a message's id, body and seq, and when it was sent and answered.
		sent  [][5]int
		wrong int
	}{
		"right":             {[][5]int{{1, 1, 1, 0, 9}, {2, 1, 2, 3, 4}, {1, 1, 1, 5, 6}}, 0},
		"at once":           {[][5]int{{1, 1, 2, 0, 9}, {2, 1, 1, 3, 4}}, 0},
		"out of order":      {[][5]int{{1, 1, 2, 0, 1}, {2, 1, 1, 3, 4}}, 1},
		"a gap":             {[][5]int{{1, 1, 1, 0, 1}, {2, 1, 3, 3, 4}}, 1},
		"two numbers":       {[][5]int{{1, 1, 1, 0, 1}, {1, 1, 2, 3, 4}}, 1},
		"no number":         {[][5]int{{1, 1, 0, 0, 1}}, 1},
		"another's, so far": {[][5]int{{1, 1, 1, 0, 1}, {1, 2, 1, 3, 4}}, 1},
	} {
		var arrivals []traffic.Arrival
		var answers []answered
		for _, s := range c.sent {
			a, err := traffic.NewArrival(fmt.Appendf(nil, `{"queue":"q","id":"m-%d","body":%d}`, s[0], s[1]))
			if err != nil {
				t.Fatal(err)
			}
			arrivals = append(arrivals, a)
			answers = append(answers, answered{client.Outcome{Outcome: "advanced", Seq: jsonseq.Seq(s[2])}, at(s[3]), at(s[4])})
		}
		if _, wrong := acceptance(arrivals, answers); min(len(wrong), 1) != c.wrong {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for name, value := range map[string]string{"MODE": "both", "ORDER": "any", "CHAOS": "maybe", "TRACKED": "yes", "STAY": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := fromEnvironment(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
		})
	}
}
