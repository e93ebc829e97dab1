package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
)

// consumer is a consumer as the API shows it.
type consumer struct {
	Consumer, State          string
	Delivered, Position, Lag seq
	Attempts                 int
	Starting                 bool
	Claim                    *struct {
		Token      string
		From, To   seq
		LeaseUntil string
		Deferred   bool
		Chain      string
	}
	Quarantine []struct {
		Token, State, Since string
		From, To            seq
	}
	Failure *struct {
		Error   printable.Name
		RetryAt string
	}
	Answer *struct {
		Code int
		Ms   int64
		At   string
		Text string
	}
	Blocked *struct {
		Seq        seq
		AgeSeconds float64
	}
	Paused *struct {
		Reason printable.Name
		Since  string
	}
	Refused *struct {
		Count         int64
		Claim, Reason string
	}
	Waiting *struct {
		Seq        seq
		AgeSeconds float64
		Missing    bool
	}
	Sink *struct {
		OpenSince, ProbeAt, FailingSince, TakenAt string
		Probes                                    int64
		Waking                                    bool
	}
}

// state says what the consumer is at, a clause for each thing.
func (c consumer) state(clock clock) string {
	var said []string
	say := func(format string, arguments ...any) { said = append(said, fmt.Sprintf(format, arguments...)) }
	if c.Starting {
		say("finding its place")
	}
	if c.State == "IN_DOUBT" && c.Claim != nil {
		say("in doubt: claim %s of %s to %s, whose lease ended %s", c.Claim.Token, c.Claim.From, c.Claim.To, clock.when(c.Claim.LeaseUntil))
	} else if c.Claim != nil && c.Claim.Deferred {
		say("at %s to %s, deferred, claim %s %s, chain %s", c.Claim.From, c.Claim.To, c.Claim.Token, clock.end(c.Claim.LeaseUntil), c.Claim.Chain)
	} else if c.Claim != nil {
		say("at %s to %s, lease %s", c.Claim.From, c.Claim.To, clock.end(c.Claim.LeaseUntil))
	}
	if c.Blocked != nil {
		say("blocked on %s %s", c.Blocked.Seq, clock.lasting(c.Blocked.AgeSeconds))
	}
	for _, q := range c.Quarantine {
		say("quarantine: claim %s of %s to %s, %s %s", q.Token, q.From, q.To, q.State, clock.since(q.Since))
	}
	if c.Paused != nil {
		say("paused %s: %s", clock.since(c.Paused.Since), c.Paused.Reason)
	}
	if c.Attempts > 0 {
		say("attempt %d", c.Attempts)
	}
	if c.Failure != nil {
		say("failed: %s", c.Failure.Error)
		if c.Failure.RetryAt != "" && (c.Sink == nil || c.Sink.OpenSince == "") { // else a probe decides
			say("tries again %s", clock.due(c.Failure.RetryAt))
		}
	}
	if c.Waiting != nil && c.Waiting.Missing {
		say("%s is missing: it is not stored any more", c.Waiting.Seq)
	} else if c.Waiting != nil {
		say("%s waits %s", c.Waiting.Seq, clock.lasting(c.Waiting.AgeSeconds))
	}
	if c.Refused != nil {
		say("%s refused, the last in claim %s: %s", count(c.Refused.Count, "reply", "replies"), c.Refused.Claim, c.Refused.Reason)
	}
	if c.Sink != nil {
		c.sink(clock, say)
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said, "; ")
}

// sink says what is known of the sink of all consumers of the name.
func (c consumer) sink(clock clock, say func(format string, arguments ...any)) {
	s := c.Sink
	switch {
	case s.OpenSince != "":
		say("circuit open %s, the next probe %s", clock.since(s.OpenSince), clock.due(s.ProbeAt))
		if s.Probes > 0 {
			say("%s made", count(s.Probes, "probe", "probes"))
		}
	case s.Waking:
		say("the circuit has closed: queues that it held back are being woken up")
	}
	if s.FailingSince != "" {
		say("the sink has failed %s", clock.since(s.FailingSince))
	}
	if s.TakenAt != "" {
		say("the sink last took something %s, after a failure", clock.when(s.TakenAt))
	}
}

// consumerCommand are the verbs about consumers.
type consumerCommand struct {
	List   consumerList   `cmd:"" default:"withargs" help:"List consumers of all queues, or print those of a queue, or one."`
	Create consumerCreate `cmd:"" help:"Create a consumer of a queue."`
	Settle consumerSettle `cmd:"" help:"Record how a claim in quarantine ended, where its database is gone; or give up its messages."`
	Remove consumerRemove `cmd:"" help:"Remove a consumer of a queue."`
}

