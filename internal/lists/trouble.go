package lists

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/errtext"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/internal/view"
)

type aspect struct {
	state view.State
	cause string
}

var aspects = map[trouble.State]aspect{
	trouble.Gap:         {state: view.Gap},
	trouble.Blocked:     {view.Blocked, view.Failed},
	trouble.Missing:     {view.Blocked, view.Missing},
	trouble.InDoubt:     {view.InDoubt, view.Prepared},
	trouble.Quarantined: {view.InDoubt, view.Quarantined},
	trouble.Failing:     {view.Retrying, view.Failed},
	trouble.Replying:    {view.Retrying, view.Replies},
	trouble.Lagging:     {view.CatchingUp, view.Lagging},
	trouble.Paused:      {state: view.Paused},
}

func aspectOf(row trouble.Row) aspect {
	if a, known := aspects[row.State]; known {
		return a
	}
	if slices.Contains(trouble.ChainStates, row.State) {
		return aspect{state: view.State(row.State)}
	}
	return aspect{view.Held, view.Open}
}

// statesOfRows are the states of the rows that are in a state to people, in their order.
func statesOfRows(state view.State) []trouble.State {
	all := []trouble.State{}
	for _, s := range trouble.States {
		if aspects[s].state == state {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		all = append(all, trouble.State(state)) // of chains
	}
	slices.Sort(all)
	return all
}

// maxLooked is how many rows are read for a page at most, where some are left out.
const maxLooked = 1000

// maxOpen is how many names of consumers with an open circuit breaker are looked at.
const maxOpen = 100

// Verify says what is so now of a row; nil where it is over. Rows are never the truth.
type Verify func(ctx context.Context, row trouble.Row) (*view.Head, error)

// InState answers a page of those in a state, which is empty only where no more are behind it, or
// for lack of time. Half a read unit for each 4 KB, about 50 rows: those of other consumers are
// read too; and what verify reads, for each row of the page, side by side. A nil verify takes each
// row.
func InState(ctx context.Context, c *httpapi.Call, store *trouble.Store, s Selection, now time.Time,
	verify Verify) (int, any, error) {
	a := view.Rows{Status: http.StatusOK, List: []view.Head{}}
	for goOn := margin.Half(ctx); ; {
		rows, next, err := s.page(ctx, store, now)
		if err != nil {
			return 0, nil, err
		}
		heads, errs := make([]*view.Head, len(rows)), make([]error, len(rows))
		fanout.SideBySide(len(rows), func(i int) {
			if verify == nil {
				heads[i] = new(Shown(c, rows[i], now))
				return
			}
			heads[i], errs[i] = verify(ctx, rows[i])
		})
		for _, head := range heads {
			if head != nil {
				a.List = append(a.List, *head)
			}
		}
		a.Next = next
		err = errors.Join(errs...)
		if err != nil || len(a.List) > 0 || next == "" || !goOn() {
			return http.StatusOK, a, err
		}
		if err := s.goOn(next); err != nil {
			return 0, nil, err
		}
	}
}

func (s Selection) page(ctx context.Context, store *trouble.Store,
	now time.Time) (rows []trouble.Row, next string, err error) {
	over, open := statesOfRows(s.State), map[trouble.State]trouble.Row{}
	if s.State == view.Held || s.State == view.Retrying {
		held, away, err := heldStates(ctx, store, s.Consumer)
		if err != nil {
			return nil, "", err
		}
		if open = away; s.State == view.Held {
			over = append(held, trouble.Failing) // some are not noted as held yet
		}
	}
	size, looked := s.Limit, 0
	if s.Consumer != "" {
		size = maxLooked
	}
	for _, in := range over {
		place := ""
		if in < s.In {
			continue
		} else if in == s.In {
			place = s.Place
		}
		for {
			page, behind, err := store.Page(ctx, in, s.Prefix, place, size)
			if err != nil {
				return nil, "", err
			}
			s.In = in
			for i, row := range page {
				if s.Consumer != "" && row.Consumer != s.Consumer || row.Expired(now) {
					continue
				}
				if in == trouble.Failing {
					var other bool
					if other, err = s.inAnother(ctx, store, open, row); other {
						continue
					}
				}
				if err != nil {
					return nil, "", err
				}
				if rows = append(rows, row); len(rows) == s.Limit {
					if i == len(page)-1 && behind == "" && in == over[len(over)-1] {
						return rows, "", nil
					}
					return rows, s.Token(row.Place()), nil
				}
			}
			looked += len(page)
			if place = behind; place == "" {
				break
			}
			if looked >= maxLooked {
				return rows, s.Token(place), nil
			}
		}
	}
	return rows, "", nil
}

// inAnother reports whether the row of a consumer that fails belongs into another list, or is in
// this one by another row: while its circuit breaker is open it is held, and nothing is retried.
func (s Selection) inAnother(
	ctx context.Context, store *trouble.Store, open map[trouble.State]trouble.Row, row trouble.Row,
) (bool, error) {
	by := trouble.HeldBy(row.Consumer)
	if _, away := open[by]; !away || s.State == view.Retrying {
		return away == (s.State == view.Retrying), nil
	}
	_, noted, err := store.Row(ctx, by, row.Queue, row.Consumer)
	return noted, err
}

// heldStates are the states of the rows of queues that open circuit breakers hold, and the row of
// each: of one consumer's name, or all.
func heldStates(ctx context.Context, store *trouble.Store,
	consumer string) (states []trouble.State, open map[trouble.State]trouble.Row, err error) {
	rows, _, err := store.Page(ctx, trouble.CircuitOpen, "", "", maxOpen)
	open = map[trouble.State]trouble.Row{}
	for _, row := range rows {
		if consumer == "" || row.Consumer == consumer {
			open[trouble.HeldBy(row.Consumer)] = row
		}
	}
	for state := range open {
		states = append(states, state)
	}
	slices.Sort(states)
	return states, open, err
}

// Shown is a row as the caller sees it.
func Shown(c *httpapi.Call, row trouble.Row, now time.Time) view.Head {
	is := aspectOf(row)
	h := view.Head{Consumer: row.Consumer, State: is.state, Cause: is.cause, Since: row.Since,
		Age: max(now.Sub(row.Since).Seconds(), 0)}
	h.Queue = printable.Name(c.Short(row.Queue))
	why := row.Error
	if c.Tenant() != "" {
		why = errtext.Shown(why, row.Shown)
	}
	h.Error = printable.Name(c.Words(why))
	h.Group = printable.Name(errtext.Group(string(h.Error)))
	if is.state != view.Held || row.Seq > 0 {
		h.Seq = new(jsonseq.Seq(row.Seq))
	}
	if row.To > 0 {
		h.To = new(jsonseq.Seq(row.To))
	}
	return h
}

// Chain is a chain in a state.
type Chain struct {
	Tag   string     `json:"tag"`
	State view.State `json:"state"`
	Since time.Time  `json:"since"`
	Age   float64    `json:"ageSeconds"`
}

// Ended answers a page of chains that ended so, as InState does.
func Ended(ctx context.Context, c *httpapi.Call, store *trouble.Store, s Selection,
	now time.Time) (int, any, error) {
	rows, next, err := s.page(ctx, store, now)
	a := struct {
		Status int     `json:"status"`
		List   []Chain `json:"list"`
		Next   string  `json:"next,omitempty"`
	}{http.StatusOK, []Chain{}, next}
	for _, row := range rows {
		a.List = append(a.List,
			Chain{c.Short(row.Queue), s.State, row.Since, max(now.Sub(row.Since).Seconds(), 0)})
	}
	return http.StatusOK, a, err
}

// The minutes of the rates: those that are shown, and those that are a rate.
const shownMinutes, minutes = 30, 5

func rates(ctx context.Context, store *trouble.Store, now time.Time) (*view.Rates, error) {
	r := &view.Rates{To: now.UTC().Truncate(time.Minute)}
	r.From = r.To.Add(-minutes * time.Minute)
	at := r.To.Add(-shownMinutes * time.Minute)
	counted, err := store.Counted(ctx, at, r.To)
	for i, n := range counted {
		if i >= shownMinutes-minutes {
			r.Stored += float64(n.Stored) / (minutes * 60)
			r.Delivered += float64(n.Delivered) / (minutes * 60)
		}
		r.Minutes = append(r.Minutes, view.Minute{At: at, Stored: n.Stored, Delivered: n.Delivered})
		at = at.Add(time.Minute)
	}
	return r, err
}

const maxCounted = 10_000

// Summarize answers how many queues, consumers and chains are in each state, but for the chains
// that are open: these have no rows that could be counted; the groups of the errors of the
// consumers that fail; and the stack's rates. Half a read unit for the rates, for each state and
// for each open circuit breaker, of which all but one are nine where the prefix tells no tenant,
// and for each 4 KB, about 50 rows; of up to 10,000 rows of each.
func Summarize(ctx context.Context, c *httpapi.Call, store *trouble.Store,
	now time.Time) (int, any, error) {
	var asked struct {
		Prefix string `json:"prefix"`
	}
	if err := c.Parameters(&asked); err != nil {
		return 0, nil, err
	}
	prefix, err := Prefix(c, asked.Prefix)
	if err != nil {
		return 0, nil, err
	}
	counted, err := count(ctx, store, prefix, now)
	if err != nil {
		return 0, nil, err
	}
	a := view.Summary{Status: http.StatusOK, States: map[view.State]view.Count{}}
	for state, n := range counted.states {
		a.States[state] = *n
	}
	heads := make([]view.Head, len(counted.failing))
	for i, row := range counted.failing {
		heads[i] = Shown(c, row, now)
	}
	a.Groups, a.MoreGroups = view.Groups(now, heads)
	if prefix == "" {
		a.Rates, err = rates(ctx, store, now)
	}
	return http.StatusOK, a, err
}

// counted is how many are in each state, and a row for each consumer that fails.
type counted struct {
	states  map[view.State]*view.Count
	failing []trouble.Row
}

// count counts the rows of a prefix. A consumer that is in several states counts in each, but for
// those that follow from another: of one whose circuit breaker is open nothing is retried, and one
// that only lags catches up.
func count(ctx context.Context, store *trouble.Store, prefix string,
	now time.Time) (counted, error) {
	n := counted{states: map[view.State]*view.Count{}}
	held, open, err := heldStates(ctx, store, "")
	if err != nil {
		return n, err
	}
	states := slices.Concat(trouble.States, trouble.ChainStates, held)
	states = slices.DeleteFunc(states, func(s trouble.State) bool { return s == trouble.CircuitOpen })
	pages, more, errs := make([][]trouble.Row, len(states)), make([]bool, len(states)),
		make([]error, len(states))
	fanout.SideBySide(len(states), func(i int) {
		pages[i], more[i], errs[i] = all(ctx, store, states[i], prefix, now)
	})
	if err := errors.Join(errs...); err != nil {
		return n, err
	}
	for _, state := range view.Attention {
		n.states[state] = &view.Count{}
	}
	for _, state := range trouble.ChainStates {
		n.states[view.State(state)] = &view.Count{}
	}
	seen := map[string]*standing{}
	for i, state := range states {
		for _, row := range pages[i] {
			n.add(seen, open, row, now)
		}
		if more[i] {
			n.states[aspectOf(trouble.Row{State: state}).state].More = true
		}
	}
	for _, of := range seen {
		if row := cmp.Or(of.failing[view.Blocked], of.failing[view.InDoubt], of.failing[view.Held],
			of.failing[view.Retrying]); row != nil {
			n.failing = append(n.failing, *row)
		}
		if of.lags != nil && len(of.failing) == 0 {
			n.states[view.CatchingUp].Add(of.lags.Since, now)
		}
		for state, row := range of.failing {
			if state == view.Retrying && (of.failing[view.Held] != nil || of.failing[view.Blocked] != nil) {
				continue
			}
			n.states[state].Add(row.Since, now)
		}
	}
	return n, nil
}

type standing struct {
	// failing are its rows by their states, paused among them, lags is that of what it lags.
	failing map[view.State]*trouble.Row
	lags    *trouble.Row
}

func (n *counted) add(seen map[string]*standing, open map[trouble.State]trouble.Row,
	row trouble.Row, now time.Time) {
	a := aspectOf(row)
	if row.Consumer == "" { // a queue, or a chain
		n.states[a.state].Add(row.Since, now)
		return
	}
	of := seen[row.Place()]
	if of == nil {
		of = &standing{failing: map[view.State]*trouble.Row{}}
		seen[row.Place()] = of
	}
	switch by, away := open[trouble.HeldBy(row.Consumer)]; {
	case a.state == view.CatchingUp:
		of.lags = &row
		return
	case row.State == trouble.Failing && away: // it has the error
		row.State, row.Since = by.State, by.Since
		of.failing[view.Held] = &row
		return
	}
	if of.failing[a.state] == nil {
		of.failing[a.state] = &row
	}
}

// all are the rows of a state, maxCounted at most, those that have expired, and are still there,
// among these.
func all(ctx context.Context, store *trouble.Store, state trouble.State, prefix string,
	now time.Time) (rows []trouble.Row, more bool, err error) {
	looked := 0
	for place := ""; ; {
		page, next, err := store.Page(ctx, state, prefix, place, maxCounted-looked)
		if err != nil {
			return nil, false, err
		}
		looked += len(page)
		for _, row := range page {
			if !row.Expired(now) {
				rows = append(rows, row)
			}
		}
		if next == "" || looked >= maxCounted {
			return rows, next != "", nil
		}
		place = next
	}
}
