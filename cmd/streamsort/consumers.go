package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/view"
)

type consumer view.Consumer

// clauses says what the consumer is at, a clause for each thing.
func (c consumer) clauses(clock clock) string {
	var said []string
	say := func(format string, arguments ...any) {
		said = append(said, fmt.Sprintf(format, arguments...))
	}
	if c.Starting {
		say("finding its place")
	}
	if claim := c.Claim; claim != nil {
		lease := clock.end(claim.LeaseUntil)
		switch {
		case claim.State == "IN_DOUBT":
			say("in doubt: claim %s of %d to %d, whose lease %s", claim.Token, claim.From, claim.To, lease)
		case claim.Deferred:
			say("at %d to %d, deferred, claim %s %s, chain %s", claim.From, claim.To,
				claim.Token, lease, claim.Chain)
		default:
			say("at %d to %d, claim %s, lease %s", claim.From, claim.To, claim.Token, lease)
		}
	}
	if c.Blocked != nil {
		say("blocked on %d %s", c.Blocked.Seq, clock.lasting(c.Blocked.Age))
	}
	for _, q := range c.Quarantine {
		say("quarantine: claim %s of %d to %d, %s %s", q.Token, q.From, q.To, q.State,
			clock.since(q.Since))
	}
	if c.Paused != nil {
		say("paused %s: %s", clock.since(c.Paused.Since), c.Paused.Reason)
	}
	if c.Attempt > 0 {
		say("attempt %d", c.Attempt)
	}
	if c.Error != "" {
		say("failed: %s", c.Error)
	}
	if !c.NextTry.IsZero() {
		say("next try %s", clock.due(c.NextTry))
	}
	if c.Waiting != nil && c.Waiting.Missing {
		say("%d is missing: it is not stored any more", c.Waiting.Seq)
	} else if c.Waiting != nil {
		say("%d waits %s", c.Waiting.Seq, clock.lasting(c.Waiting.Age))
	}
	if c.Refused != nil {
		say("%s refused, the last in claim %s: %s", count(c.Refused.Count, "reply", "replies"),
			c.Refused.Claim, c.Refused.Reason)
	}
	// it is of all queues: one that is well has nothing to do with it
	if c.Sink != nil && c.State != view.OK {
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
	case !s.OpenSince.IsZero():
		say("circuit breaker open %s", clock.since(s.OpenSince))
		if s.Probes > 0 {
			say("%s made", count(s.Probes, "probe", "probes"))
		}
	case s.Waking:
		say("the circuit breaker has closed: queues that it held are being woken up")
	}
	if !s.FailingSince.IsZero() {
		say("the sink has failed %s", clock.since(s.FailingSince))
	}
	if !s.TakenAt.IsZero() {
		say("the sink last took something %s, after a failure", clock.when(s.TakenAt))
	}
}

type consumerCommand struct {
	List   consumerList   `cmd:"" default:"withargs" help:"List consumers of all queues, or print those of a queue, or one."`
	Create consumerCreate `cmd:"" help:"Create a consumer of a queue."`
	Settle consumerSettle `cmd:"" help:"Record how a claim in quarantine ended, where its database is gone; or give up its messages."`
	Remove consumerRemove `cmd:"" help:"Remove a consumer of a queue."`
}

type consumerList struct {
	readFlags
	Queue    string `arg:"" optional:"" help:"The queue's name. Without one, those of all queues are listed."`
	Consumer string `arg:"" optional:"" help:"Only this one, and for how long its next message waits."`
	State    string `help:"List only those in this state: blocked, in-doubt, held, retrying, catching-up, paused." enum:",blocked,in-doubt,held,retrying,catching-up,paused" default:""`
	Named    string `name:"consumer" help:"List only those of this name."`
	listFlags
}

func (c *consumerList) Run(s *session) error {
	if c.Queue == "" {
		return s.listRows("/consumers", c.State, c.Named, c.listFlags)
	}
	if c.State != "" || c.Named != "" || c.listFlags != (listFlags{}) {
		return usageError("--state, --consumer, --prefix and --limit are for a list: without a queue")
	}
	_, err := s.consumersOf(c.Queue, c.Consumer)
	return err
}

