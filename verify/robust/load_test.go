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
		if err := json.Unmarshal(m.Document, &document); err != nil || len(document.Body) != 100 ||
			document.Kind != "arrival" || m.Sums != traffic.SumsOf(document.Body) {
			t.Errorf("%s: %v", m.Document, err)
		}
	}
	for says, v := range map[string]values{"DISORDER=9": {"DISORDER": 9},
		"TOGETHER=1": {"DISORDER": 8, "TOGETHER": 1}} {
		_, err := newLoadTraffic(v)
		check.That(t, err != nil && strings.Contains(err.Error(), says), "error %v, want %q", err, says)
	}
}
