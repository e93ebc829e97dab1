package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// listFlags are those of each list.
type listFlags struct {
	Prefix string `help:"Only those whose queue, or tag, begins so."`
	Limit  int    `help:"Print so many at most; 0 for all." default:"100"`
}

// defaultListed is how many of a list are printed where nothing else is said.
const defaultListed = 100

// listed is a queue, a consumer or a chain in a list.
type listed struct {
	Queue, Consumer, Tag, State string
	Kind                        string
	Delivered, Position, Lag    seq
	Paused, GapOpen             bool
	AgeSeconds                  float64
	Due                         string
}

// errEnough ends a list.
var errEnough = errors.New("enough is listed")

// list prints a list of a path, a line each; line says what is in it.
func (s *session) list(path, state string, f listFlags, query url.Values, line func(listed) string) error {
	if f.Limit < 0 {
		return usageError(fmt.Sprintf("--limit is %d: it must be 0 at least", f.Limit))
	}
	for name, value := range map[string]string{"state": state, "prefix": f.Prefix} {
		if value != "" {
			query.Set(name, value)
		}
	}
	n := 0
	err := s.pages(path, query, "list", func(raw json.RawMessage) error {
		if n == f.Limit && f.Limit > 0 {
			return errEnough
		}
		n++
		var it listed
		if err := json.Unmarshal(raw, &it); err != nil {
			return err
		}
		return s.print(raw, "%s\n", line(it))
	})
	switch {
	case errors.Is(err, errEnough):
		_, err = fmt.Fprintf(s.errOut, "there are more than %d: --limit 0 prints all\n", f.Limit)
	case err == nil && n == 0 && !s.json:
		_, err = fmt.Fprintln(s.out, "none")
	}
	return err
}

// inState is how a line of a list by state ends.
func (it listed) inState() string { return it.State + "\tfor " + age(it.AgeSeconds) }

// age is a time in the two greatest of its units, or a part of a second.
func age(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	days := int(d / (24 * time.Hour))
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%dh", days, int(d/time.Hour)%24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", int(d/time.Hour), int(d/time.Minute)%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", int(d/time.Minute), int(d/time.Second)%60)
	}
	return fmt.Sprintf("%.0fs", seconds)
}

// queuesCommand lists queues.
type queuesCommand struct {
	State string `help:"Only those in this state: ${enum}. A queue comes once for each consumer that is in it." enum:",gap,lagging,blocked,paused,in-doubt,quarantined,missing,replying" default:""`
	listFlags
}

// Run implements the verb.
func (c *queuesCommand) Run(s *session) error {
	return s.list("/queues", c.State, c.listFlags, url.Values{}, func(it listed) string {
		switch {
		case c.State != "":
			return it.Queue + "\t" + cmp.Or(it.Consumer, "-") + "\t" + it.inState()
		case it.GapOpen:
			return fmt.Sprintf("%s\t%s\tposition %s, a gap", it.Queue, it.Kind, it.Position)
		}
		return fmt.Sprintf("%s\t%s\tposition %s", it.Queue, it.Kind, it.Position)
	})
}

// list prints the consumers of many queues.
func (c *consumersCommand) list(s *session) error {
	query := url.Values{}
	if c.Named != "" {
		query.Set("consumer", c.Named)
	}
	return s.list("/consumers", c.State, c.listFlags, query, func(it listed) string {
		if c.State != "" {
			return cmp.Or(it.Queue, "-") + "\t" + cmp.Or(it.Consumer, "-") + "\t" + it.inState()
		}
		paused := ""
		if it.Paused {
			paused = ", paused"
		}
		return fmt.Sprintf("%s\t%s\tdelivered %s of %s, lag %s, %s%s", it.Queue, it.Consumer, it.Delivered, it.Position, it.Lag, it.State, paused)
	})
}

// chainsCommand lists chains.
type chainsCommand struct {
	State string `help:"Those in this state: ${enum}." enum:"open,failed,timed-out" default:"open"`
	listFlags
}

// Run implements the verb.
func (c *chainsCommand) Run(s *session) error {
	return s.list("/chains", c.State, c.listFlags, url.Values{}, func(it listed) string {
		if it.Due != "" {
			return it.Tag + "\t" + it.State + "\tdue at " + it.Due
		}
		return it.Tag + "\t" + it.inState()
	})
}

// summaryCommand counts who is in trouble.
type summaryCommand struct {
	Prefix string `help:"Only those whose queue, or tag, begins so."`
}

// summarized are the states in the order in which they are printed.
var summarized = []string{
	"gap", "lagging", "blocked", "paused", "in-doubt", "quarantined", "missing", "replying", "circuit-open", "failed", "timed-out",
}

// Run implements the verb.
func (c *summaryCommand) Run(s *session) error {
	query := url.Values{}
	if c.Prefix != "" {
		query.Set("prefix", c.Prefix)
	}
	var a struct {
		States map[string]struct {
			Count      int
			More       bool
			AgeSeconds float64
		}
		Rates *struct{ StoredPerSecond, DeliveredPerSecond float64 }
	}
	raw, err := s.get("/summary", query, &a)
	if err != nil {
		return err
	}
	text := ""
	for _, state := range summarized {
		n := a.States[state]
		if n.Count == 0 {
			continue
		}
		more := ""
		if n.More {
			more = " or more"
		}
		text += fmt.Sprintf("%s\t%d%s\tthe oldest for %s\n", state, n.Count, more, age(n.AgeSeconds))
	}
	text = cmp.Or(text, "nothing is in trouble\n")
	if a.Rates != nil {
		text += fmt.Sprintf("messages a second, last 5 minutes\t%.1f stored, %.1f delivered\n", a.Rates.StoredPerSecond, a.Rates.DeliveredPerSecond)
	}
	return s.print(raw, "%s", text)
}
