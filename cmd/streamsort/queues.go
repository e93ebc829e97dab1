package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/streamsort/streamsort/internal/printable"
)

// queuesCommand lists queues.
type queuesCommand struct {
	readFlags
	State string `help:"Only those in this state: ${enum}. A queue comes once for each consumer that is in it." enum:",gap,lagging,blocked,failing,paused,in-doubt,quarantined,missing,replying" default:""`
	Sort  string `help:"Sort by ${enum}: the greatest lag of a queue's consumers, or the age of its gap, the greatest first, or the name. 10,000 queues are read at most." enum:",lag,gap,name" default:""`
	listFlags
}

// Run implements the verb.
func (c *queuesCommand) Run(s *session) error {
	if c.Sort != "" {
		return c.sorted(s)
	}
	heads := []string{"queue", "kind", "position", "gap"}
	if c.State != "" {
		heads = byState
	}
	return s.list("/queues", c.State, c.listFlags, url.Values{}, heads, func(it listed) (string, []any) {
		if c.State != "" {
			return it.inState(s.clock, it.Queue, cmp.Or(it.Consumer, "-"))
		}
		text, gap := fmt.Sprintf("%s\t%s\tposition %s", it.Queue, it.Kind, it.Position), "-"
		if it.GapOpen {
			text, gap = text+", a gap", "gap"
		}
		return text, []any{it.Queue, it.Kind, it.Position, gap}
	})
}

// maxSorted is how many queues are read to be sorted.
const maxSorted = 10000

// sortable is a queue that was read, and what it is sorted by.
type sortable struct {
	listed
	raw json.RawMessage
	// greatest is the greatest lag of its consumers; -1 where it has none, or where it was not read.
	greatest int64
}

// sorted prints queues in an order. The API lists them in none, page by page: all that are to be
// sorted are read before the first is printed.
func (c *queuesCommand) sorted(s *session) error {
	if c.State != "" {
		return usageError("--sort is for a list of all: with --state, queues come by their names; leave out one of the two")
	}
	limit, err := c.Limit.orAll(defaultListed)
	if err != nil {
		return err
	}
	all, more, err := s.queues(c.Prefix)
	if err != nil {
		return err
	}
	if more {
		fmt.Fprintf(s.errOut, "there are more than %d: only those that were read first are sorted\n", maxSorted)
	}
	if c.Sort == "lag" {
		err = s.lags(c.Prefix, all) // some may be known all the same
	}
	slices.SortStableFunc(all, orders[c.Sort])
	if limit > 0 && len(all) > limit {
		all = all[:limit]
		fmt.Fprintf(s.errOut, moreThan, limit)
	}
	return c.print(s, all, err)
}

// orders are how queues may be sorted; those that are equal come by their names.
var orders = map[string]func(a, b *sortable) int{
	"name": byName,
	"gap":  func(a, b *sortable) int { return cmp.Or(cmp.Compare(b.gapAge(), a.gapAge()), byName(a, b)) },
	"lag":  func(a, b *sortable) int { return cmp.Or(cmp.Compare(b.greatest, a.greatest), byName(a, b)) },
}

// byName is the order of the names.
func byName(a, b *sortable) int { return cmp.Compare(a.Queue, b.Queue) }

// gapAge is for how many seconds there is a gap; -1 where there is none.
func (q *sortable) gapAge() float64 {
	if !q.GapOpen {
		return -1
	}
	return q.GapAgeSeconds
}

// pageOf is a query for the longest pages of a list.
func pageOf(prefix string) url.Values {
	query := url.Values{"limit": {"100"}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	return query
}

// queues reads queues, maxSorted at most, and whether there are more.
func (s *session) queues(prefix string) (all []*sortable, more bool, err error) {
	err = s.pages("/queues", pageOf(prefix), "list", func(raw json.RawMessage) error {
		if len(all) == maxSorted {
			return errEnough
		}
		it := &sortable{raw: raw, greatest: -1}
		all = append(all, it)
		return json.Unmarshal(raw, &it.listed)
	})
	if errors.Is(err, errEnough) {
		return all, true, nil
	}
	return all, false, err
}

// lags reads the greatest lag of each queue's consumers. The consumers are listed in the order of
// the queues, so that those of queues which were not read come behind all others: a page of
// them is enough.
func (s *session) lags(prefix string, queues []*sortable) error {
	of := make(map[printable.Name]*sortable, len(queues))
	for _, q := range queues {
		of[q.Queue] = q
	}
	others := map[printable.Name]bool{}
	err := s.pages("/consumers", pageOf(prefix), "list", func(raw json.RawMessage) error {
		var it listed
		if err := json.Unmarshal(raw, &it); err != nil {
			return err
		}
		q, ok := of[it.Queue]
		if !ok {
			if others[it.Queue] = true; len(others) > 100 {
				return errEnough
			}
			return nil
		}
		lag, err := it.Lag.number()
		q.greatest = max(q.greatest, lag)
		return err
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// print prints sorted queues, with a column of what they are sorted by, and passes on why not all
// is known of them.
func (c *queuesCommand) print(s *session, all []*sortable, ended error) error {
	heads := []string{"queue", "kind", "position", "gap"}
	if c.Sort == "lag" {
		heads = append(heads, "greatest lag")
	}
	l := s.listing(heads...)
	for _, q := range all {
		text, gap := fmt.Sprintf("%s\t%s\tposition %s", q.Queue, q.Kind, q.Position), "-"
		if q.GapOpen {
			gap = s.clock.lasting(q.GapAgeSeconds)
			text += ", a gap " + gap
		}
		cells := []any{q.Queue, q.Kind, q.Position, gap}
		if c.Sort == "lag" {
			lag := "-"
			if q.greatest >= 0 {
				lag = strconv.FormatInt(q.greatest, 10)
			}
			text, cells = text+"\tgreatest lag "+lag, append(cells, lag)
		}
		if err := l.add(q.raw, text, cells...); err != nil {
			return err
		}
	}
	return l.end("none", ended)
}
