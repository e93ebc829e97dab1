package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
)

// queueCommand lists queues, or prints all that there is to know of one.
type queueCommand struct {
	readFlags
	Queue string `arg:"" optional:"" help:"The queue's name. Without one, queues are listed."`
	State string `help:"List only those in this state: gap." enum:",gap" default:""`
	listFlags
	Audit bool   `help:"Print the audit log of the queue: what operators did, the latest first."`
	Named string `name:"consumer" help:"With --audit: only what was done to this consumer."`
}

// shownGaps is how many gaps of a queue are printed where --limit is not given; maxGaps is the most
// that the API lists.
const (
	shownGaps = 10
	maxGaps   = 1000
)

func (c *queueCommand) Run(s *session) error {
	switch {
	case c.Named != "" && !c.Audit:
		return usageError("--consumer is for --audit: `streamsort consumer QUEUE CONSUMER` prints a consumer")
	case c.Queue == "" && c.Audit:
		return usageError("--audit is for one queue: give its name")
	case c.Queue == "":
		return c.list(s)
	case c.State != "" || c.Prefix != "" || c.Audit && c.Limit.given:
		return usageError("--state and --prefix are for a list, without a queue; --limit is for a list, and for the gaps of a queue")
	case c.Audit:
		return s.audit(c.Queue, c.Named)
	}
	limit, err := c.Limit.within(1, maxGaps, shownGaps)
	if err != nil {
		return err
	}
	return s.queue(c.Queue, limit)
}

// list lists queues.
func (c *queueCommand) list(s *session) error {
	if c.State != "" {
		return s.listRows("/queues", c.State, "", c.listFlags)
	}
	l := s.listing("queue", "state", "kind", "position", "seq", "since")
	return limited(l, "/queues", client.Query("prefix", c.Prefix), "list", c.Limit, func(it listed, raw json.RawMessage) error {
		since := "-"
		if it.GapOpen {
			since = s.clock.lasting(it.GapAge)
		}
		cells := []any{it.Queue, it.State, it.Kind, known(it.Position), known(it.Seq), since}
		return l.addText(raw, fmt.Sprintf("%s\t%s\t%s\tposition %s\t%s\t%s", cells...), cells...)
	})
}

// queue prints a queue: its status and settings, its first gaps and its consumers.
func (s *session) queue(name string, limit int) error {
	var q queue
	settings, err := s.get("/queues", url.Values{"queue": {name}}, &q)
	if err != nil {
		return err
	}
	document := map[string]any{"queue": settings}
	text := q.text(s.clock)
	if q.GapOpen {
		gaps, said, err := s.gaps(name, limit)
		if err != nil {
			return err
		}
		document["gaps"] = gaps
		text += "\nmissing:\n  " + strings.ReplaceAll(strings.TrimSuffix(said, "\n"), "\n", "\n  ") + "\n"
	}
	var said strings.Builder
	list := *s // in text also where JSON is printed
	list.out = &said
	if s.format != asTable {
		list.format = asText
	}
	consumers := []json.RawMessage{}
	err = list.consumersOf(name, "", func(raw json.RawMessage) { consumers = append(consumers, raw) })
	if err != nil {
		return err
	}
	document["consumers"] = consumers
	return s.print(document, "%s\n%s", text, &said)
}
