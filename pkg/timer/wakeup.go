package timer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what a wake-up is about.
type Kind string

// The kinds.
const (
	// Gap: the gap of a queue is as old as its policy allows.
	Gap Kind = "gap"
	// Consumer: a batch that failed is to be tried again, or a claim's lease is over.
	Consumer Kind = "consumer"
	// Chain: a chain's deadline has come.
	Chain Kind = "chain"
	// Settle: messages of a keyed queue have waited for its settle window.
	Settle Kind = "settle"
	// Circuit: a consumer's sink is away, and is to be probed; or it is back.
	Circuit Kind = "circuit"
)

// Thing is what is looked at.
type Thing struct {
	Kind Kind `json:"kind"`
	// Queue is that of a gap, a consumer or a settle window, Consumer the name of a consumer or of
	// a circuit's, Tag a chain's.
	Queue    string `json:"queue,omitempty"`
	Consumer string `json:"consumer,omitempty"`
	Tag      string `json:"tag,omitempty"`
}

// WakeUp is a thing, and when something of it is due.
type WakeUp struct {
	Thing
	Due time.Time
	// UpTo, of a settle window, is the greatest sort key of the messages.
	UpTo string
	// Again is how often it was sent again.
	Again int
}

// Bounds of a wake-up.
const (
	// maxAgain is less than the calls after which Lambda takes a function that is called by what it
	// sends for a loop.
	maxAgain = 10
	maxName  = 2048
)

const layout = 1

type document struct {
	V int `json:"v"`
	Thing
	UpTo  []byte `json:"upTo,omitempty"`
	Due   int64  `json:"due"`
	Again int    `json:"again,omitempty"`
}

// refused are the characters of names that SQS takes in no message, and JSON leaves as they are;
// one of them would have it refuse the wake-up.
var refused = strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`)

// String is the wake-up as it is sent.
func (w WakeUp) String() string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// Texts and numbers can always be written.
	_ = encoder.Encode(document{layout, w.Thing, []byte(w.UpTo), w.Due.UnixMilli(), w.Again})
	return refused.Replace(strings.TrimSuffix(text.String(), "\n"))
}

// Parse reads what String wrote, and nothing else.
func Parse(text string) (WakeUp, error) {
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return WakeUp{}, fmt.Errorf("wake-up: %w", err)
	}
	w := WakeUp{d.Thing, time.UnixMilli(d.Due).UTC(), string(d.UpTo), d.Again}
	if d.V != layout {
		return WakeUp{}, fmt.Errorf("wake-up: has layout %d; %d is known", d.V, layout)
	}
	if err := w.validate(); err != nil {
		return WakeUp{}, err
	}
	if w.String() != text {
		return WakeUp{},
			errors.New("wake-up: has members that it must not have, or not as they are written")
	}
	return w, nil
}

func (w WakeUp) validate() error {
	named := map[Kind]bool{
		Gap:      w.Queue != "" && w.Consumer == "" && w.Tag == "",
		Consumer: w.Queue != "" && w.Consumer != "" && w.Tag == "",
		Chain:    w.Queue == "" && w.Consumer == "" && w.Tag != "",
		Settle:   w.Queue != "" && w.Consumer == "" && w.Tag == "",
		Circuit:  w.Queue == "" && w.Consumer != "" && w.Tag == "",
	}
	switch {
	case !named[w.Kind]:
		return fmt.Errorf("wake-up: kind %q with the wrong names", w.Kind)
	case (w.UpTo != "") != (w.Kind == Settle):
		return fmt.Errorf("wake-up: kind %q with upTo of %d bytes", w.Kind, len(w.UpTo))
	case len(w.Queue)+len(w.Consumer)+len(w.Tag)+len(w.UpTo) > maxName:
		return fmt.Errorf("wake-up: names of more than %d bytes", maxName)
	case w.Due.UnixMilli() <= 0 || w.Again < 0 || w.Again > maxAgain:
		return fmt.Errorf("wake-up: due at %d, sent again %d times", w.Due.UnixMilli(), w.Again)
	}
	return nil
}

// maxDelay is the longest that SQS delays a message.
const maxDelay = 15 * time.Minute

// delay is how many seconds SQS has to hold a wake-up back: it must not come too early.
func (w WakeUp) delay(now time.Time) int {
	left := min(max(w.Due.Sub(now), 0), maxDelay)
	return int((left + time.Second - 1) / time.Second)
}

// isFor reports whether a wake-up of the thing that is on its way does for this one: one that comes
// no later, since it looks when the thing is due next. In a settle window, what was noted first is
// always sent: one that is on its way may be gone when it has been stored. What is sent again is so
// where none is on its way that sees as much, as often.
func (w WakeUp) isFor(on sent) bool {
	if w.Kind == Settle {
		return w.Again > 0 && !on.at.After(w.Due) && on.upTo >= w.UpTo && on.again <= w.Again
	}
	return !on.at.After(w.Due)
}

// comesOut is when a wake-up that is sent now is taken for one that has come out: then it may be
// sent again.
func (w WakeUp) comesOut(now time.Time) time.Time {
	if last := now.Add(maxDelay); w.Due.After(last) {
		return last
	}
	return w.Due
}
