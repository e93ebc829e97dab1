package main

import (
	"encoding/json"
	"net/url"
	"strings"
)

// queueCommand prints all that there is to know of a queue.
type queueCommand struct {
	readFlags
	Queue string `arg:"" help:"The queue's name."`
}

// shownGaps is how many gaps stand in an overview: `streamsort gaps` has more.
const shownGaps = 10

// Run implements the verb.
func (c *queueCommand) Run(s *session) error {
	var q queue
	settings, err := s.get("/queues", url.Values{"queue": {c.Queue}}, &q)
	if err != nil {
		return err
	}
	document := map[string]any{"queue": settings}
	text := q.text(s.clock)
	if q.GapOpen {
		gaps, said, err := s.gaps(c.Queue, shownGaps)
		if err != nil {
			return err
		}
		document["gaps"] = gaps
		text += "\nmissing:\n  " + strings.ReplaceAll(strings.TrimSuffix(said, "\n"), "\n", "\n  ") + "\n"
	}
	consumers, said, err := s.consumersOf(c.Queue)
	if err != nil {
		return err
	}
	document["consumers"] = consumers
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return s.print(raw, "%s\n%s", text, said)
}

// consumersOf are a queue's consumers, and the list of them as it is printed.
func (s *session) consumersOf(queue string) (documents []json.RawMessage, text string, err error) {
	var page strings.Builder
	shown := *s
	shown.out = &page
	if shown.format != asTable {
		shown.format = asText
	}
	l := shown.consumersList()
	documents = []json.RawMessage{}
	err = l.end("no consumer", s.pages("/consumers", url.Values{"queue": {queue}}, "consumers", func(raw json.RawMessage) error {
		documents = append(documents, raw)
		return shown.listConsumer(l, raw)
	}))
	return documents, page.String(), err
}
