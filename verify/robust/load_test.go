package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestEverySeqIsSentOnce: in each batch and each order, each queue's seqs are all there, once, and
// late by no more places than they may be.
func TestEverySeqIsSentOnce(t *testing.T) {
	for _, v := range []values{
		{"QUEUES": 3, "BATCH": 1},
		{"QUEUES": 3, "BATCH": 25},
		{"QUEUES": 7, "BATCH": 5, "DISORDER": 8},
		{"QUEUES": 2, "BATCH": 100, "DISORDER": 32},
		{"QUEUES": 2, "BATCH": 25, "DISORDER": 8},
		{"QUEUES": 1, "BATCH": 500, "DISORDER": 8},
	} {
		l, err := newLoadTraffic(v)
		check.OK(t, err)
		sent, messages, least := map[string][]int64{}, 0, 0
		send := func(request ...traffic.Message) error {
			for _, m := range request {
				sent[m.Queue] = append(sent[m.Queue], m.Seq)
			}
			messages += len(request)
			check.That(t, len(request) >= least && (least == 0 || len(request) <= l.batch),
				"%v: a request has %d messages", v, len(request))
			return nil
		}
		check.OK(t, l.first(send))
		for queue, seqs := range sent {
			if last := slices.Max(seqs); int(last) != len(seqs) || len(seqs) > max(l.batch, l.disorder) {
				t.Errorf("%v: %s begins with %d messages up to %d", v, queue, len(seqs), last)
			}
		}
		least = l.batch
		for _, due := range []int{1, 999, 0, 1000} {
			check.OK(t, l.due(due, send))
		}
		least = 0
		check.OK(t, l.last(send))
		check.That(t, messages >= 2000-l.batch && len(sent) == v.number("QUEUES"),
			"%v: %d messages of %d queues", v, messages, len(sent))
		for queue, seqs := range sent {
			late := false
			for i, seq := range seqs {
				late = late || i > 0 && seq < seqs[i-1]
				check.That(t, seq >= int64(i+1-l.disorder) && seq <= int64(i+1+l.disorder),
					"%v: %s sends %d as number %d", v, queue, seq, i+1)
			}
			check.Is(t, late, (l.disorder > 0), v, queue)
			slices.Sort(seqs)
			for i, seq := range seqs {
				check.Need(t, seq == int64(i+1), "%v: %s misses %d", v, queue, i+1)
			}
		}
	}
}

// TestLoadDocuments: each body has 100 bytes; some disorders there are not.
func TestLoadDocuments(t *testing.T) {
	l := &loadTraffic{together: true}
	for _, m := range l.request("load/00007", []int64{1, 123_456}) {
		var document struct {
			Body json.RawMessage
			Kind string
		}
		err := json.Unmarshal(m.Document, &document)
		check.That(t, err == nil && len(document.Body) == 100 && document.Kind == "arrival" &&
			m.Sums == traffic.SumsOf(document.Body), "%s: %v", m.Document, err)
	}
	for says, v := range map[string]values{"DISORDER=9": {"DISORDER": 9},
		"TOGETHER=1": {"DISORDER": 8, "TOGETHER": 1}} {
		check.Says(t, check.Err(newLoadTraffic(v)), says)
	}
}

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
		err := json.Unmarshal(m.Document, &document)
		check.Need(t, err == nil && document.Queue == m.Queue && document.Seq == m.Seq, "%s: %v",
			m.Document, err)
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
	check.That(t, len(highest) == soakQueues && disordered >= 1000 && conflicts >= 50 &&
		len(sent)-len(times) >= 100, "%d queues, %d out of order, %d conflicts, %d messages of %d",
		len(highest), disordered, conflicts, len(times), len(sent))
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
