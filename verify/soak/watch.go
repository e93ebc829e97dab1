package main

import (
	"fmt"
	"sync"
	"time"
)

// output is one message as it came out of a sink.
type output struct {
	place
	// token is the number of the claim under which it was delivered.
	token int64
	sums
	// rewritten says that the sink wrote the JSON anew: only its value is kept.
	rewritten bool
	// at is when the sink took it.
	at time.Time
}

// watcher checks what comes out of one sink. Its methods may be called by any
// number of goroutines; what comes of one queue must come in order.
type watcher struct {
	name string
	// allowed says whether what comes now may come now: empty if so.
	allowed rule
	// takesPoison is false for the consumer that fails on poison.
	takesPoison bool
	in          *ledger

	mu         sync.Mutex
	queues     map[string]*progress
	messages   int // that came for the first time
	again      int // that came before, as a token tells
	stale      int // of claims that were over: a consumer that compares tokens drops them
	violations []string
	hidden     int // violations beyond the first ones
}

// progress is how far a queue has come out of a sink.
type progress struct {
	position int64 // the highest seq
	token    int64 // the highest token, or that of the last message
	last     int64 // the seq of the last message under it
	seen     map[int64]sighting
}

// sighting is when a message came out first, and under which tokens.
type sighting struct {
	at     time.Time
	tokens []int64
}

func newWatcher(name string, allowed rule, takesPoison bool, in *ledger) *watcher {
	return &watcher{name: name, allowed: allowed, takesPoison: takesPoison, in: in, queues: map[string]*progress{}}
}

// most is how many violations are reported in words.
const most = 20

func (w *watcher) wrong(format string, arguments ...any) {
	if len(w.violations) == most {
		w.hidden++
		return
	}
	w.violations = append(w.violations, w.name+": "+fmt.Sprintf(format, arguments...))
}

// take takes a message.
func (w *watcher) take(o output) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takeLocked(o)
}

func (w *watcher) takeLocked(o output) {
	sent, known := w.in.body(o.queue, o.seq)
	switch {
	case !known:
		w.wrong("queue %q: seq %d was never sent", o.queue, o.seq)
		return
	case !due(o.queue, o.seq, w.takesPoison):
		w.wrong("queue %q: seq %d came out, and must not", o.queue, o.seq)
	case o.rewritten && sent.value != o.value, !o.rewritten && sent.exact != o.exact:
		w.wrong("queue %q: seq %d has another body than was sent", o.queue, o.seq)
	}
	p := w.queues[o.queue]
	if p == nil {
		p = &progress{seen: map[int64]sighting{}}
		w.queues[o.queue] = p
	}
	problem, stale := w.allowed(p, o)
	switch {
	case stale:
		w.stale++
		return
	case problem != "":
		w.wrong("queue %q: seq %d, token %d: %s", o.queue, o.seq, o.token, problem)
	}
	s, before := p.seen[o.seq]
	if before {
		w.again++
	} else {
		w.messages++
		s.at = o.at
	}
	s.tokens = append(s.tokens, o.token)
	p.seen[o.seq] = s
	p.position = max(p.position, o.seq)
	p.token, p.last = o.token, o.seq
}

// state is what came out so far.
type state struct {
	messages, again, stale, violations int
}

func (w *watcher) state() state {
	w.mu.Lock()
	defer w.mu.Unlock()
	return state{w.messages, w.again, w.stale, len(w.violations) + w.hidden}
}

// report is the violations in words.
func (w *watcher) report() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append([]string(nil), w.violations...)
	if w.hidden > 0 {
		all = append(all, fmt.Sprintf("%s: %d more of this kind", w.name, w.hidden))
	}
	return all
}

// missing are the messages that are due and did not come.
func (w *watcher) missing() []place {
	due := w.in.due(w.takesPoison)
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []place
	for _, at := range due {
		p := w.queues[at.queue]
		if p == nil {
			all = append(all, at)
		} else if _, came := p.seen[at.seq]; !came {
			all = append(all, at)
		}
	}
	return all
}
