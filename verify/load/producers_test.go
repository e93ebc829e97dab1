package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestEverySeqIsSentOnce: whatever the batch and the order, each queue's seqs are all there, once, and late by no more
// places than they may be.
func TestEverySeqIsSentOnce(t *testing.T) {
	for _, o := range []options{
		{queues: 3, batch: 1}, {queues: 3, batch: 25}, {queues: 7, batch: 5, disorder: 8}, {queues: 2, batch: 100, disorder: 32}, {queues: 2, batch: 25, disorder: 8}, {queues: 1, batch: 500, disorder: 8},
	} {
		p, err := newProducers("http://nowhere", o, newJourneys())
		if err != nil {
			t.Fatal(err)
		}
		all := p.first()
		for _, r := range all {
			if last := slices.Max(r.seqs); int(last) != len(r.seqs) || len(r.seqs) > max(o.batch, o.disorder) {
				t.Errorf("%+v: %s begins with %d messages up to %d", o, r.queue, len(r.seqs), last)
			}
		}
		for _, due := range []int{1, 999, 0, 1000} {
			all = append(all, p.due(due)...)
		}
		whole := len(all)
		all = append(all, p.last()...)
		sent, messages := map[string][]int64{}, 0
		for i, r := range all {
			sent[r.queue] = append(sent[r.queue], r.seqs...)
			messages += len(r.seqs)
			if i >= o.queues && i < whole && len(r.seqs) != o.batch {
				t.Errorf("%+v: a request has %d messages", o, len(r.seqs))
			}
		}
		if messages < 2000-o.batch || len(sent) != o.queues {
			t.Errorf("%+v: %d messages of %d queues", o, messages, len(sent))
		}
		for queue, seqs := range sent {
			late := false
			for i, seq := range seqs {
				late = late || i > 0 && seq < seqs[i-1]
				if seq < int64(i+1)-int64(o.disorder) || seq > int64(i+1)+int64(o.disorder) {
					t.Errorf("%+v: %s sends %d as number %d", o, queue, seq, i+1)
				}
			}
			if late != (o.disorder > 0) {
				t.Errorf("%+v: %s is out of order: %t", o, queue, late)
			}
			slices.Sort(seqs)
			for i, seq := range seqs {
				if seq != int64(i+1) {
					t.Fatalf("%+v: %s misses %d", o, queue, i+1)
				}
			}
		}
	}
}

// TestSums: what the watcher compares with is what is sent.
func TestSums(t *testing.T) {
	for i, document := range (request{"load/00007", []int64{1, 123_456}}).documents(false) {
		a, err := traffic.NewArrival(document)
		if err != nil || a.Sum != sumOf(a.Queue, a.Seq) || a.Queue != "load/00007" || a.Seq != []int64{1, 123_456}[i] {
			t.Errorf("%s: %+v, %v", document, a, err)
		}
		var m struct{ Body json.RawMessage }
		if err := json.Unmarshal(document, &m); err != nil || len(m.Body) != 100 {
			t.Errorf("%s: a body of %d bytes, %v", document, len(m.Body), err)
		}
	}
}
