package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// remembered is how long a process does without looking at the circuit anew: one that knows that it was closed
// may begin a call as long as that after it opened.
const remembered = 5 * time.Second

// result is what was seen.
type result struct {
	queues, due    int
	tries          int // of a queue, by its schedule, while a process does not know of the circuit
	away, caughtUp time.Duration
	calls          []time.Time // of the dead sink
	circuit        circuit
	intervals      int64 // of probes, since the circuit opened
	// blocked are the queues that are blocked in the end, blockedAway those that were before the
	// sink was back.
	blocked, blockedAway []string
	refused              int // tries of the poisoned message since then
	state                traffic.State
}

// counted are the calls to the dead sink: before the circuit opened, as long as a process may not know
// of that, and from then on.
func (r result) counted() (before, underWay, open int) {
	for _, at := range r.calls {
		switch since := at.Sub(r.circuit.opened); {
		case since <= 0:
			before++
		case since <= remembered:
			underWay++
		default:
			open++
		}
	}
	return before, underWay, open
}

func (r result) print(out io.Writer) {
	before, underWay, open := r.counted()
	fmt.Fprintf(out, "\n  %-34s %d\n", "queues", r.queues)
	fmt.Fprintf(out, "  %-34s %.0f s, blocked meanwhile: %d\n", "the sink was away for", r.away.Seconds(), len(r.blockedAway))
	fmt.Fprintf(out, "  %-34s %d before the circuit opened, %d in the %v until all processes know, %d later\n",
		"calls to the dead sink", before, underWay, remembered, open)
	fmt.Fprintf(out, "  %-34s %d, in %d intervals\n", "probes", r.circuit.probes, r.intervals)
	fmt.Fprintf(out, "  %-34s %d of %d messages in %.1f s, %.0f queues a second; %d batches again, as a token tells\n",
		"caught up", r.state.Messages, r.due, r.caughtUp.Seconds(), float64(r.queues)/r.caughtUp.Seconds(), r.state.Repeated)
	fmt.Fprintf(out, "  %-34s %v, after %d tries since the sink is back\n\n", "blocked in the end", r.blocked, r.refused)
}

// verdict is what was not as it must be.
func (r result) verdict() error {
	var errs []error
	wrong := func(format string, arguments ...any) { errs = append(errs, fmt.Errorf(format, arguments...)) }
	for _, violation := range r.state.Violations {
		wrong("%s", violation)
	}
	if r.state.Messages != r.due {
		wrong("%d messages came out, not %d", r.state.Messages, r.due)
	}
	if len(r.blockedAway) > 0 {
		wrong("the outage blocked %d queues: %.200q", len(r.blockedAway), r.blockedAway)
	}
	if !slices.Equal(r.blocked, []string{poisonQueue}) {
		wrong("%d queues are blocked, not %s alone: %.200q", len(r.blocked), poisonQueue, r.blocked)
	}
	// Each of them is by a process that remembers that the circuit was closed, and tries a queue by its schedule.
	switch _, underWay, open := r.counted(); {
	case underWay > r.queues*r.tries:
		wrong("%d calls in the %v after the circuit opened, and %d queues that are tried %d times at most", underWay, remembered, r.queues, r.tries)
	case r.circuit.opened.IsZero():
		wrong("the circuit did not open")
	case r.circuit.again:
		wrong("the circuit closed while the sink was away")
	case int64(open) > r.circuit.probes:
		wrong("%d calls while the circuit was open, and %d probes", open, r.circuit.probes)
	case r.circuit.probes > r.intervals:
		wrong("%d probes in %d intervals", r.circuit.probes, r.intervals)
	case r.circuit.probes == 0:
		wrong("no probe was made")
	}
	return errors.Join(errs...)
}
