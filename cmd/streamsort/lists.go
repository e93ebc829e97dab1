package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
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
	view.Head
	Tag       printable.Name
	Kind, Due string
	GapOpen   bool
	GapAge    float64 `json:"gapAgeSeconds"`
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

// limited prints the first elements of a member of pages, which add adds, and says where there are
// more.
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

// listRows lists queues and consumers with their states, as the view model has them.
func (s *session) listRows(path, state string, f listFlags, query url.Values) error {
	return s.list(path, state, f, query, rowHeads, func(it listed) (string, []any) { return it.row(s.clock) })
}

// rowHeads are the columns of queues and consumers.
var rowHeads = []string{"queue", "consumer", "state", "seq", "lag", "since", "error"}

// row is the element in these columns, as a line and in cells; "-" where a thing is not known, or
// is not.
func (it listed) row(c clock) (string, []any) {
	since := "-"
	if !it.Since.IsZero() {
		since = c.since(written(it.Since))
	}
	cells := []any{
		cmp.Or(it.Queue.String(), "-"), cmp.Or(it.Consumer, "-"), states(it.Head), failedSeqs(it.Seq, it.To), known(it.Lag), since, cmp.Or(it.failed(c), "-"),
	}
	return fmt.Sprintf(strings.Repeat("\t%v", len(cells))[1:], cells...), cells
}

// failed is why a try failed, which one that was, and when the next one is; empty where none did.
func (it listed) failed(c clock) string {
	var tries []string
	if it.Attempt > 0 {
		tries = append(tries, fmt.Sprintf("attempt %d", it.Attempt))
	}
	if !it.NextTry.IsZero() {
		tries = append(tries, "next try "+c.due(written(it.NextTry)))
	}
	if len(tries) == 0 {
		return it.Error.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s)", it.Error, strings.Join(tries, ", ")))
}

// chains lists chains.
func (s *session) chains(state string, f listFlags) error {
	heads := []string{"chain", "state", "due, or since"}
	return s.list("/chains", state, f, url.Values{}, heads, func(it listed) (string, []any) {
		when := s.clock.lasting(it.Age)
		if it.Due != "" {
			when = "due " + s.clock.due(it.Due)
		}
		cells := []any{it.Tag, it.State, when}
		return fmt.Sprintf("%s\t%s\t%s", cells...), cells
	})
}
