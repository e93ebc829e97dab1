package traffic

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// batch is the consumer's log line of what it was handed.
type batch struct {
	Message  string `json:"message"`
	Queue    string `json:"queue"`
	Token    int64  `json:"token"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Messages []struct {
		Seq    int64  `json:"seq"`
		SHA256 string `json:"sha256"`
	} `json:"messages"`
}

// Watcher reads the consumer's log and checks what comes out: in each queue, one seq after the
// other, each with the bytes that were sent; what comes again comes under a higher token.
type Watcher struct {
	out  io.Writer
	show int
	// sums are those of the messages that were sent; distinct is how many they are.
	sums     map[string]map[int64]string
	distinct int

	mu sync.Mutex
	// position is how far each queue has come out, token the highest one that it came under.
	position, token map[string]int64
	batches         int
	messages        int
	// repeated counts batches that came before, in whole or in part.
	repeated   int
	violations []string
}

// NewWatcher returns a Watcher of these arrivals that prints the first few batches to out.
func NewWatcher(out io.Writer, show int, arrivals []Arrival) *Watcher {
	sums, distinct := map[string]map[int64]string{}, 0
	for _, a := range arrivals {
		if sums[a.Queue] == nil {
			sums[a.Queue] = map[int64]string{}
		}
		if sums[a.Queue][a.Seq] == "" {
			sums[a.Queue][a.Seq] = a.Sum
			distinct++
		}
	}
	return &Watcher{
		out: out, show: show, sums: sums, distinct: distinct,
		position: map[string]int64{}, token: map[string]int64{},
	}
}

// Line takes a line of the consumer's log. A line that a killed process left half written is no
// JSON, and its batch comes again.
func (w *Watcher) Line(text string) {
	var b batch
	if json.Unmarshal([]byte(text), &b) != nil || b.Message != "batch" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches++
	position := w.position[b.Queue]
	switch {
	case b.From > position:
		w.wrong("queue %s: a batch from %d, and the last one ended at %d", b.Queue, b.From, position)
	case b.From < position && b.Token <= w.token[b.Queue]:
		w.wrong("queue %s: a batch from %d came again, and its token %d is not above %d", b.Queue, b.From, b.Token, w.token[b.Queue])
	case b.From < position:
		w.repeated++
	}
	w.token[b.Queue] = max(w.token[b.Queue], b.Token)
	expect := b.From
	for _, m := range b.Messages {
		if expect++; m.Seq != expect {
			w.wrong("queue %s: seq %d where %d was due", b.Queue, m.Seq, expect)
		}
		if m.SHA256 != w.sums[b.Queue][m.Seq] {
			w.wrong("queue %s: seq %d has other bytes than were sent", b.Queue, m.Seq)
		}
		if m.Seq > position {
			w.messages++
		}
	}
	if expect != b.To {
		w.wrong("queue %s: a batch up to %d ends at %d", b.Queue, b.To, expect)
	}
	w.position[b.Queue] = max(position, b.To)
	if w.batches <= w.show {
		fmt.Fprintf(w.out, "    out  %-24s %d messages, seq %d to %d\n", b.Queue, len(b.Messages), b.From+1, b.To)
	}
}

func (w *Watcher) wrong(format string, arguments ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, arguments...))
}

// State is what came out so far.
type State struct {
	Messages, Batches, Repeated int
	Violations                  []string
}

// State is what came out so far.
func (w *Watcher) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return State{w.messages, w.batches, w.repeated, append([]string(nil), w.violations...)}
}

// Distinct is how many messages were sent, not counting those sent again.
func (w *Watcher) Distinct() int { return w.distinct }

// Queues is how many queues were sent to.
func (w *Watcher) Queues() int { return len(w.sums) }
