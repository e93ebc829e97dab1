package acts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// State is what a batch is at.
type State string

// The states.
const (
	// Dry: it was looked at, and may be started within [KeptDry].
	Dry State = "DRY"
	// Running: it is carried out.
	Running State = "RUNNING"
	// Stopping: it ends behind the page at hand.
	Stopping State = "STOPPING"
	// Stopped: it ended before all were acted on.
	Stopped State = "STOPPED"
	// Done: all that were selected were acted on.
	Done State = "DONE"
)

// over reports whether nothing is left to do.
func (s State) over() bool { return s == Stopped || s == Done }

// KeptDry is how long a batch that was looked at may be started.
const KeptDry = time.Hour

// keptDry is how long it stays on record where nobody starts it: a clock that is late by hours finds it
// all the same.
const keptDry = 24 * time.Hour

// Bounds of what is asked for.
const (
	MinRate, DefaultRate, MaxRate = 1, 50, 1000
	maxError                      = record.MaxError
)

// Ask is what is asked for. It never changes.
type Ask struct {
	// Tenant is whose the batch is; empty for an operator's. ID names it among the tenant's.
	Tenant string `json:"tenant,omitempty"`
	ID     string `json:"id"`
	// At is when it was looked at: who came into the state later is not selected.
	At  time.Time   `json:"at"`
	Who handoff.Who `json:"who"`

	// Action is what is done, Start where a rewind goes, Reason why.
	Action string `json:"action"`
	Start  string `json:"start,omitempty"`
	Reason string `json:"reason"`
	// Rate is how many consumers are acted on in a second.
	Rate int `json:"rate"`

	// Consumer is the only name; empty where all are selected.
	Consumer string `json:"consumer,omitempty"`
	// State is what they are in; empty where all are selected that have the name.
	State trouble.State `json:"state,omitempty"`
	// Prefix begins the queues' names, as they are stored.
	Prefix string `json:"prefix,omitempty"`
	// Error is what is in the text of why the consumer failed last, where a * stands for any text;
	// empty where it does not matter.
	Error string `json:"error,omitempty"`
	// Since is when they came into the state at the earliest; the zero time where that does not matter.
	Since time.Time `json:"since,omitzero"`
}

// Failure is an act that was refused.
type Failure struct {
	Queue    string `json:"queue"`
	Consumer string `json:"consumer"`
	Why      string `json:"why"`
}

// One is a consumer of a queue.
type One struct {
	Queue    string `json:"q"`
	Consumer string `json:"c"`
}

// Progress is how far a batch is.
type Progress struct {
	// Selected is how many consumers were found when it was looked at, More that these are not all.
	Selected int  `json:"selected"`
	More     bool `json:"more,omitempty"`
	// Done, Failed and Passed count the consumers of the pages behind which it is: those that
	// were acted on, that refused, and that were not in the state any more.
	Done   int `json:"done"`
	Failed int `json:"failed"`
	Passed int `json:"passed"`
	// Failures are the first of those that refused.
	Failures []Failure `json:"failures,omitempty"`
	// Page are the consumers that are acted on now.
	Page []One `json:"page,omitempty"`
	// Tries is how often the store failed for one of them, but for outages.
	Tries int `json:"tries,omitempty"`
	// After is the place in the walk behind the page, All that there is nothing behind it.
	After string `json:"after,omitempty"`
	All   bool   `json:"all,omitempty"`
}

// Batch is a batch of acts; the zero Batch is none.
type Batch struct {
	Ask
	Progress
	State          State
	Started, Ended time.Time
	// LeaseUntil is until when nobody else goes on.
	LeaseUntil time.Time

	// Rev rises with each change of the progress, By says who made the last one.
	Rev int64
	By  string
}

// states are those of which an action may be done to all consumers that are in them.
var states = map[string][]trouble.State{
	handoff.OpRedrive: {trouble.Blocked},
	handoff.OpSkip:    {trouble.Blocked},
	handoff.OpResume:  {trouble.Paused},
	handoff.OpPause:   pausable,
	handoff.OpRewind:  append([]trouble.State{trouble.Paused}, pausable...),
}

