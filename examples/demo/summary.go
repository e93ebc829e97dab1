package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack"
)

// summary is what the demo ends with.
type summary struct {
	arrivals int
	outcomes map[string]int
	ways     []*way
	chaos    bool
	// gaps is what the input does not have: the messages behind it wait.
	gaps        []traffic.Gap
	stack       *localstack.Stack
	cost        meter.Count
	sent, total time.Duration
}

// summarise prints the summary; the error says what must not be.
func summarise(out io.Writer, s summary) error {
	want := s.ways[0].Distinct()
	killed, repeatedByStream := s.stack.Killed(), int64(0)
	for _, m := range s.stack.Mappings() {
		repeatedByStream += m.Stats.Repeated
	}
	var outcomes []string
	for _, outcome := range slices.Sorted(maps.Keys(s.outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%d %s", s.outcomes[outcome], outcome))
	}
	per := float64(max(want, 1))
	type row struct{ name, value string }
	rows := []row{
		{"in", fmt.Sprintf("%d messages, sent in %.1fs", s.arrivals, s.sent.Seconds())},
		{"answers", strings.Join(outcomes, ", ")},
		{"duplicates", fmt.Sprint(s.outcomes["duplicate"])},
		{"conflicts", fmt.Sprint(s.outcomes["conflict"])},
	}
	var errs []error
	lost, again, violations := 0, 0, 0
	for _, w := range s.ways {
		state := w.State()
		rows = append(rows, row{"out, " + w.name, fmt.Sprintf("%d messages of %d queues, in %d batches, %d of them again",
			state.Messages, w.Queues(), state.Batches, state.Repeated)})
		lost += want - state.Messages
		again += state.Repeated
		violations += len(state.Violations)
		for _, violation := range state.Violations {
			errs = append(errs, fmt.Errorf("%s: %s", w.name, violation))
		}
	}
	rows = append(rows, []row{
		{"order violations", fmt.Sprint(violations)},
		{"lost", fmt.Sprint(lost)},
		{"a message", fmt.Sprintf("%.2f requests, %.2f write and %.2f read units, by AWS's rules", float64(s.cost.Requests)/per, s.cost.Writes/per, s.cost.Reads/per)},
		{"killed by CHAOS=1", fmt.Sprint(killed)},
		{"seconds", fmt.Sprintf("%.1f", s.total.Seconds())},
	}...)
	for _, row := range rows {
		fmt.Fprintf(out, "    %-19s %s\n", row.name, row.value)
	}
	if lost != 0 {
		errs = append(errs, fmt.Errorf("%d messages are lost", lost))
	}
	if again > 0 && !s.chaos {
		errs = append(errs, fmt.Errorf("%d batches came twice, and nothing was killed", again))
	}
	if s.chaos && killed == 0 && repeatedByStream == 0 {
		errs = append(errs, errors.New("CHAOS is on, and nothing was killed or repeated"))
	}
	for _, failure := range s.stack.Failures() {
		errs = append(errs, fmt.Errorf("given up: %s", failure.Message))
	}
	everything := "everything"
	for _, gap := range s.gaps {
		fmt.Fprintf(out, "==> %s\n", gap)
		everything = "everything before a gap"
	}
	switch {
	case len(errs) > 0:
	case again > 0:
		fmt.Fprintf(out, "==> %s came out in order, unchanged; %d batches came again, each under a higher token\n", everything, again)
	default:
		fmt.Fprintf(out, "==> %s came out once, in order, unchanged, both ways\n", everything)
	}
	return errors.Join(errs...)
}
