package traffic

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Output is one message as it came out of a sink.
type Output struct {
	Place
	// Token is the number of the claim under which it was delivered, ID the name of its request,
	// where it has one.
	Token int64
	ID    string
	Sums
	// Rewritten says that the sink wrote the JSON anew: only its value is kept.
	Rewritten bool
	// At is when the sink took it.
	At time.Time
}

// Watcher checks what comes out of one sink. Its methods may be called by any number of goroutines;
// what comes of one queue must come in order.
type Watcher struct {
	Name string
	// Out has the first Show batches printed; nil for none.
	Out  io.Writer
	Show int
	// allowed says whether what comes now may come now: empty if so.
	allowed Rule
	// gets says whether the sink has to get a message; what it has not to get must not come.
	gets    func(Place) bool
	account *Account

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
	Place
	phase int
	took  time.Duration
	came  time.Time
}

// All is for a sink that has to get every message.
func All(Place) bool { return true }

// NewWatcher is of a sink which has to get some of the messages of an account, by a rule.
func NewWatcher(name string, allowed Rule, gets func(Place) bool, in *Account) *Watcher {
	return &Watcher{Name: name, allowed: allowed, gets: gets, account: in, queues: map[string]*track{}}
}

func (w *Watcher) wrong(format string, arguments ...any) {
	if len(w.violations) == most {
		w.hidden++
		return
	}
	w.violations = append(w.violations, w.Name+": "+fmt.Sprintf(format, arguments...))
}

// Not notes what must not be.
func (w *Watcher) Not(format string, arguments ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong(format, arguments...)
}

// Take takes a message, and reports whether it came before.
func (w *Watcher) Take(o Output) (again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.takeLocked(o)
}

func (w *Watcher) takeLocked(o Output) (again bool) {
	in, known := w.account.of(o.Place)
	switch {
	case !known:
		w.wrong("%v was never sent", o.Place)
		return false
	case !w.gets(o.Place):
		w.wrong("%v came out, and must not", o.Place)
	case o.Rewritten && in.Value != o.Value, !o.Rewritten && in.Exact != o.Exact:
		w.wrong("%v has another body than was sent", o.Place)
	}
	t := w.queues[o.Queue]
	if t == nil {
		t = &track{seen: map[int64]sighting{}}
		w.queues[o.Queue] = t
	}
	problem, stale := w.allowed(t, o)
	if stale {
		w.stale++
		return true
	}
	if problem != "" {
		w.wrong("%v, token %d: %s", o.Place, o.Token, problem)
	}
	s, again := t.seen[o.Seq]
	if again {
		w.again++
	} else {
		w.messages++
		s.at, s.id = o.At, o.ID
		w.ways = append(w.ways, way{o.Place, in.phase, o.At.Sub(in.at), o.At})
	}
	s.tokens = append(s.tokens, o.Token)
	t.seen[o.Seq] = s
	t.position, t.token, t.last = max(t.position, o.Seq), max(t.token, o.Token), o.Seq
	return again
}

// State is what came out so far.
type State struct{ Messages, Again, Stale, Batches, Violations int }

// State is what came out so far.
func (w *Watcher) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return State{w.messages, w.again, w.stale, w.batches, len(w.violations) + w.hidden}
}

// Report is the violations in words.
func (w *Watcher) Report() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	report := slices.Clone(w.violations)
	if w.hidden > 0 {
		report = append(report, fmt.Sprintf("%s: %d more of this kind", w.Name, w.hidden))
	}
	return report
}

// Due is how many messages have to come.
func (w *Watcher) Due() int { return len(w.account.places(w.gets)) }

// Missing are the messages that are due and did not come.
func (w *Watcher) Missing() []Place {
	due := w.account.places(w.gets)
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(due, func(p Place) bool {
		t := w.queues[p.Queue]
		if t == nil {
			return false
		}
		_, came := t.seen[p.Seq]
		return came
	})
}

// Took is how long the messages of a phase were under way, the shortest first, and when the last
// one came.
func (w *Watcher) Took(phase int, of func(Place) bool) (sorted []time.Duration, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, way := range w.ways {
		if way.phase == phase && of(way.Place) {
			sorted = append(sorted, way.took)
			last = way.came
		}
	}
	slices.Sort(sorted)
	return sorted, last
}

