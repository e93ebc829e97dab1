package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
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
	times, highest, disordered, conflicts := map[place]int{}, map[string]int64{}, 0, 0
	for _, m := range sent {
		var document struct {
			Queue string
			Seq   int64
		}
		if err := json.Unmarshal(m.document, &document); err != nil || document.Queue != m.queue || document.Seq != m.seq {
			t.Fatalf("%s: %v", m.document, err)
		}
		times[place{m.queue, m.seq}]++
		if m.seq < highest[m.queue] {
			disordered++
		}
		highest[m.queue] = max(highest[m.queue], m.seq)
		if m.conflict != nil {
			conflicts++
			check.That(t, json.Valid(m.conflict) && string(m.conflict) != string(m.document),
				"%s conflicts with %s", m.conflict, m.document)
		}
		poisoned := strings.Contains(string(m.document), `"attributes":{"poison":"yes"}`)
		check.That(t, poisoned == (m.queue == poisonQueue && m.seq == bad),
			"poisoned %v: %.100s", poisoned, m.document)
	}
	if len(highest) != soakQueues || disordered < 1000 || conflicts < 50 || len(sent)-len(times) < 100 {
		t.Errorf("%d queues, %d out of order, %d conflicts, %d messages of %d", len(highest), disordered, conflicts, len(times), len(sent))
	}
	for queue, last := range highest {
		for seq := int64(1); seq <= last; seq++ {
			if missing := queue == gapQueue && seq == bad; missing == (times[place{queue, seq}] > 0) {
				t.Errorf("queue %q: seq %d was sent %d times", queue, seq, times[place{queue, seq}])
			}
		}
	}
	check.That(t, highest[hotQueue] >= 1000 && highest[poisonQueue] >= bad && highest[gapQueue] > bad,
		"hot %d, poison %d, gap %d", highest[hotQueue], highest[poisonQueue], highest[gapQueue])
}

// TestTrafficOfAShortRun: something goes wrong, however short a run is.
func TestTrafficOfAShortRun(t *testing.T) {
	for seed := range int64(50) {
		made := map[place]bool{}
		for _, m := range newSoakTraffic(seed).first() {
			made[m.place] = true
		}
		for _, at := range []place{{poisonQueue, bad}, {gapQueue, bad + 1}} {
			check.That(t, made[at], "seed %d: nothing goes wrong at %v", seed, at)
		}
	}
}
