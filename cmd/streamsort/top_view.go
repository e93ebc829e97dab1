package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/streamsort/streamsort/internal/printable"
)

// topView is what a terminal shows of the latest reading.
type topView struct {
	s      *session
	every  time.Duration
	last   *reading
	fault  error // why there is no later one
	rows   []row
	sorted int // how, of rowOrders
}

// row is a consumer, and how its lag changes.
type row struct {
	listed
	lag    int64
	change float64 // a second, since the reading before
	known  bool    // whether it was there then
}

// rowOrders are how the rows may be sorted, in the order in which a key goes through them.
var rowOrders = []struct {
	name    string
	compare func(a, b row) int
}{
	{"lag", func(a, b row) int { return cmp.Or(cmp.Compare(b.lag, a.lag), byNames(a, b)) }},
	{"change", func(a, b row) int { return cmp.Or(cmp.Compare(b.change, a.change), byNames(a, b)) }},
	{"name", byNames},
}

// byNames is the order of the queues' names, and of the consumers' of each.
func byNames(a, b row) int {
	return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Consumer, b.Consumer))
}

// take takes a reading, and reckons what has changed since the one before.
func (v *topView) take(r *reading) {
	if v.fault = r.fault; v.fault != nil {
		return
	}
	before, passed := map[[2]string]int64{}, 0.0
	for _, it := range v.rows {
		before[[2]string{string(it.Queue), it.Consumer}] = it.lag
	}
	if v.last != nil {
		passed = r.at.Sub(v.last.at).Seconds()
	}
	v.rows = nil
	for _, it := range r.consumers {
		now := row{listed: it}
		if it.Lag != nil {
			now.lag = int64(*it.Lag)
		}
		if was, ok := before[[2]string{string(it.Queue), it.Consumer}]; ok && passed > 0 {
			now.change, now.known = float64(now.lag-was)/passed, true
		}
		v.rows = append(v.rows, now)
	}
	v.last = r
	v.sort()
}

// sort sorts the rows in the order that was chosen.
func (v *topView) sort() { slices.SortFunc(v.rows, rowOrders[v.sorted].compare) }

// key does what a key stands for, and reports whether that changes what is shown.
func (v *topView) key(key byte) bool {
	if key != 's' && key != 'S' {
		return false
	}
	v.sorted = (v.sorted + 1) % len(rowOrders)
	v.sort()
	return true
}

// lines are what a terminal of a size shows.
func (v *topView) lines(of size) []string {
	keys := fmt.Sprintf("every %v, by %s; s: by %s, q: end", v.every, rowOrders[v.sorted].name, rowOrders[(v.sorted+1)%len(rowOrders)].name)
	if v.last == nil {
		return []string{"reading …", keys}
	}
	head := v.head()
	if v.fault != nil {
		head = "not reached, trying again: " + printable.Text(v.fault.Error())
	}
	lines := []string{head, "at " + v.last.at.Format(time.TimeOnly) + ", " + keys, ""}
	if len(v.rows) == 0 {
		return append(lines, "no consumer")
	}
	room, fit := of.lines-len(lines)-1, v.rows // the table has heads
	if len(fit) > room || v.last.more {
		fit = fit[:min(len(fit), max(room-1, 1))] // how many others there are is a line, too
	}
	lines = append(lines, strings.Split(v.table(fit), "\n")...)
	if hidden := len(v.rows) - len(fit); hidden > 0 || v.last.more {
		more := ""
		if v.last.more {
			more = " or more: --limit reads others"
		}
		lines = append(lines, fmt.Sprintf("… and %d%s", hidden, more))
	}
	return lines
}

// head is how fast the stack is, and how many are in each state.
func (v *topView) head() string {
	var said []string
	if rates := v.last.summary.Rates; rates != nil {
		said = append(said, fmt.Sprintf("%.1f stored, %.1f delivered a second", rates.Stored, rates.Delivered))
	}
	for _, state := range summarized {
		if n := v.last.summary.States[state]; n.Count > 0 {
			said = append(said, v.s.paint(string(state))+" "+howMany(n))
		}
	}
	if len(said) == 0 {
		return "all is ok"
	}
	return strings.Join(said, " · ")
}

// table is the rows, what is longest last: it is cut where there are too few columns.
func (v *topView) table(fit []row) string {
	rows := make([]table.Row, len(fit))
	for i, it := range fit {
		rows[i] = table.Row{it.lag, it.trend(), v.s.paint(states(it.Head)), printable.Text(it.Consumer), it.Queue, it.failed(v.s.clock)}
	}
	return v.s.table([]string{"lag", "change", "state", "consumer", "queue", "error"}, rows)
}

// trend is an arrow, and how much the lag changes in a second.
func (r row) trend() string {
	switch {
	case !r.known:
		return "-"
	case r.change > 0:
		return fmt.Sprintf("▲ %+.1f/s", r.change)
	case r.change < 0:
		return fmt.Sprintf("▼ %+.1f/s", r.change)
	}
	return "= 0/s"
}
