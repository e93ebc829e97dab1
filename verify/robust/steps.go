package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/streamsort/streamsort/localstack"
)

// step is what a function of the example logs: a step, a failed try, or an end.
type step struct {
	Message string `json:"message"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Edge    string `json:"edge"`
	Tag     string `json:"tag"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Attempt int    `json:"attempt"`
	Edges   int    `json:"edges"`
	Ended   int    `json:"ended"`
	N       string `json:"n"`
	ID      string `json:"id"`
}

// treeWatcher prints the functions' log as it comes, and keeps what it says.
type treeWatcher struct {
	out io.Writer

	mu     sync.Mutex
	steps  []step
	failed []step
	ends   []step
	// missing are the tags whose end is not announced yet; all is closed when there are none.
	missing map[string]bool
	all     chan struct{}
}

func newTreeWatcher(out io.Writer, tags []string) *treeWatcher {
	w := &treeWatcher{out: out, missing: map[string]bool{}, all: make(chan struct{})}
	for _, tag := range tags {
		w.missing[tag] = true
	}
	return w
}

// see takes a line of a function's log.
func (w *treeWatcher) see(logged localstack.Line) {
	var l step
	if json.Unmarshal([]byte(logged.Text), &l) != nil {
		return // not of the example
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch l.Message {
	case "step":
		w.steps = append(w.steps, l)
		fmt.Fprintf(w.out, "    %-20s %-18s %2d started, %2d ended   n = %s\n", l.Tag, l.Kind+" "+l.Name,
			l.Edges, l.Ended, l.N)
	case "failed":
		w.failed = append(w.failed, l)
		fmt.Fprintf(w.out, "    %-20s %-18s FAILS, attempt %d\n", l.Tag, "word "+l.Name, l.Attempt)
	case "end":
		w.ends = append(w.ends, l)
		fmt.Fprintf(w.out, "    %-20s %s, announced as %s\n", l.Tag,
			strings.TrimSpace(l.Outcome+" "+l.Reason), l.ID)
		if w.missing[l.Tag] {
			delete(w.missing, l.Tag)
			if len(w.missing) == 0 {
				close(w.all)
			}
		}
	}
}

// seen is what was logged up to now.
func (w *treeWatcher) seen() (steps, failed, ends []step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.steps), slices.Clone(w.failed), slices.Clone(w.ends)
}
