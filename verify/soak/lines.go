package main

import (
	"encoding/json"
	"time"

	"github.com/streamsort/streamsort/localstack"
)

// batch is the line that a function logs of what it was handed.
type batch struct {
	Message  string  `json:"message"`
	Queue    string  `json:"queue"`
	Token    int64   `json:"token"`
	From     int64   `json:"from"`
	To       int64   `json:"to"`
	Skipped  []int64 `json:"skipped"`
	Messages []struct {
		Seq    int64  `json:"seq"`
		SHA256 string `json:"sha256"`
	} `json:"messages"`
}

// watchLog has a watcher take what the function of a logical id logs.
func watchLog(w *watcher, logicalID string) func(localstack.Line) {
	return func(l localstack.Line) {
		if l.LogicalID == logicalID {
			w.line(l.Text)
		}
	}
}

// line takes a line of a function's log. One that a killed process left half
// written is no JSON, and its batch comes again.
func (w *watcher) line(text string) {
	var b batch
	if json.Unmarshal([]byte(text), &b) != nil || b.Message != "batch" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	expect := b.From
	for _, m := range b.Messages {
		if expect++; m.Seq != expect {
			w.wrong("queue %q: seq %d in a batch where %d was due", b.Queue, m.Seq, expect)
		}
	}
	if expect != b.To || len(b.Skipped) > 0 {
		w.wrong("queue %q: a batch from %d to %d ends at %d, and %d are skipped", b.Queue, b.From, b.To, expect, len(b.Skipped))
	}
	for _, m := range b.Messages {
		w.takeLocked(output{place: place{b.Queue, m.Seq}, token: b.Token, sums: sums{exact: m.SHA256}, at: time.Now()})
	}
}
