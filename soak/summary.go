package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/localstack"
)

// summarise prints the summary; the error says what must not be.
func (s *soak) summarise() error {
	killed, invoked := 0, 0
	for _, f := range s.stack.Functions() {
		killed += f.Stats.Killed
		invoked += f.Stats.Requests
	}
	var repeated, dropped, delivered int64
	for _, m := range s.stack.Mappings() {
		repeated += m.Stats.Repeated
		dropped += m.Stats.Dropped
		delivered += m.Stats.Delivered
	}
	runs, failed := s.sweeps.counts()
	row := func(name, format string, arguments ...any) {
		fmt.Fprintf(s.out, "    %-19s %s\n", name, fmt.Sprintf(format, arguments...))
	}
	row("in", "%d messages of %d queues, %d sent with repeats and conflicts, %d calls made again", s.in.count(), queues, s.producers.sent, s.producers.repeats)
	row("told", "%s", s.producers.told())
	lost, violations := 0, len(s.producers.violations)
	for _, w := range s.watchers {
		state, missing := w.state(), len(w.missing())
		row("out, "+w.name, "%d messages, %d again, %d stale, %d violations, %d lost", state.messages, state.again, state.stale, state.violations, missing)
		lost += missing
		violations += state.violations
	}
	row("violations", "%d", violations)
	row("lost", "%d", lost)
	row("processes killed", "%d of %d calls", killed, invoked)
	row("stream", "%d records delivered, %d again, %d dropped", delivered, repeated, dropped)
	row("DynamoDB", "%s", s.network.told())
	row("sweeps", "%d, of which %d failed or were killed", runs, failed)
	announced, _ := s.announcements.told()
	for _, line := range announced {
		row("announced", "%s", line)
	}
	row("seconds", "%.0f", time.Since(s.began).Seconds())
	err := s.verdict(killed, repeated, dropped)
	if err == nil {
		fmt.Fprintln(s.out, "==> everything came out of every sink, in order, unchanged; what stands still was announced")
	}
	return err
}

// verdict joins the reasons to fail.
func (s *soak) verdict(killed int, repeated, dropped int64) error {
	var errs []error
	fail := func(reasons ...string) {
		for _, reason := range reasons {
			errs = append(errs, errors.New(reason))
		}
	}
	fail(s.producers.violations...)
	for _, w := range s.watchers {
		fail(w.told()...)
		if missing := w.missing(); len(missing) > 0 {
			fail(fmt.Sprintf("%s: %d messages are lost, the first is %d of queue %q", w.name, len(missing), missing[0].seq, missing[0].queue))
		}
	}
	for _, said := range s.announcements.missing() {
		fail("not announced: " + said)
	}
	_, wrong := s.announcements.told()
	fail(wrong...)
	fail(givenUp(s.stack)...)
	for what, count := range map[string]int64{
		"process was killed": int64(killed), "record was repeated": repeated, "record was dropped": dropped, "request failed": int64(s.network.count()),
	} {
		if count == 0 {
			fail("no " + what + ": the soak did not test what it should")
		}
	}
	return errors.Join(errs...)
}

// givenUp is what event source mappings gave up on, or how they ended.
func givenUp(stack *localstack.Stack) []string {
	var all []string
	for _, failure := range stack.Failures() {
		all = append(all, fmt.Sprintf("given up: %s", failure.Message))
	}
	for _, m := range stack.Mappings() {
		if m.Failed != "" {
			all = append(all, fmt.Sprintf("%s ended: %s", m.LogicalID, m.Failed))
		}
	}
	return all
}