// consumersOf lists a queue's consumers, or one, and returns their documents.
func (s *session) consumersOf(queue, name string) ([]json.RawMessage, error) {
	l := s.listing("consumer", "state", "delivered", "position", "lag", "since", "what it is at")
	l.one = name != ""
	documents, err := []json.RawMessage{}, error(nil)
	query := client.Query("queue", queue, "consumer", name)
	for c, raw := range each[consumer](s, "/consumers", query, "consumers", &err) {
		documents = append(documents, raw)
		clauses := c.clauses(s.clock)
		cells := []any{c.Consumer, states(c.Head), known(c.Delivered), known(c.Position), known(c.Lag)}
		text := fmt.Sprintf("%s\t%s\tdelivered %s of %s, lag %s%s", append(cells, clauses)...)
		since := cmp.Or(s.clock.since(c.Since), "-")
		l.addText(raw, text, append(cells, since, strings.TrimPrefix(clauses, ": "))...)
	}
	return documents, l.end("no consumer", err)
}

func states(h view.Head) string {
	text := string(h.State)
	for _, also := range h.Also {
		text += ", " + string(also)
	}
	return text
}

// known is a seq in text; "-" without one.
func known(seq *jsonseq.Seq) string { return seq.Or("-") }

// failedSeqs is the message at the head, or the batch that failed as a whole.
func failedSeqs(seq, to *jsonseq.Seq) string {
	if to != nil {
		return known(seq) + " to " + known(to)
	}
	return known(seq)
}

// each asks for one page after the other, and has the elements of the list under name, each with
// its document. When it has ended, failed is why it ended early, or what could not be read.
func each[T any](s *session, path string, query url.Values, name string,
	failed *error) iter.Seq2[T, json.RawMessage] {
	return func(yield func(T, json.RawMessage) bool) {
		var unreadable []error
		for next := "first"; next != ""; query.Set("after", next) {
			var page map[string]json.RawMessage
			var list []json.RawMessage
			if _, *failed = s.get(path, query, &page); *failed == nil {
				*failed = json.Unmarshal(page[name], &list)
			}
			for _, raw := range list {
				var element T
				if *failed = json.Unmarshal(raw, &element); *failed != nil || !yield(element, raw) {
					return
				}
			}
			if page["unreadable"] != nil {
				unreadable = append(unreadable, errors.New(string(page["unreadable"])))
			}
			if next = ""; page["next"] != nil && *failed == nil {
				*failed = json.Unmarshal(page["next"], &next)
			}
		}
		*failed = errors.Join(append(unreadable, *failed)...)
	}
}

// post makes a POST request with a document, and prints the consumer of the answer; what says in
// text what was done.
func (s *session) post(path string, document map[string]any, what string) error {
	var it consumer
	raw, err := s.call(http.MethodPost, path, nil, document, &it)
	if err != nil {
		return err
	}
	if it.State == "" { // it is gone
		return s.print(raw, "%s\t%s\n", it.Consumer, what)
	}
	return s.print(raw, "%s\t%s; delivered %s%s\n", it.Consumer, what, known(it.Delivered),
		it.clauses(s.clock))
}

type consumerCreate struct {
	Queue    string `arg:"" help:"The queue's name."`
	Consumer string `arg:"" help:"The consumer's name."`
	Start    string `help:"Where it begins: first, latest or a seq." default:"first"`
	Kind     string `help:"The kind of queue: numbered or arrival. A queue that nothing was put to yet becomes one; numbered where it is not given."`
}

func (c *consumerCreate) Run(s *session) error {
	document := map[string]any{"queue": c.Queue, "consumer": c.Consumer, "start": c.Start}
	if c.Kind != "" {
		document["kind"] = c.Kind
	}
	return s.post("/consumers", document, c.before(s))
}

// before says whether the consumer was there before: the answer to the call that makes it does not
// tell, for a repeat has the same one.
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
