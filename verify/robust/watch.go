package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/localstack"
)

// output is one message as it came out of a sink.
type output struct {
	place
	// token is the number of the claim under which it was delivered, id the name of its request,
	// where it has one.
	token int64
	id    string
	sums
	// rewritten says that the sink wrote the JSON anew: only its value is kept.
	rewritten bool
	// at is when the sink took it.
	at time.Time
}

// watcher checks what comes out of one sink. Its methods may be called by any number of goroutines;
// what comes of one queue must come in order.
type watcher struct {
	name string
	// allowed says whether what comes now may come now: empty if so.
	allowed rule
	// gets says whether the sink has to get a message; what it has not to get must not come.
	gets    func(place) bool
	account *account

	mu         sync.Mutex
	queues     map[string]*track
	ways       []way
	messages   int // that came for the first time
	again      int // that came before, as a token tells
	stale      int // of claims that were over: a consumer that compares tokens drops them
	batches    int // lines of a log
	violations []string
	hidden     int // violations beyond the first ones
}

// track is how far a queue has come out of a sink.
type track struct {
	position int64 // the highest seq
	token    int64 // the highest token
	last     int64 // the seq of the last message
	seen     map[int64]sighting
}

// sighting is when a message came out first, under which tokens, and by which name.
type sighting struct {
	at     time.Time
	tokens []int64
	id     string
}

// way is how long a message was under way, from when it was sent until it came.
type way struct {
	place
	phase int
	took  time.Duration
	came  time.Time
}

func all(place) bool { return true }

// watch adds a watcher of a sink.
func (w *world) watch(name string, allowed rule, gets func(place) bool) *watcher {
	watched := newWatcher(name, allowed, gets, w.account)
	w.watchers = append(w.watchers, watched)
	return watched
}

func newWatcher(name string, allowed rule, gets func(place) bool, in *account) *watcher {
	return &watcher{name: name, allowed: allowed, gets: gets, account: in, queues: map[string]*track{}}
}

func (w *watcher) wrong(format string, arguments ...any) {
	if len(w.violations) == most {
		w.hidden++
		return
	}
	w.violations = append(w.violations, w.name+": "+fmt.Sprintf(format, arguments...))
}

// not notes what must not be.
func (w *watcher) not(format string, arguments ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong(format, arguments...)
}

// take takes a message, and reports whether it came before.
func (w *watcher) take(o output) (again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.takeLocked(o)
}

func (w *watcher) takeLocked(o output) (again bool) {
	in, known := w.account.of(o.place)
	switch {
	case !known:
		w.wrong("%v was never sent", o.place)
		return false
	case !w.gets(o.place):
		w.wrong("%v came out, and must not", o.place)
	case o.rewritten && in.value != o.value, !o.rewritten && in.exact != o.exact:
		w.wrong("%v has another body than was sent", o.place)
	}
	t := w.queues[o.queue]
	if t == nil {
		t = &track{seen: map[int64]sighting{}}
		w.queues[o.queue] = t
	}
	problem, stale := w.allowed(t, o)
	if stale {
		w.stale++
		return true
	}
	if problem != "" {
		w.wrong("%v, token %d: %s", o.place, o.token, problem)
	}
	s, again := t.seen[o.seq]
	if again {
		w.again++
	} else {
		w.messages++
		s.at, s.id = o.at, o.id
		w.ways = append(w.ways, way{o.place, in.phase, o.at.Sub(in.at), o.at})
	}
	s.tokens = append(s.tokens, o.token)
	t.seen[o.seq] = s
	t.position, t.token, t.last = max(t.position, o.seq), max(t.token, o.token), o.seq
	return again
}

// state is what came out so far.
type state struct{ messages, again, stale, batches, violations int }

func (w *watcher) state() state {
	w.mu.Lock()
	defer w.mu.Unlock()
	return state{w.messages, w.again, w.stale, w.batches, len(w.violations) + w.hidden}
}

// report is the violations in words.
func (w *watcher) report() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	report := slices.Clone(w.violations)
	if w.hidden > 0 {
		report = append(report, fmt.Sprintf("%s: %d more of this kind", w.name, w.hidden))
	}
	return report
}

// due is how many messages have to come.
func (w *watcher) due() int { return len(w.account.places(w.gets)) }

// missing are the messages that are due and did not come.
func (w *watcher) missing() []place {
	due := w.account.places(w.gets)
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(due, func(p place) bool {
		t := w.queues[p.queue]
		if t == nil {
			return false
		}
		_, came := t.seen[p.seq]
		return came
	})
}

// took is how long the messages of a phase were under way, the shortest first, and when the last
// one came.
func (w *watcher) took(phase int, of func(place) bool) (sorted []time.Duration, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, way := range w.ways {
		if way.phase == phase && of(way.place) {
			sorted = append(sorted, way.took)
			last = way.came
		}
	}
	slices.Sort(sorted)
	return sorted, last
}

// percentile is the shortest of sorted durations that so many of a hundred are no longer than, in
// milliseconds; 0 of none.
func percentile(sorted []time.Duration, of float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(float64(len(sorted))*of/100), len(sorted)-1)].Seconds() * 1000
}

// batch is the line that a function logs of what it was handed.
type batch struct {
	Message  string   `json:"message"`
	Queue    string   `json:"queue"`
	Token    int64    `json:"token"`
	From     int64    `json:"from"`
	To       int64    `json:"to"`
	Skipped  []int64  `json:"skipped"`
	Messages []logged `json:"messages"`
}

// logged is a message of it.
type logged struct {
	Seq    int64  `json:"seq"`
	SHA256 string `json:"sha256"`
}

// watchLog has a watcher take what the function of a logical id logs.
func (w *world) watchLog(watched *watcher, logicalID string) {
	w.later(w.stack.Subscribe(func(l localstack.Line) {
		if l.LogicalID == logicalID {
			watched.line(l.Text)
		}
	}))
}

// line takes a line of a function's log. One that a killed process left half written is no JSON,
// and its batch comes again.
func (w *watcher) line(text string) {
	var b batch
	if json.Unmarshal([]byte(text), &b) == nil && b.Message == "batch" {
		w.batch(b)
	}
}

// batch takes a batch: it is one seq after the other, from its beginning to its end.
func (w *watcher) batch(b batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches++
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
