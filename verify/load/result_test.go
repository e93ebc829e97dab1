package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/meter"
)

// good is the result of a load on which nothing is wrong.
func good() result {
	r := result{
		options: options{rate: 100, queues: 10, batch: 1}, messages: 1000, batches: 900, sending: 10 * time.Second, all: 20 * time.Second,
		spent: meter.Count{Requests: 6000, Writes: 4000, Reads: 1500},
	}
	for i := range 1000 {
		r.took = append(r.took, time.Duration(i+1)*time.Millisecond)
	}
	return r
}

// TestVerdict: a check that never fails checks nothing.
func TestVerdict(t *testing.T) {
	if err := good().verdict(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*result){
		"3 messages are lost":     func(r *result) { r.lost = 3 },
		"-1 messages are lost":    func(r *result) { r.lost = -1 },
		"seq 2 where 1 was due":   func(r *result) { r.wrong = []string{"seq 2 where 1 was due"} },
		"nothing was sent: TIME ": func(r *result) { r.messages = 0 },
	} {
		r := good()
		spoil(&r)
		if err := r.verdict(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	good().print(&out)
	for _, want := range []string{
		"1000 to 10 queues, delivered in 900 batches, 0 of them again", "100 accepted of 100, 50 delivered",
		"median 501 ms, p90 901, p99 991, p99.9 1000, longest 1000", "6.000 requests, 4.000 write and 1.500 read units",
		"$2.688 for these units", ": both without fixed costs", // 4 × 0.625 + 1.5 × 0.125
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	(result{options: options{rate: 1, queues: 1, batch: 1}, sending: time.Second, all: time.Second}).print(&out) // of nothing
}

// TestJourneys: each is counted once, and what was not sent is not.
func TestJourneys(t *testing.T) {
	j := newJourneys()
	j.begin(request{"q", []int64{1, 2}})
	j.end("q", 1)
	j.end("q", 1)
	j.end("other", 1)
	if all, last := j.sorted(); len(all) != 1 || last.IsZero() {
		t.Errorf("%v, %v", all, last)
	}
	j.forget()
	j.end("q", 2)
	if all, _ := j.sorted(); len(all) != 1 {
		t.Errorf("%v", all)
	}
}
