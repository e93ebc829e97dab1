package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/view"
)

type listFlags struct {
	Prefix string `help:"Only those whose queue, or tag, begins so."`
	Limit  *int   `help:"Print so many at most; 0 for all. 100 where it is not given." placeholder:"N"`
}

type listed struct{ view.Row }

// limited prints the first elements of a member of pages, by their cells, and says where there are
// more.
func limited[T any](l *listing, path string, query url.Values, member string, limit *int,
	cells func(T) []any) error {
	most, err := orAll(limit)
	if err != nil {
		return err
	}
	for it, raw := range each[T](l.s, path, query, member, &err) {
		if l.n == most && most > 0 {
			fmt.Fprintf(l.s.errOut, "there are more than %d: --limit 0 prints all\n", most)
			break
		}
		l.add(raw, cells(it)...)
	}
	return l.end("none", err)
}

// listRows lists queues and consumers with their states, as the view model has them.
func (s *session) listRows(path, state, consumer string, f listFlags) error {
	query := client.Query("state", state, "consumer", consumer, "prefix", f.Prefix)
	row := func(it listed) []any { return it.row(s.clock) }
	return limited(s.listing(rowHeads...), path, query, "list", f.Limit, row)
}

var rowHeads = []string{"queue", "consumer", "state", "seq", "lag", "since", "error"}

// row is the element in these columns; "-" where a thing is not known, or is not.
func (it listed) row(c clock) []any {
	return []any{
		cmp.Or(it.Queue.String(), "-"), cmp.Or(it.Consumer, "-"), states(it.Head),
		failedSeqs(it.Seq, it.To), known(it.Lag), cmp.Or(c.since(it.Since), "-"), cmp.Or(it.failed(c), "-"),
	}
}

// failed is why a try failed, which one that was, and when the next one is; empty where none did.
func (it listed) failed(c clock) string {
	var tries []string
	if it.Attempt > 0 {
		tries = append(tries, fmt.Sprintf("attempt %d", it.Attempt))
	}
	if !it.NextTry.IsZero() {
		tries = append(tries, "next try "+c.due(it.NextTry))
	}
	if len(tries) == 0 {
		return it.Error.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s)", it.Error, strings.Join(tries, ", ")))
}

func (s *session) chains(state string, f listFlags) error {
	l := s.listing("chain", "state", "due, or since")
	query := client.Query("state", state, "prefix", f.Prefix)
	return limited(l, "/chains", query, "list", f.Limit, func(it listed) []any {
		when := s.clock.lasting(it.Age)
		if !it.Due.IsZero() {
			when = "due " + s.clock.due(it.Due)
		}
		return []any{it.Tag, it.State, when}
	})
}

type topCommand struct {
	readFlags
	listFlags
}

type ranked struct {
	listed
	raw json.RawMessage
}

// farthest has those first that are farthest behind, and keeps so many; 0 keeps all.
func farthest(all []ranked, most int) []ranked {
	slices.SortFunc(all, func(a, b ranked) int { return view.Farthest(a.Row, b.Row) })
	if most == 0 {
		return all
	}
	return all[:min(len(all), most)]
}

func (c *topCommand) Run(s *session) error {
	most, err := orAll(c.Limit)
	if err != nil {
		return err
	}
	var all []ranked
	query := url.Values{"limit": {"100"}, "prefix": {c.Prefix}}
	for it, raw := range each[listed](s, "/consumers", query, "list", &err) {
		if all = append(all, ranked{it, raw}); len(all) == 2*most {
			all = farthest(all, most)
		}
	}
	l := s.listing(rowHeads...)
	for _, r := range farthest(all, most) {
		l.add(r.raw, r.row(s.clock)...)
	}
	return l.end("no consumer", err)
}