// consumerList prints how far the consumers of a queue are, or lists those of all queues.
type consumerList struct {
	readFlags
	Queue    string `arg:"" optional:"" help:"The queue's name. Without one, those of all queues are listed."`
	Consumer string `arg:"" optional:"" help:"Only this one, and for how long its next message waits."`
	State    string `help:"List only those in this state: ${enum}." enum:",blocked,in-doubt,held,retrying,catching-up,paused" default:""`
	Named    string `name:"consumer" help:"List only those of this name."`
	listFlags
}

// Run implements the verb.
func (c *consumerList) Run(s *session) error {
	if c.Queue == "" {
		query := url.Values{}
		if c.Named != "" {
			query.Set("consumer", c.Named)
		}
		return s.listRows("/consumers", c.State, c.listFlags, query)
	}
	if c.State != "" || c.Named != "" || c.listFlags != (listFlags{}) {
		return usageError("--state, --consumer, --prefix and --limit are for a list: without a queue")
	}
	query := url.Values{"queue": {c.Queue}}
	if c.Consumer != "" {
		query.Set("consumer", c.Consumer)
	}
	l := s.consumersList()
	l.one = c.Consumer != ""
	return l.end("no consumer", s.pages("/consumers", query, "consumers", func(raw json.RawMessage) error { return s.listConsumer(l, raw) }))
}

// consumersList begins a list of a queue's consumers.
func (s *session) consumersList() *listing {
	return s.listing("consumer", "delivered", "position", "lag", "state", "what it is at")
}

// listConsumer adds a consumer to a list of its queue's.
func (s *session) listConsumer(l *listing, raw json.RawMessage) error {
	var it consumer
	if err := json.Unmarshal(raw, &it); err != nil {
		return err
	}
	state := it.state(s.clock)
	text := fmt.Sprintf("%s\tdelivered %s of %s, lag %s%s", it.Consumer, it.Delivered, it.Position, it.Lag, state)
	return l.add(raw, text, it.Consumer, it.Delivered, it.Position, it.Lag, it.State, strings.TrimPrefix(state, ": "))
}

// pages asks for one page after the other, and calls hand for each element of the list
// under name.
func (s *session) pages(path string, query url.Values, name string, hand func(json.RawMessage) error) error {
	var unreadable []error
	for {
		var page map[string]json.RawMessage
		if _, err := s.get(path, query, &page); err != nil {
			return err
		}
		var list []json.RawMessage
		if err := json.Unmarshal(page[name], &list); err != nil {
			return err
		}
		for _, raw := range list {
			if err := hand(raw); err != nil {
				return err
			}
		}
		if page["unreadable"] != nil {
			unreadable = append(unreadable, errors.New(string(page["unreadable"])))
		}
		if page["next"] == nil {
			return errors.Join(unreadable...)
		}
		var next string
		if err := json.Unmarshal(page["next"], &next); err != nil {
			return err
		}
		query.Set("after", next)
	}
}

// post makes a POST request with a document, and prints the consumer of the
// answer; what says in text what was done.
func (s *session) post(path string, document map[string]any, what string) error {
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	var it consumer
	raw, err := s.call(http.MethodPost, path, nil, body, &it)
	if err != nil {
		return err
	}
	if it.State == "" { // it is gone
		return s.print(raw, "%s\t%s\n", it.Consumer, what)
	}
	return s.print(raw, "%s\t%s; delivered %s%s\n", it.Consumer, what, it.Delivered, it.state(s.clock))
}

// consumerCreate creates a consumer.
type consumerCreate struct {
	Queue    string `arg:"" help:"The queue's name."`
	Consumer string `arg:"" help:"The consumer's name."`
	Start    string `help:"Where it begins: first, latest or a seq." default:"first"`
	Kind     string `help:"The kind of queue: numbered or arrival. A queue that nothing was put to yet becomes one; numbered where it is not given."`
}

// Run implements the verb.
func (c *consumerCreate) Run(s *session) error {
	document := map[string]any{"queue": c.Queue, "consumer": c.Consumer, "start": c.Start}
	if c.Kind != "" {
		document["kind"] = c.Kind
	}
	return s.post("/consumers", document, c.before(s))
}

// before says whether the consumer was there before: the answer to the call that
// makes it does not tell, for a repeat has the same one.
func (c *consumerCreate) before(s *session) string {
	var found json.RawMessage
	_, err := s.get("/consumers", url.Values{"queue": {c.Queue}, "consumer": {c.Consumer}}, &found)
	var problem *client.Problem
	switch {
	case err == nil:
		return "was there already"
	case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
		return "created"
	}
	return "is there" // who may make consumers need not be allowed to look
}
