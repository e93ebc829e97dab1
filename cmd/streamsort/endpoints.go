package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/view"
)

type endpoint view.Endpoint

func (e endpoint) place() string {
	if e.Prefix != nil {
		return "prefix " + e.Prefix.String()
	}
	return "queue " + e.Queue.String()
}

func (e endpoint) state(c clock) string {
	if e.Paused == nil {
		return "sent to"
	}
	return fmt.Sprintf("paused %s: %s", c.since(e.Paused.Since), e.Paused.Reason)
}

type endpointCommand struct {
	List   endpointList   `cmd:"" default:"withargs" help:"List endpoints."`
	Put    endpointPut    `cmd:"" help:"Create an endpoint, or give it another URL or secret, and send to it. A new secret is printed once."`
	Pause  endpointPause  `cmd:"" help:"Send nothing there; the queues wait."`
	Resume endpointResume `cmd:"" help:"Send to a paused endpoint again."`
	Remove endpointRemove `cmd:"" help:"Remove an endpoint; queues without one wait."`
}

type endpointList struct {
	readFlags
	Named string `name:"consumer" help:"Only those of this consumer."`
	Limit *int   `help:"Print so many at most; 0 for all. 100 where it is not given." placeholder:"N"`
}

func (c *endpointList) Run(s *session) error {
	l := s.listing("consumer", "for", "url", "state", "changed")
	return limited(l, "/endpoints", client.Query("consumer", c.Named), "endpoints", c.Limit,
		func(e endpoint) []any {
			return []any{e.Consumer, e.place(), e.URL, e.state(s.clock), s.clock.at(e.At)}
		})
}

type endpointPlace struct {
	Queue    string `arg:"" help:"The queue's name; or a prefix, for all queues whose names begin so: 'shop/*', or '*' for all."`
	Consumer string `arg:"" help:"The consumer's name, whose sink has endpoints."`
}

// place is what the API calls the name, and the name.
func (p endpointPlace) place() (field, name string) {
	if prefix, is := strings.CutSuffix(p.Queue, "*"); is {
		return "prefix", prefix
	}
	return "queue", p.Queue
}

func (p endpointPlace) put(s *session, document map[string]any, what string) error {
	field, name := p.place()
	document["consumer"], document[field] = p.Consumer, name
	var e endpoint
	raw, err := s.call(http.MethodPut, "/endpoints", nil, document, &e)
	if err != nil {
		return err
	}
	if e.Secret != "" {
		what += "; its secret, which is not shown again, is " + e.Secret
	}
	if !e.OldSecretUntil.IsZero() {
		what += "; requests are signed with the one before too, until " + s.clock.at(e.OldSecretUntil)
	}
	return s.print(raw, "%s\t%s\t%s\t%s\n", e.Consumer, e.place(), e.URL, what)
}

type endpointPut struct {
	endpointPlace
	To     string `arg:"" name:"url" help:"Where requests go to: https, and a public address."`
	Rotate bool   `help:"Give it another secret; requests are signed with both for 24 hours."`
}

func (c *endpointPut) Run(s *session) error {
	return c.put(s, map[string]any{"url": c.To, "rotate": c.Rotate}, "sent to")
}

type endpointPause struct {
	endpointPlace
	Reason string `required:"" help:"Why: it is kept."`
}

func (c *endpointPause) Run(s *session) error {
	return c.put(s, map[string]any{"paused": c.Reason}, "paused")
}

type endpointResume struct{ endpointPlace }

func (c *endpointResume) Run(s *session) error { return c.put(s, map[string]any{}, "sent to") }

type endpointRemove struct{ endpointPlace }

func (c *endpointRemove) Run(s *session) error {
	var answer struct{}
	field, name := c.place()
	raw, err := s.call(http.MethodDelete, "/endpoints",
		url.Values{"consumer": {c.Consumer}, field: {name}}, nil, &answer)
	if err != nil {
		return err
	}
	return s.print(raw, "%s\t%s %s\tremoved\n", c.Consumer, field, name)
}
