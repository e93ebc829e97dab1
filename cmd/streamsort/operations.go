package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

type order struct {
	Queue    string `arg:"" help:"The queue's name."`
	Consumer string `arg:"" help:"The consumer's name."`
	named
}

type named struct {
	Reason string `required:"" help:"Why: it is kept in the audit log."`
	ID     string `help:"A name for the operation on one queue or consumer, random where none is given. A repeat under the same id is not done twice (pause and resume always are); an id of another operation is refused."`
}

// operate asks for an operation. Its id is made here, so that the client may repeat it.
func (s *session) operate(name string, o order, what string, place map[string]any) error {
	document := map[string]any{
		"action": name, "queue": o.Queue, "reason": o.Reason, "id": cmp.Or(o.ID, strings.ToLower(rand.Text())),
	}
	if o.Consumer != "" {
		document["consumer"] = o.Consumer
	}
	maps.Copy(document, place)
	return s.post("/operations", document, what)
}

// oneOrMany is an operation on one consumer, or without a queue on those that are selected.
type oneOrMany struct {
	Queue    string `arg:"" optional:"" help:"The queue's name; without one, the flags select many consumers."`
	Consumer string `arg:"" optional:"" help:"The consumer's name."`
	named
	many
}

// each does an action to all that are selected, or has it done to the one consumer.
func (o oneOrMany) each(s *session, action, start string, toOne func(order) error) error {
	switch {
	case o.Queue == "" && o.ID != "":
		return usageError("--id is for one consumer: give a queue and a consumer, or leave it out")
	case o.Queue == "":
		return s.actOnMany(action, o.Reason, start, o.many)
	case o.Consumer == "":
		return usageError("a consumer is missing: give both, or neither, and select many by " +
			"--consumer, --state, --prefix, --error and --since")
	case o.many != (many{}):
		return usageError("--consumer, --state, --prefix, --error, --since, --rate, --yes and --run " +
			"are for many consumers: without a queue")
	}
	return toOne(order{o.Queue, o.Consumer, o.named})
}

// do does an action to the one consumer, at a place, or to all that are selected.
func (o oneOrMany) do(s *session, action, what, start string) error {
	return o.each(s, action, start, func(one order) error {
		if start == "" {
			return s.operate(action, one, what, nil)
		}
		return s.operate(action, one, what, map[string]any{"start": start})
	})
}

type skipCommand struct {
	Message  string `arg:"" optional:"" help:"QUEUE@SEQ, the message that blocks, or failed alone; without it, the flags select many consumers."`
	Consumer string `arg:"" optional:"" help:"The consumer's name."`
	named
	many
}

func (c *skipCommand) Run(s *session) error {
	return oneOrMany{c.Message, c.Consumer, c.named, c.many}.each(s, "skip", "",
		func(one order) error {
			p, err := parsePlaced(c.Message)
			if err != nil {
				return err
			}
			one.Queue = p.queue
			seq := strconv.FormatInt(p.seq, 10)
			return s.operate("skip", one, "skipped "+seq, map[string]any{"seq": seq})
		})
}

type redriveCommand struct{ oneOrMany }

// Run implements the verb. The API has to be given the seq: it is that of the message at the head,
// which failed.
func (c *redriveCommand) Run(s *session) error {
	return c.each(s, "redrive", "", func(one order) error {
		var page view.Consumers
		query := url.Values{"queue": {c.Queue}, "consumer": {c.Consumer}}
		if _, err := s.get("/consumers", query, &page); err != nil {
			return err
		}
		if len(page.Consumers) != 1 || page.Consumers[0].FailedSeq() == nil {
			return fmt.Errorf("consumer %s of queue %q is not blocked, and its next message did not fail: "+
				"there is nothing to redrive", c.Consumer, c.Queue)
		}
		seq := known(page.Consumers[0].FailedSeq())
		return s.operate("redrive", one, "tries "+seq+" again", map[string]any{"seq": seq})
	})
}

type rewindCommand struct {
	oneOrMany
	Start string `required:"" help:"Where it goes on: first, latest or a seq." placeholder:"PLACE"`
}

type (
	pauseCommand  struct{ oneOrMany }
	resumeCommand struct{ oneOrMany }
)

func (c *rewindCommand) Run(s *session) error {
	return c.do(s, "rewind", "set to "+c.Start, c.Start)
}
func (c *pauseCommand) Run(s *session) error  { return c.do(s, "pause", "paused", "") }
func (c *resumeCommand) Run(s *session) error { return c.do(s, "resume", "resumed", "") }

type consumerRemove struct{ order }

func (c *consumerRemove) Run(s *session) error {
	return s.operate("remove", c.order, "removed", nil)
}

type consumerSettle struct {
	order
	Token   string `arg:"" help:"The claim in quarantine, as streamsort consumer shows it."`
	Outcome string `arg:"" enum:"COMMITTED,ABORTED,RELEASED" help:"How it ended: COMMITTED or ABORTED; or RELEASED, to give up the messages of an aborted one."`
}

func (c *consumerSettle) Run(s *session) error {
	if c.Outcome == "RELEASED" {
		return s.operate("release", c.order, "released "+c.Token, map[string]any{"token": c.Token})
	}
	return s.operate("settle", c.order, "settled "+c.Token+" as "+c.Outcome,
		map[string]any{"token": c.Token, "outcome": c.Outcome})
}

func (s *session) audit(queue, consumer string) error {
	l := s.listing("at", "consumer", "what", "outcome", "reason", "id", "who")
	return limited(l, "/operations", client.Query("queue", queue, "consumer", consumer), "operations",
		new(0), func(a operation) []any { return a.cells(s.clock) })
}

type operation view.Operation

func (a operation) cells(c clock) []any {
	what := a.Action
	if a.Seq != nil && len(a.Request) == 0 {
		what += " " + known(a.Seq)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Request)) {
		what += " " + name + "=" + printable.Text(a.Request[name])
	}
	outcome := a.Outcome
	if a.Error != "" {
		outcome += " (" + a.Error.String() + ")"
	}
	return []any{c.at(a.At), a.Consumer, what, outcome, a.Reason, a.ID, a.Who}
}
