package bulk

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/errtext"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Request is an operation, and the consumers that it is for.
type Request struct {
	// Action is redrive, skip, pause, resume or rewind, Start where a rewind goes, Reason why.
	Action, Start, Reason string

	// Consumer is the only name; empty for all names. State is what the consumers are in; empty for
	// all of the name. Prefix begins the names of their queues.
	Consumer, State, Prefix string
	// Targets are the only consumers, of those that the other fields select; empty for all of them.
	// Prefix does not count beside them.
	Targets []Target
	// Error is in the text of the last failure, where a * stands for any text; or in its group, as
	// a summary has them.
	Error string
	// Since is the longest time in the state (1h), or the earliest time when it began (RFC 3339).
	Since string

	// Rate is how many operations begin in a second; 0 for [DefaultRate].
	Rate int
	// Run names a run that was cut short; empty for a new one.
	Run string
}

const minRate, DefaultRate, maxRate = 1, 50, 1000

// The bounds of texts, which the API has too.
const maxReason, maxError = 500, 300

var states = map[string][]string{
	"redrive": {"blocked", "retrying", "held"},
	"skip":    {"blocked", "retrying", "held"},
	"resume":  {"paused"},
	"pause":   pausable,
	"rewind":  append([]string{"paused"}, pausable...),
}

var pausable = []string{
	"", "blocked", "in-doubt", "held", "retrying", "catching-up",
}

// ActionsIn are the actions for consumers in a state, the likeliest first; empty for any state.
func ActionsIn(state string) (actions []string) {
	for _, action := range []string{"redrive", "skip", "resume", "pause", "rewind"} {
		if state == "" || slices.Contains(states[action], state) {
			actions = append(actions, action)
		}
	}
	return actions
}

func wrong(code invalid.Code, field, problem string, arguments ...any) error {
	return invalid.New(code, field, fmt.Sprintf(problem, arguments...))
}

// Validate fills in what is implied. The error is a *invalid.Error of the first wrong field.
func (r *Request) Validate() error {
	allowed, known := states[r.Action]
	if !known {
		return wrong(invalid.Unknown, "action",
			"is %q: it must be redrive, skip, pause, resume or rewind", r.Action)
	}
	if r.Rate = cmp.Or(r.Rate, DefaultRate); r.Rate < minRate || r.Rate > maxRate {
		return wrong(invalid.OutOfRange, "rate",
			"is %d: it must be from %d to %d a second", r.Rate, minRate, maxRate)
	}
	if r.Action != "pause" && r.Action != "rewind" {
		r.State = cmp.Or(r.State, allowed[0])
	}
	if r.Run != "" && runTime(r.Run).IsZero() {
		return wrong(invalid.Malformed, "run",
			"is %q: it must be the name that an earlier run printed", r.Run)
	}
	return cmp.Or(r.validateState(allowed), r.validateStart(),
		bounds.Text("reason", r.Reason, 1, maxReason), bounds.Text("error", r.Error, 0, maxError))
}

func (r *Request) validateState(allowed []string) error {
	switch {
	case !slices.Contains(allowed, r.State):
		named := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
		return wrong(invalid.Unknown, "state",
			"is %q: it must be one of %s with %s", r.State, strings.Join(named, ", "), r.Action)
	case r.Consumer == "" && len(r.Targets) == 0 && (r.State == "" || r.State == "held"):
		return wrong(invalid.Missing, "consumer",
			"is missing: give it, or another state than %s", cmp.Or(r.State, "none"))
	case r.State == "" && r.Since != "":
		return wrong(invalid.Misplaced, "since", "belongs to a state: give one")
	}
	if _, err := r.earliest(time.Now()); err != nil {
		return wrong(invalid.Malformed, "since",
			"is %q: it must be like 1h, or like 2026-01-02T15:04:05Z", r.Since)
	}
	return nil
}

func (r *Request) validateStart() error {
	if (r.Action == "rewind") != (r.Start != "") {
		return wrong(invalid.Misplaced, "start",
			"belongs to rewind, which must have it: first, latest or a seq")
	}
	_, err := cursor.ParseSeq(r.Start)
	if err != nil && !slices.Contains([]string{"", "first", "latest"}, r.Start) {
		return wrong(invalid.Malformed, "start", "is %q: it must be first, latest or a seq", r.Start)
	}
	return nil
}

// earliest is since when a consumer may be in the state; the zero time for any.
func (r *Request) earliest(began time.Time) (time.Time, error) {
	if r.Since == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(r.Since); err == nil && ago > 0 {
		return began.Add(-ago), nil
	}
	return time.Parse(time.RFC3339, r.Since)
}

// matches reports whether an error is one that a pattern selects: as its text is, or as its group
// is.
func matches(text, pattern string) bool {
	if like(text, pattern) {
		return true
	}
	names := strings.ContainsFunc(pattern, unicode.IsLetter) // # alone is no group
	return names && errtext.Group(pattern) == pattern && strings.Contains(errtext.Group(text), pattern)
}

// like reports whether a text contains a pattern, in which a * stands for any text.
func like(text, pattern string) bool {
	found := true
	for part := range strings.SplitSeq(pattern, "*") {
		if _, text, found = strings.Cut(text, part); !found {
			break
		}
	}
	return found
}

// timeDigits is how many digits begin a run's name: its time, in ms.
const timeDigits = 13

// maxRun leaves room in an operation's id, 64 bytes, for what names the consumer.
const maxRun = 40

func runName(began time.Time, random string) string {
	return fmt.Sprintf("%0*d%s", timeDigits, began.UnixMilli(), strings.ToLower(random[:8]))
}

const runCharacters = "abcdefghijklmnopqrstuvwxyz0123456789"

// runTime is when a run began; the zero time where the text names no run.
func runTime(name string) time.Time {
	if len(name) <= timeDigits || len(name) > maxRun || strings.Trim(name, runCharacters) != "" {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(name[:timeDigits], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