// Batch is the line that a function logs of what it was handed.
type Batch struct {
	Message  string   `json:"message"`
	Queue    string   `json:"queue"`
	Token    int64    `json:"token"`
	From     int64    `json:"from"`
	To       int64    `json:"to"`
	Skipped  []int64  `json:"skipped"`
	Messages []Logged `json:"messages"`
}

// Logged is a message of it.
type Logged struct {
	Seq    int64  `json:"seq"`
	SHA256 string `json:"sha256"`
}

// Line takes a line of a function's log. One that a killed process left half written is no JSON,
// and its batch comes again.
func (w *Watcher) Line(text string) {
	var b Batch
	if json.Unmarshal([]byte(text), &b) == nil && b.Message == "batch" {
		w.Batch(b)
	}
}

// Batch takes a batch: it is one seq after the other, from its beginning to its end.
func (w *Watcher) Batch(b Batch) {
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
		w.wrong("queue %q: a batch from %d to %d ends at %d, and %d are skipped", b.Queue, b.From, b.To,
			expect, len(b.Skipped))
	}
	if w.batches <= w.Show {
		fmt.Fprintf(w.Out, "    out  %-24s %d messages, seq %d to %d\n",
			b.Queue, len(b.Messages), b.From+1, b.To)
	}
	for _, m := range b.Messages {
		sums := Sums{Exact: m.SHA256}
		w.takeLocked(Output{Place: Place{b.Queue, m.Seq}, Token: b.Token, Sums: sums, At: time.Now()})
	}
}

// Rule says what is wrong with a message that comes now, or that it is stale.
type Rule func(t *track, o Output) (problem string, stale bool)

// Fenced is the rule of functions: each claim's messages one after the other, from at most one
// behind the highest seq; a lower token is that of a claim that is over, and is dropped by a
// consumer that compares tokens.
func Fenced(t *track, o Output) (problem string, stale bool) {
	switch {
	case o.Token < t.token:
		return "", true
	case o.Token == t.token && o.Seq != t.last+1:
		return fmt.Sprintf("under the same token %d was due", t.last+1), false
	case o.Token > t.token && o.Seq > t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	}
	return "", false
}

// Unfailing is the rule of functions of which no process is killed or too slow: none is stale.
func Unfailing(t *track, o Output) (problem string, stale bool) {
	if problem, stale = Fenced(t, o); stale {
		return fmt.Sprintf("its token is not above %d", t.token), false
	}
	return problem, false
}

// remembered is how long SQS and SNS drop repeats.
const remembered = 5 * time.Minute

// Queued is the rule of FIFO queues and topics: one after the other, and a repeat only when it is
// too late for them to drop it, under a higher token.
func Queued(t *track, o Output) (problem string, stale bool) {
	first, again := t.seen[o.Seq]
	switch {
	case again && o.At.Sub(first.at) < remembered:
		return fmt.Sprintf("came again after %s, by another deduplication id",
			o.At.Sub(first.at).Round(time.Millisecond)), false
	case again && o.Token <= slices.Max(first.tokens):
		return "came again, and the token does not tell", false
	case !again && o.Seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	}
	return "", false
}

// Unordered is the rule of event buses: any order, and a repeat under another token.
func Unordered(t *track, o Output) (problem string, stale bool) {
	if slices.Contains(t.seen[o.Seq].tokens, o.Token) {
		return "came again under the same token", false
	}
	return "", false
}

// Named is the rule of endpoints: one after the other, and a repeat under the same name and a
// higher token.
func Named(t *track, o Output) (problem string, stale bool) {
	first, again := t.seen[o.Seq]
	switch {
	case !again && o.Seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	case again && o.ID != first.id:
		return fmt.Sprintf("came again under another id, %q after %q", o.ID, first.id), false
	case again && o.Token <= t.token:
		return fmt.Sprintf("came again under the token %d, after %d", o.Token, t.token), false
	}
	return "", false
}

// Once is the rule of a database, and of who tells a repeat by its attempt: one after the other,
// and again only as a later attempt, which is the token.
func Once(t *track, o Output) (problem string, stale bool) {
	_, again := t.seen[o.Seq]
	switch {
	case !again && o.Seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	case again && o.Token < 2:
		return "came again, and not as a later attempt", false
	}
	return "", false
}
