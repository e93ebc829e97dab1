package view

import (
	"cmp"
	"slices"
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

// Summary is how many queues, consumers and chains are in each state, and which errors the failures have.
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

// Rates are how many messages a second were accepted, and delivered to sinks by process, repeats among them, in
// the last whole minutes. What processes counted in their last ten seconds may be in the minute behind it.
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
	State    State  `json:"state"`
	Cause    string `json:"cause,omitempty"`
	// Error is the group of their errors; empty where none is known.
	Error printable.Name `json:"error,omitempty"`
	// Count is how many queues, Since since when the oldest of them is in the state.
	Count int       `json:"count"`
	Since time.Time `json:"since"`
	Age   float64   `json:"ageSeconds"`
	// Examples are the oldest of them, MaxExamples at most.
	Examples []Example `json:"examples"`
}

// Example is one queue of a group.
type Example struct {
	Queue printable.Name `json:"queue,omitempty"`
	Seq   *jsonseq.Seq   `json:"seq,omitempty"`
	Error printable.Name `json:"error,omitempty"`
	Since time.Time      `json:"since"`
}

// MaxGroups is how many groups a summary has, MaxExamples how many examples each.
const MaxGroups, MaxExamples = 100, 3

// Grouped gathers consumers in groups, as they come in any order.
type Grouped struct {
	now time.Time
	of  map[groupKey]*Group
}

// groupKey is what the consumers of a group have in common.
type groupKey struct {
	consumer string
	state    State
	cause    string
	error    printable.Name
}

// NewGrouped is without a group yet.
func NewGrouped(now time.Time) *Grouped { return &Grouped{now, map[groupKey]*Group{}} }

// Add adds a consumer to its group. Those whose circuit breaker holds them are one group of their name, whatever each was answered.
func (g *Grouped) Add(h Head) {
	key := groupKey{h.Consumer, h.State, h.Cause, h.Group}
	if h.State == Held {
		key.error = ""
	}
	group := g.of[key]
	if group == nil {
		group = &Group{Consumer: h.Consumer, State: h.State, Cause: h.Cause, Since: h.Since}
		g.of[key] = group
	}
	group.Error = cmp.Or(group.Error, h.Group)
	group.Count++
	if h.Since.Before(group.Since) {
		group.Since = h.Since
	}
	group.Age = max(g.now.Sub(group.Since).Seconds(), 0)
	group.Examples = append(group.Examples, Example{h.Queue, h.Seq, h.Error, h.Since})
	slices.SortStableFunc(group.Examples, func(a, b Example) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Queue, b.Queue))
	})
	group.Examples = group.Examples[:min(len(group.Examples), MaxExamples)]
}

// Groups are the groups, those of the worst state first, of each state the largest, and whether some
// were left out.
func (g *Grouped) Groups() (groups []Group, more bool) {
	groups = []Group{}
	for _, group := range g.of {
		groups = append(groups, *group)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(
			a.State.compare(b.State), cmp.Compare(b.Count, a.Count), a.Since.Compare(b.Since),
			cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Error, b.Error),
		)
	})
	if len(groups) > MaxGroups {
		return groups[:MaxGroups], true
	}
	return groups, false
}
