package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/view"
)

// summarized are the states in the order in which they are printed: those of queues and consumers,
// and of chains.
var summarized = append(slices.Clone(view.Attention), "failed", "timed-out")

// howMany is how many are in a state, which may be some only.
func howMany(n view.Count) string {
	if n.More {
		return fmt.Sprintf("%d or more", n.Count)
	}
	return strconv.Itoa(n.Count)
}

// grouped is a group of errors in a line, with where to look.
func (s *session) grouped(g view.Group) string {
	var examples []string
	for _, e := range g.Examples {
		example := e.Queue.String()
		if e.Seq != nil {
			example += "@" + failedSeqs(e.Seq, e.To)
		}
		examples = append(examples, example)
	}
	such := ", such as " + strings.Join(examples, ", ")
	if held := g.Held(s.clock.since(written(g.Since))); held != "" {
		return g.Queues() + such + ". " + held
	}
	if g.Error != "" {
		such = ": " + g.Error.String() + such
	}
	return g.Queues() + such
}

// summary asks how many are in each state, and which errors they have.
func (s *session) summary(prefix string) (a view.Summary, err error) {
	_, err = s.get("/summary", url.Values{"prefix": {prefix}}, &a)
	return a, err
}
