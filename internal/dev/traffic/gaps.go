package traffic

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Gap is what a queue waits for: seqs that no message has.
type Gap struct {
	Queue string
	// Missing are the seqs, as ranges: the first and the last of each.
	Missing [][2]int64
	// Waiting is how many messages are behind the first of them.
	Waiting int
}

// String says what is missing, as far as it fits a line.
func (g Gap) String() string {
	const most = 5
	var parts []string
	for i, r := range g.Missing {
		switch {
		case i == most:
			parts = append(parts, "…")
		case i > most:
		case r[0] == r[1]:
			parts = append(parts, fmt.Sprint(r[0]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", r[0], r[1]))
		}
	}
	return fmt.Sprintf("queue %s: seq %s is missing; messages behind it that wait: %d", g.Queue,
		strings.Join(parts, ", "), g.Waiting)
}

// Due reports which messages will come out: those that no gap is before. The gaps are in the order
// of their queues' names.
func Due(messages []Message) (due func(Place) bool, gaps []Gap) {
	queues := map[string]map[int64]bool{}
	for _, m := range messages {
		if queues[m.Queue] == nil {
			queues[m.Queue] = map[int64]bool{}
		}
		queues[m.Queue][m.Seq] = true
	}
	open := map[string]int64{} // the first missing seq of each queue that has a gap
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		gap := Gap{Queue: queue}
		last := int64(0)
		for _, seq := range slices.Sorted(maps.Keys(queues[queue])) {
			if seq > last+1 {
				gap.Missing = append(gap.Missing, [2]int64{last + 1, seq - 1})
			}
			if last = seq; gap.Missing != nil {
				gap.Waiting++
			}
		}
		if gap.Missing != nil {
			gaps, open[queue] = append(gaps, gap), gap.Missing[0][0]
		}
	}
	return func(p Place) bool { return open[p.Queue] == 0 || p.Seq < open[p.Queue] }, gaps
}
