package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/streamsort/streamsort/localstack"
)

// result is what the soak ends with.
type result struct {
	in, sent, repeats int
	answers           string // outcomes
	sinks             []sinkResult
	killed, calls     int
	delivered         int64 // records of streams, with those repeated and dropped
	repeated, dropped int64
	network           string
	faults            int
	sweeps, failed    int
	redelivered       int // by SQS, to the soak
	announced         []string
	took              time.Duration
	// wrong is what must not be, but for what the sinks report.
	wrong []string
}

// sinkResult is what came out of a sink.
type sinkResult struct {
	name string
	state
	violated []string // in words
	missing  []place
}

// result gathers the figures.
func (s *soak) result() result {
	sent := s.producers.Sent()
	r := result{
		in: s.in.count(), sent: sent.Messages, repeats: sent.Repeats, answers: s.producers.Outcomes(), wrong: sent.Wrong,
		network: s.network.summary(), faults: s.network.count(), took: time.Since(s.began),
	}
	for _, w := range s.watchers {
		r.sinks = append(r.sinks, sinkResult{w.name, w.state(), w.report(), w.missing()})
	}
	for _, f := range s.stack.Functions() {
		r.killed += f.Stats.Killed
		r.calls += f.Stats.Requests
	}
	for _, m := range s.stack.Mappings() {
		r.delivered += m.Stats.Delivered
		r.repeated += m.Stats.Repeated
		r.dropped += m.Stats.Dropped
	}
	r.sweeps, r.failed = s.sweeps.counts()
	for _, reader := range s.readers {
		r.redelivered += reader.redelivered()
	}
	for _, said := range s.announcements.missing() {
		r.wrong = append(r.wrong, "not announced: "+said)
	}
	announced, wrong := s.announcements.report()
	r.announced = announced
	r.wrong = append(append(r.wrong, wrong...), givenUp(s.stack)...)
	return r
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

// print prints the summary.
func (r result) print(out io.Writer) {
	row := func(name, format string, arguments ...any) {
		fmt.Fprintf(out, "    %-19s %s\n", name, fmt.Sprintf(format, arguments...))
	}
	row("in", "%d messages of %d queues; %d were sent, with those sent again and conflicting ones; %d calls made again", r.in, queues, r.sent, r.repeats)
	row("answers", "%s", r.answers)
	lost, violations := 0, 0
	for _, s := range r.sinks {
		row("out, "+s.name, "%d messages, %d again, %d stale, %d violations, %d lost", s.messages, s.again, s.stale, s.violations, len(s.missing))
		lost += len(s.missing)
		violations += s.violations
	}
	row("violations", "%d", violations)
	row("lost", "%d", lost)
	row("processes killed", "%d in %d calls", r.killed, r.calls)
	row("stream records", "%d delivered, %d repeated, %d dropped", r.delivered, r.repeated, r.dropped)
	row("DynamoDB", "%s", r.network)
	row("the soak's queues", "%d messages delivered to the soak again", r.redelivered)
	row("sweeps", "%d, of which %d failed", r.sweeps, r.failed)
	for _, said := range r.announced {
		row("announced", "%s", said)
	}
	row("seconds", "%.0f", r.took.Seconds())
}

// verdict joins the reasons to fail.
func (r result) verdict() error {
	var errs []error
	for _, s := range r.sinks {
		for _, said := range s.violated {
			errs = append(errs, errors.New(said))
		}
		if len(s.missing) > 0 {
			errs = append(errs, fmt.Errorf("%s: %d messages are lost, the first is %d of queue %q", s.name, len(s.missing), s.missing[0].seq, s.missing[0].queue))
		}
		if s.messages == 0 {
			errs = append(errs, fmt.Errorf("%s: nothing came out", s.name))
		}
	}
	for _, said := range r.wrong {
		errs = append(errs, errors.New(said))
	}
	for _, happened := range []struct {
		what  string
		times int64
	}{
		{"process was killed", int64(r.killed)},
		{"record was repeated", r.repeated},
		{"record was dropped", r.dropped},
		{"request went wrong", int64(r.faults)},
	} {
		if happened.times == 0 {
			errs = append(errs, fmt.Errorf("no %s: the soak has shown less than it must", happened.what))
		}
	}
	return errors.Join(errs...)
}