var pausable = []trouble.State{
	"", trouble.Lagging, trouble.Blocked, trouble.InDoubt, trouble.Quarantined, trouble.Missing, trouble.Replying, trouble.CircuitOpen,
}

// Validate fills in what is implied, and reports the first field that is out of its bounds.
func (a *Ask) Validate() error {
	of, known := states[a.Action]
	if !known {
		return invalid.New(invalid.Unknown, "action", "must be redrive, skip, pause, resume or rewind")
	}
	if a.Rate = cmp.Or(a.Rate, DefaultRate); a.Rate < MinRate || a.Rate > MaxRate {
		return invalid.New(invalid.OutOfRange, "rate", fmt.Sprintf("is %d: it must be from %d to %d a second", a.Rate, MinRate, MaxRate))
	}
	if len(of) == 1 {
		a.State = cmp.Or(a.State, of[0])
	}
	return cmp.Or(a.validateState(of), a.validateTexts())
}

// validateState checks the state, and what goes with it.
func (a *Ask) validateState(of []trouble.State) error {
	switch {
	case !slices.Contains(of, a.State):
		var names []string
		for _, state := range of {
			if state != "" {
				names = append(names, string(state))
			}
		}
		return invalid.New(invalid.Unknown, "state", fmt.Sprintf("must be one of %s with %s", strings.Join(names, ", "), a.Action))
	case a.Consumer == "" && (a.State == "" || a.State == trouble.CircuitOpen):
		return invalid.New(invalid.Missing, "consumer", fmt.Sprintf("is missing: it must be given with state %q", a.State))
	case a.State == "" && !a.Since.IsZero():
		return invalid.New(invalid.Misplaced, "since", "must stand beside a state")
	case (a.Action == handoff.OpRewind) != (a.Start != ""):
		return invalid.New(invalid.Misplaced, "start", "belongs to rewind, which must have it: first, latest or a seq")
	}
	return nil
}

func (a *Ask) validateTexts() error {
	if a.Consumer != "" {
		if err := handoff.ValidateConsumer(a.Consumer); err != nil {
			return err
		}
	}
	for _, text := range []struct {
		field, given string
		low, most    int
	}{
		{"reason", a.Reason, 1, record.MaxReason}, {"error", a.Error, 0, maxError}, {"prefix", a.Prefix, 0, cursor.MaxQueueName},
	} {
		if len(text.given) < text.low || len(text.given) > text.most || !utf8.ValidString(text.given) {
			return invalid.New(invalid.TextCode(text.given, text.most), text.field, fmt.Sprintf("must be %d to %d bytes of UTF-8", text.low, text.most))
		}
	}
	return nil
}

// inState reports whether a row, or a consumer, came into the state within the times that are asked for.
func (a Ask) inState(since time.Time) bool { return !since.After(a.At) && !since.Before(a.Since) }

// like reports whether a text has a pattern in it, in which a * stands for any text. It looks at
// the text once.
func like(text, pattern string) bool {
	ok := true
	for part := range strings.SplitSeq(pattern, "*") {
		if _, text, ok = strings.Cut(text, part); !ok {
			break
		}
	}
	return ok
}

// selects reports whether a consumer, as it stands, is one to act on.
func (a Ask) selects(c handoff.Consumer) bool {
	switch {
	case !like(c.Error, a.Error):
		return false
	case a.Action == handoff.OpPause && c.Paused != "", a.Action == handoff.OpResume && c.Paused == "":
		return false
	}
	switch a.State {
	case trouble.Blocked, trouble.Paused, trouble.InDoubt, trouble.Quarantined:
		return slices.ContainsFunc(record.Troubles(c), func(row trouble.Row) bool {
			return row.State == a.State && a.inState(row.Since)
		})
	}
	return true // only its row says so
}

// act is what is done to one consumer.
func (b Batch) act(one One) (handoff.Act, error) {
	act := handoff.Act{
		Order: handoff.Order{Queue: one.Queue, Consumer: one.Consumer, Reason: b.Reason, Op: b.ID, Who: b.Who},
		Kind:  b.Action, At: b.Started, Selects: b.selects,
	}
	var err error
	if b.Start != "" {
		act.Start, err = handoff.ParseStart(b.Start)
	}
	return act, err
}
