package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/printable"
)

// summarized are the states in the order in which they are printed.
var summarized = []string{"gap", "blocked", "in-doubt", "held", "retrying", "catching-up", "paused", "failed", "timed-out"}

// summary is how many are in each state, and the groups of errors, as the API counts them.
type summary struct {
	States map[string]stateCount
	Groups []group
	Rates  *struct{ StoredPerSecond, DeliveredPerSecond float64 }
}

// stateCount is how many are in a state.
type stateCount struct {
	Count      int
	More       bool
	AgeSeconds float64
}

// String is the count, which may be of some only.
func (n stateCount) String() string {
	if n.More {
		return fmt.Sprintf("%d or more", n.Count)
	}
	return strconv.Itoa(n.Count)
}

// group is a consumer's failures of one normalised error.
type group struct {
	Consumer, State, Cause string
	Error                  printable.Name
	Count                  int
	AgeSeconds             float64
	Examples               []struct {
		Queue printable.Name
		Seq   seq
	}
}

// text is the group in a line, with where to look.
func (g group) text() string {
	var examples []string
	for _, e := range g.Examples {
		examples = append(examples, fmt.Sprintf("%s@%s", e.Queue, e.Seq))
	}
	text := fmt.Sprintf("%s %s", count(g.Count, "queue", "queues"), g.State)
	if g.Error != "" {
		text += ": " + g.Error.String()
	}
	return text + ", such as " + strings.Join(examples, ", ")
}

// summary asks how many are in each state.
func (s *session) summary(prefix string) (a summary, err error) {
	query := url.Values{}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	_, err = s.get("/summary", query, &a)
	return a, err
}
