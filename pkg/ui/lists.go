package ui

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/bulk"
	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/view"
)

type counted struct {
	State view.State
	view.Count
	Link string
}

func listOf(state view.State) string {
	switch state {
	case view.Gap:
		return "queues"
	case "failed", "timed-out":
		return "chains"
	}
	return "consumers"
}

const (
	overviewRows = "20"            // of each list
	overviewKept = 3 * time.Second // for how long a list is not asked for again
	pageSize     = "50"            // of a list's own screen
	mostPages    = 10              // of the API, for one of the page where rows are left out
)

func (u *UI) overview(ctx context.Context, _ url.Values) (any, error) {
	var s view.Summary
	if err := u.get(ctx, "/summary", nil, &s); err != nil {
		return nil, err
	}
	behind, err := u.behind(ctx, s.States)
	if err != nil {
		return nil, err
	}
	var states []counted
	wrong, queues := 0, 0
	for _, state := range view.Summarized {
		n := s.States[state]
		if n.Count > 0 {
			states = append(states, counted{state, n, link(listOf(state), "state", state)})
		}
		if state != view.CatchingUp && state != view.Paused { // in which nothing fails
			wrong += n.Count
		}
	}
	for _, g := range s.Groups {
		queues += g.Count
	}
	screen := map[string]any{
		"States": states, "Gap": s.States[view.Gap], "Wrong": wrong, "Groups": s.Groups, "MoreGroups": s.MoreGroups,
		"Chains": s.States["failed"].Count+s.States["timed-out"].Count > 0, "Causes": len(s.Groups), "Failing": queues,
		"Rates": s.Rates, "Behind": behind, "Charts": u.flow(ctx, s, behind),
	}
	if len(behind) == 0 {
		var some rows
		err = u.get(ctx, "/queues", client.Query("limit", "1"), &some)
		screen["Empty"] = len(some.List) == 0
	}
	return screen, err
}

// lagging are consumers that were behind at a time.
type lagging struct {
	at   time.Time
	rows []row
}

// behind are some consumers, the farthest behind first: those in a state, and others where these
// are few; as they were asked for a moment ago, where the same one looks again.
func (u *UI) behind(ctx context.Context, states map[view.State]view.Count) ([]row, error) {
	who := u.who(ctx)
	if was, is := u.lately.Get(who); is && time.Since(was.at) < overviewKept {
		return was.rows, nil
	}
	var all []row
	var asked []view.State
	for _, state := range view.Summarized {
		if listOf(state) == "consumers" && states[state].Count > 0 {
			asked = append(asked, state)
		}
	}
	for _, state := range append(asked, "") {
		var found rows
		query := client.Query("state", string(state), "limit", overviewRows)
		if err := u.get(ctx, "/consumers", query, &found); err != nil {
			return nil, err
		}
		for _, r := range found.List {
			same := func(o row) bool { return r.Queue == o.Queue && r.Consumer == o.Consumer }
			if !slices.ContainsFunc(all, same) {
				all = append(all, r)
			}
		}
	}
	slices.SortStableFunc(all, view.Farthest)
	all = all[:min(len(all), 10)]
	u.lately.Add(who, lagging{time.Now(), all})
	return all, nil
}

// pick is a row as the value of a check box.
func pick(r row) string { return bulk.Target{Queue: r.Queue, Consumer: r.Consumer}.Text() }

const farthestLag = "Lag of the consumer farthest behind"

// flow are the overview's charts: what the stack counted, and what the page saw.
func (u *UI) flow(ctx context.Context, s view.Summary, behind []row) (charts []chart) {
	if s.Rates != nil && len(s.Rates.Minutes) > 0 {
		var times []time.Time
		put, delivered := series{name: "put", kind: "first"}, series{name: "delivered", kind: "second"}
		for _, m := range s.Rates.Minutes {
			times = append(times, m.At)
			put.values = append(put.values, float64(m.Stored))
			delivered.values = append(delivered.values, float64(m.Delivered))
		}
		charts = append(charts, drawChart("Messages a minute", times, put, delivered))
	}
	if len(behind) > 0 {
		samples := u.trends.note(u.who(ctx)+"\x00\x00\x00lag", time.Now(), behind[0].Behind())
		charts = append(charts, level(farthestLag, "messages", samples))
	}
	return charts
}

// chartsOf are the charts of a queue, as the page saw it.
func (u *UI) chartsOf(ctx context.Context, q queue, consumers []consumer) []chart {
	now, key := time.Now(), u.who(ctx)+"\x00"+string(q.Queue)
	lag := int64(0)
	for _, c := range consumers {
		lag = max(lag, c.Lag.OrZero())
	}
	put := u.trends.note(key, now, int64(q.Position))
	delivered := u.trends.note(key+"\x00delivered", now, int64(q.Position)-lag)
	lags := u.trends.note(key+"\x00lag", now, lag)
	times := timesOf(put)
	ordered := series{"in order", "first", perMinute(put, times)}
	if len(consumers) == 0 {
		return []chart{drawChart("Messages a minute", times, ordered)}
	}
	flow := drawChart("Messages a minute", times, ordered,
		series{"delivered", "second", perMinute(delivered, times)})
	return []chart{flow, level(farthestLag, "messages", lags)}
}

// listed is a page of a list: what it was asked with, and the addresses of the first and the next
// page.
type listed struct {
	State, Prefix, Consumer, Error string
	After                          bool
	List                           []row
	Next, First                    string
	Actions                        []string // what can be done to those that are picked
}

// list asks for a page of a list. Rows of another error are left out.
func (u *UI) list(ctx context.Context, name string, query url.Values) (listed, error) {
	l := listed{
		State: query.Get("state"), Prefix: query.Get("prefix"), Consumer: query.Get("consumer"),
		Error: query.Get("error"), After: query.Get("after") != "",
		Actions: bulk.ActionsIn(query.Get("state")),
	}
	again := []any{"state", l.State, "prefix", l.Prefix, "consumer", l.Consumer, "error", l.Error}
	l.First = link(name, again...)
	asked := client.Query("state", l.State, "prefix", l.Prefix, "consumer", l.Consumer, "after",
		query.Get("after"), "limit", pageSize)
	for range mostPages {
		var found rows
		if err := u.get(ctx, "/"+name, asked, &found); err != nil {
			return l, err
		}
		l.List = append(l.List, slices.DeleteFunc(found.List, func(r row) bool {
			return l.Error != "" && !strings.Contains(string(r.Group), l.Error)
		})...)
		if l.Next = ""; found.Next == "" {
			break
		}
		l.Next = link(name, append(again, "after", found.Next)...)
		if len(l.List) > 0 {
			break
		}
		asked.Set("after", found.Next)
	}
	return l, nil
}

func (u *UI) queues(ctx context.Context, query url.Values) (any, error) {
	l, err := u.list(ctx, "queues", client.Query("state", query.Get("state"), "prefix",
		query.Get("prefix"), "after", query.Get("after")))
	if l.State == "" {
		slices.SortFunc(l.List, func(a, b row) int { return cmp.Compare(a.Queue, b.Queue) })
	}
	return l, err
}

func (u *UI) consumers(ctx context.Context, query url.Values) (any, error) {
	l, err := u.list(ctx, "consumers", query)
	if l.State == "" {
		slices.SortStableFunc(l.List, view.Farthest)
	}
	return l, err
}

func (u *UI) chains(ctx context.Context, query url.Values) (any, error) {
	return u.list(ctx, "chains", client.Query("state", cmp.Or(query.Get("state"), "open"), "prefix",
		query.Get("prefix"), "after", query.Get("after")))
}
