package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// Rows is a page of a list of queues or consumers.
type Rows struct {
	Status int    `json:"status"`
	List   []Head `json:"list"`
	// Unreadable says, a line each, which consumers of these queues are left out, and why.
	Unreadable string `json:"unreadable,omitempty"`
	Next       string `json:"next,omitempty"`
}

// Row is a row of a list of queues, of consumers or of chains, with what only one of them has.
type Row struct {
	Head
	Kind    string         `json:"kind"`
	GapOpen bool           `json:"gapOpen"`
	GapAge  float64        `json:"gapAgeSeconds"`
	Tag     printable.Name `json:"tag"`
	Due     time.Time      `json:"due"`
}

// Behind is how many messages the consumer has to get.
func (r Row) Behind() int64 { return r.Lag.OrZero() }

// Farthest orders rows by how many messages they are behind, the most first.
func Farthest(a, b Row) int {
	return cmp.Or(
		cmp.Compare(b.Behind(), a.Behind()), cmp.Compare(a.Queue, b.Queue),
		cmp.Compare(a.Consumer, b.Consumer),
	)
}

// Summary is how many queues, consumers and chains are in each state, and which errors the failures
// have.
type Summary struct {
	Status int             `json:"status"`
	States map[State]Count `json:"states"`
	// Groups are those of the consumers that fail, the worst state first, and then the largest;
	// MoreGroups says that there are more.
	Groups     []Group `json:"groups"`
	MoreGroups bool    `json:"moreGroups,omitempty"`
	// Rates are the whole stack's; nil where a tenant asks, or for the queues of a prefix.
	Rates *Rates `json:"rates,omitempty"`
}

// Count is how many are in a state, and for how long the oldest of them is.
type Count struct {
	Count int `json:"count"`
	// More: there are more, which are not counted, and of which one may be older.
	More   bool      `json:"more,omitempty"`
	Oldest time.Time `json:"oldest,omitzero"`
	Age    float64   `json:"ageSeconds,omitempty"`
}

// Add counts one that is in the state since a time.
func (c *Count) Add(since, now time.Time) {
	c.Count++
	if c.Oldest.IsZero() || since.Before(c.Oldest) {
		c.Oldest, c.Age = since, max(now.Sub(since).Seconds(), 0)
	}
}

// Rates are how many messages a second were accepted, and delivered to sinks by process, repeats
// among them, in the last whole minutes. What processes counted in their last ten seconds may be in
// the minute behind it.
type Rates struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Stored    float64   `json:"storedPerSecond"`
	Delivered float64   `json:"deliveredPerSecond"`
	// Minutes are the last thirty, the latest last.
	Minutes []Minute `json:"minutes"`
}

// Minute is what was accepted, and delivered, in a minute that begins at a time.
type Minute struct {
	At        time.Time `json:"at"`
	Stored    int64     `json:"stored"`
	Delivered int64     `json:"delivered"`
}

// Group is consumers of one name that fail for one cause.
type Group struct {
	Consumer string `json:"consumer"`
	// State is the worst of theirs, States has how many are in each.
	State  State     `json:"state"`
	States []InState `json:"states"`
	Cause  string    `json:"cause,omitempty"`
	// Error is the group of their errors; empty where none is known.
	Error printable.Name `json:"error,omitempty"`
	// Count is how many queues, Since since when the oldest of them is in its state.
	Count int       `json:"count"`
	Since time.Time `json:"since"`
	Age   float64   `json:"ageSeconds"`
	// Examples are the oldest of them, MaxExamples at most.
	Examples []Example `json:"examples"`
}

// Example is one queue of a group.
type Example struct {
	Queue printable.Name `json:"queue,omitempty"`
	// Seq and To are as those of its [Head].
	Seq   *jsonseq.Seq   `json:"seq,omitempty"`
	To    *jsonseq.Seq   `json:"to,omitempty"`
	Error printable.Name `json:"error,omitempty"`
	Since time.Time      `json:"since"`
}

// MaxGroups is how many groups a summary has, MaxExamples how many examples each.
const MaxGroups, MaxExamples = 100, 3

// InState is how many queues of a group are in a state.
type InState struct {
	State State `json:"state"`
	Count int   `json:"count"`
}

// Queues says how many queues a group has, and in which states: "21 queues: 12 blocked, 9 held".
func (g Group) Queues() string {
	text := count(g.Count, "queue")
	if len(g.States) < 2 {
		return text + " " + string(g.State)
	}
	var each []string
	for _, in := range g.States {
		each = append(each, fmt.Sprintf("%d %s", in.Count, in.State))
	}
	return text + ": " + strings.Join(each, ", ")
}

// Held says that the calls of the consumer fail, since when as it is shown, where an open circuit
// breaker holds the group's queues; else nothing.
func (g Group) Held(since string) string {
	if g.State != Held || g.Cause != Open {
		return ""
	}
	text := "Calls to " + printable.Text(g.Consumer) + " fail " + since
	if g.Error != "" {
		text += ": " + g.Error.String()
	}
	return text + "; they are held, and one at a time is tried again"
}

// groupKey is what the consumers of a group have in common: the error, or the state and its cause
// where none is known.
type groupKey struct {
	consumer string
	error    printable.Name
	state    State
	cause    string
}

// Groups gathers consumers in groups, those of the worst state first, of each state the largest,
// and reports whether some were left out. Those whose circuit breaker holds them are with what else
// fails as they do, or one group of their name, whatever each was answered.
func Groups(now time.Time, heads []Head) (groups []Group, more bool) {
	groups = []Group{}
	of := map[groupKey]int{}
	for _, held := range []bool{false, true} {
		for _, h := range heads {
			if (h.State == Held) != held {
				continue
			}
			key := groupKey{consumer: h.Consumer, error: h.Group}
			_, alike := of[key]
			switch {
			case held && !alike:
				key = groupKey{consumer: h.Consumer, state: Held}
			case !held && (h.Group == "" || h.Cause != Failed):
				key.state, key.cause = h.State, h.Cause
			}
			i, is := of[key]
			if !is {
				i, of[key] = len(groups), len(groups)
				groups = append(groups, Group{Consumer: h.Consumer, State: h.State, Cause: h.Cause,
					Since: h.Since})
			}
			groups[i].add(h, now)
		}
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(
			a.State.compare(b.State), cmp.Compare(b.Count, a.Count), a.Since.Compare(b.Since),
			cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Cause, b.Cause),
			cmp.Compare(a.Error, b.Error),
		)
	})
	more = len(groups) > MaxGroups
	return groups[:min(len(groups), MaxGroups)], more
}

func (g *Group) add(h Head, now time.Time) {
	if h.State.compare(g.State) < 0 {
		g.State, g.Cause = h.State, h.Cause
	}
	i := slices.IndexFunc(g.States, func(in InState) bool { return in.State == h.State })
	if i < 0 {
		i, g.States = len(g.States), append(g.States, InState{State: h.State})
	}
	g.States[i].Count++
	slices.SortFunc(g.States, func(a, b InState) int { return a.State.compare(b.State) })
	g.Error = cmp.Or(g.Error, h.Group)
	g.Count++
	if h.Since.Before(g.Since) {
		g.Since = h.Since
	}
	g.Age = max(now.Sub(g.Since).Seconds(), 0)
	g.Examples = append(g.Examples, Example{h.Queue, h.Seq, h.To, h.Error, h.Since})
	slices.SortStableFunc(g.Examples, func(a, b Example) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Queue, b.Queue))
	})
	g.Examples = g.Examples[:min(len(g.Examples), MaxExamples)]
}
