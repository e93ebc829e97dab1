package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/view"
)

type whyCommand struct {
	readFlags
	Queue    string `arg:"" help:"The queue's name."`
	Consumer string `arg:"" optional:"" help:"Only this consumer, beside a gap of the queue."`
}

func (c *whyCommand) Run(s *session) error {
	var q queue
	if _, err := s.get("/queues", url.Values{"queue": {c.Queue}}, &q); err != nil {
		return err
	}
	query, err := client.Query("queue", c.Queue, "consumer", c.Consumer), error(nil)
	var consumers []view.Consumer
	for it := range each[view.Consumer](s, "/consumers", query, "consumers", &err) {
		consumers = append(consumers, it)
	}
	if err != nil {
		return err
	}
	l := s.listing("queue", "consumer", "state", "why")
	if s.format == asTable { // it is a text of several lines
		shown := *s
		shown.format, l.s = asText, &shown
	}
	said := map[string]bool{}
	for _, r := range view.Why(view.Queue(q), consumers) {
		document := r
		if said[r.Consumer] { // another state of it: the error and the attempts are the same
			r.Error, r.Attempts = "", nil
		}
		said[r.Consumer] = true
		l.add(document, s.reason(r))
	}
	none := fmt.Sprintf("%s: ok: all messages up to %d are delivered to %s", q.Queue, q.Position,
		count(len(consumers), "consumer", "consumers"))
	var underWay []string
	for _, it := range consumers {
		if it.Lag != nil && *it.Lag > 0 {
			lag := count(int64(*it.Lag), "message is", "messages are")
			underWay = append(underWay, lag+" on the way to "+it.Consumer)
		}
	}
	if len(underWay) > 0 {
		none = fmt.Sprintf("%s: ok: in order up to %d; %s; `streamsort consumer` shows them",
			q.Queue, q.Position, strings.Join(underWay, ", "))
	}
	if len(consumers) == 0 {
		none = fmt.Sprintf("%s: ok: it has all messages up to %d, and no consumer; `streamsort consumer create` makes one", q.Queue, q.Position)
	}
	if waits := q.waits(s.clock); waits != "" {
		none += "; " + waits
	}
	return l.end(none, nil)
}

// reason is a reason in lines: the state, what is so, the attempts, the next try, what to type, and
// where the runbook says more.
func (s *session) reason(r view.Reason) string {
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, "\n  "+format, arguments...) }
	b.WriteString(strings.TrimSpace(r.Queue.String()+" "+r.Consumer) + ": " + s.paint(string(r.State)))
	if r.Cause != "" {
		b.WriteString(" (" + r.Cause + ")")
	}
	if !r.Since.IsZero() {
		b.WriteString(" " + s.clock.since(r.Since))
	}
	line("%s", r.Text)
	if r.Error != "" {
		line("error: %s", r.Error)
	}
	for _, a := range r.Attempts {
		line("%s", tried(a, s.clock))
	}
	if log := s.log(r.Attempts); log != "" {
		line("log: %s", log)
	}
	if !r.NextTry.IsZero() {
		line("next try %s", s.clock.due(r.NextTry))
	}
	for _, command := range r.Type {
		line("  %s", command)
	}
	line("runbook: docs/reference/runbook.md%s", r.Anchor)
	return b.String()
}
