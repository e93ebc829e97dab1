package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/streamsort/streamsort/internal/printable"
)

// listFlags are those of each list.
type listFlags struct {
	Prefix string `help:"Only those whose queue, or tag, begins so."`
	Limit  bound  `help:"Print so many at most; 0 for all. 100 where it is not given." placeholder:"N"`
}

// defaultListed is how many of a list are printed where nothing else is said.
const defaultListed = 100

// moreThan says that a list is longer than its limit.
const moreThan = "there are more than %d: --limit 0 prints all\n"

// listed is a queue, a consumer or a chain in a list.
type listed struct {
	Queue, Tag               printable.Name
	Consumer, State          string
	Kind                     string
	Delivered, Position, Lag seq
	Paused, GapOpen          bool
	GapAgeSeconds            float64
	AgeSeconds               float64
	Due                      string
}

// errEnough ends a list.
var errEnough = errors.New("enough is listed")

// list prints a list of a path; line says what is in an element, and its cells under the heads.
func (s *session) list(path, state string, f listFlags, query url.Values, heads []string, line func(listed) (string, []any)) error {
	for name, value := range map[string]string{"state": state, "prefix": f.Prefix} {
		if value != "" {
			query.Set(name, value)
		}
	}
	l := s.listing(heads...)
	return s.limited(l, path, query, "list", f.Limit, func(raw json.RawMessage) error {
		var it listed
		if err := json.Unmarshal(raw, &it); err != nil {
			return err
		}
		text, cells := line(it)
		return l.add(raw, text, cells...)
	})
}

// limited prints the first elements of a member of pages, which add adds, and says where there are more.
func (s *session) limited(l *listing, path string, query url.Values, member string, limit bound, add func(json.RawMessage) error) error {
	most, err := limit.orAll(defaultListed)
	if err != nil {
		return err
	}
	err = s.pages(path, query, member, func(raw json.RawMessage) error {
		if l.n == most && most > 0 {
			return errEnough
		}
		return add(raw)
	})
	if errors.Is(err, errEnough) {
		_, err = fmt.Fprintf(s.errOut, moreThan, most)
	}
	return l.end("none", err)
}

// byState are the heads of a list by state.
var byState = []string{"queue", "consumer", "state", "for or since"}

// inState is a line of a list by state.
func (it listed) inState(c clock, names ...any) (string, []any) {
	lasting := c.lasting(it.AgeSeconds)
	text := ""
	for _, name := range names {
		text += fmt.Sprint(name) + "\t"
	}
	return text + it.State + "\t" + lasting, append(names, it.State, lasting)
}

// list prints the consumers of many queues.
func (c *consumersCommand) list(s *session) error {
	query := url.Values{}
	if c.Named != "" {
		query.Set("consumer", c.Named)
	}
	heads := []string{"queue", "consumer", "delivered", "position", "lag", "state", "paused"}
	if c.State != "" {
		heads = byState
	}
	return s.list("/consumers", c.State, c.listFlags, query, heads, func(it listed) (string, []any) {
		if c.State != "" {
			return it.inState(s.clock, cmp.Or(it.Queue, "-"), cmp.Or(it.Consumer, "-"))
		}
		paused := ""
		if it.Paused {
			paused = ", paused"
		}
		text := fmt.Sprintf("%s\t%s\tdelivered %s of %s, lag %s, %s%s", it.Queue, it.Consumer, it.Delivered, it.Position, it.Lag, it.State, paused)
		return text, []any{it.Queue, it.Consumer, it.Delivered, it.Position, it.Lag, it.State, cmp.Or(strings.TrimPrefix(paused, ", "), "-")}
	})
}

// chainsCommand lists chains.
type chainsCommand struct {
	readFlags
	State string `help:"Those in this state: ${enum}." enum:"open,failed,timed-out" default:"open"`
	listFlags
}

// Run implements the verb.
func (c *chainsCommand) Run(s *session) error {
	heads := []string{"chain", "state", "due, or since"}
	return s.list("/chains", c.State, c.listFlags, url.Values{}, heads, func(it listed) (string, []any) {
		if it.Due != "" {
			due := "due " + s.clock.due(it.Due)
			return fmt.Sprintf("%s\t%s\t%s", it.Tag, it.State, due), []any{it.Tag, it.State, due}
		}
		return it.inState(s.clock, it.Tag)
	})
}

// summaryCommand counts who is in trouble.
type summaryCommand struct {
	readFlags
	Prefix string `help:"Only those whose queue, or tag, begins so."`
}

// summarized are the states in the order in which they are printed.
var summarized = []string{
	"gap", "lagging", "blocked", "failing", "paused", "in-doubt", "quarantined", "missing", "replying", "circuit-open", "failed", "timed-out",
}

// summary is who is in trouble, as the API counts them.
type summary struct {
	States map[string]stateCount
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

// summary asks who is in trouble.
func (s *session) summary(prefix string) (a summary, raw json.RawMessage, err error) {
	query := url.Values{}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	raw, err = s.get("/summary", query, &a)
	return a, raw, err
}

// Run implements the verb.
func (c *summaryCommand) Run(s *session) error {
	a, raw, err := s.summary(c.Prefix)
	if err != nil {
		return err
	}
	text := ""
	var rows []table.Row
	for _, state := range summarized {
		n := a.States[state]
		if n.Count == 0 {
			continue
		}
		lasting := s.clock.lasting(n.AgeSeconds)
		text += fmt.Sprintf("%s\t%s\tthe oldest %s\n", state, n, lasting)
		rows = append(rows, table.Row{s.paint(state), n.String(), lasting})
	}
	if s.format == asTable && len(rows) > 0 {
		text = s.table([]string{"state", "count", "the oldest"}, rows) + "\n"
	}
	text = cmp.Or(text, "nothing is in trouble\n")
	if a.Rates != nil {
		text += fmt.Sprintf("messages a second, last 5 minutes\t%.1f stored, %.1f delivered\n", a.Rates.StoredPerSecond, a.Rates.DeliveredPerSecond)
	}
	return s.print(raw, "%s", text)
}
