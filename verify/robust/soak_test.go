package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestTraffic: of each queue everything is sent up to its last message, but for the one that is
// missing; out of order, some of it twice.
func TestTraffic(t *testing.T) {
	made := newSoakTraffic(1)
	sent := made.first()
	for range 5000 {
		sent = append(sent, made.message())
	}
	sent = append(sent, made.last()...)
	times, highest, disordered, conflicts := map[traffic.Place]int{}, map[string]int64{}, 0, 0
	for _, m := range sent {
		var document struct {
			Queue string
			Seq   int64
		}
		if err := json.Unmarshal(m.Document, &document); err != nil || document.Queue != m.Queue ||
			document.Seq != m.Seq {
			t.Fatalf("%s: %v", m.Document, err)
		}
		times[traffic.At(m.Queue, m.Seq)]++
		if m.Seq < highest[m.Queue] {
			disordered++
		}
		highest[m.Queue] = max(highest[m.Queue], m.Seq)
		if m.Conflict != nil {
			conflicts++
			check.That(t, json.Valid(m.Conflict) && string(m.Conflict) != string(m.Document),
				"%s conflicts with %s", m.Conflict, m.Document)
		}
		poisoned := strings.Contains(string(m.Document), `"attributes":{"poison":"yes"}`)
		check.That(t, poisoned == (m.Queue == poisonQueue && m.Seq == bad),
			"poisoned %v: %.100s", poisoned, m.Document)
	}
	if len(highest) != soakQueues || disordered < 1000 || conflicts < 50 ||
		len(sent)-len(times) < 100 {
		t.Errorf("%d queues, %d out of order, %d conflicts, %d messages of %d", len(highest), disordered,
			conflicts, len(times), len(sent))
	}
	for queue, last := range highest {
		for seq := int64(1); seq <= last; seq++ {
			if missing := queue == gapQueue && seq == bad; missing == (times[traffic.At(queue, seq)] > 0) {
				t.Errorf("queue %q: seq %d was sent %d times", queue, seq, times[traffic.At(queue, seq)])
			}
		}
	}
	check.That(t, highest[hotQueue] >= 1000 && highest[poisonQueue] >= bad && highest[gapQueue] > bad,
		"hot %d, poison %d, gap %d", highest[hotQueue], highest[poisonQueue], highest[gapQueue])
}

// TestTrafficOfAShortRun: something goes wrong, however short a run is.
func TestTrafficOfAShortRun(t *testing.T) {
	for seed := range int64(50) {
		made := map[traffic.Place]bool{}
		for _, m := range newSoakTraffic(seed).first() {
			made[m.Place] = true
		}
		for _, at := range []traffic.Place{traffic.At(poisonQueue, bad), traffic.At(gapQueue, bad+1)} {
			check.That(t, made[at], "seed %d: nothing goes wrong at %v", seed, at)
		}
	}
}
