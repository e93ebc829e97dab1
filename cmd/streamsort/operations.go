package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/printable"
)

// order is what every operation on a consumer has.
type order struct {
	Queue    string `arg:"" help:"The queue's name."`
	Consumer string `arg:"" help:"The consumer's name."`
	Reason   string `required:"" help:"Why: it is kept."`
	ID       string `help:"A name for this operation. Repeated at once under the same id it is not done twice (pause and resume always are). An id that is another operation's is refused. A random one where none is given."`
}

// operate asks for an operation. Its id is made here, so that the client may repeat it.
func (s *session) operate(name string, o order, what string, place map[string]any) error {
	document := map[string]any{
		"action": name, "queue": o.Queue, "reason": o.Reason, "id": cmp.Or(o.ID, strings.ToLower(rand.Text())),
	}
	if o.Consumer != "" {
		document["consumer"] = o.Consumer
	}
	for field, value := range place {
		document[field] = value
	}
	return s.post("/operations", document, what)
}

// orderOrAll is an order for one consumer, or with --all for those that are selected.
type orderOrAll struct {
	Queue    string `arg:"" optional:"" help:"The queue's name."`
	Consumer string `arg:"" optional:"" help:"The consumer's name."`
	Reason   string `required:"" help:"Why: it is kept."`
	ID       string `help:"A name for this operation on one consumer: see streamsort remove --help."`
	many
}

// do does an action to the one consumer, at a place, or to all that are selected.
func (o orderOrAll) do(s *session, action, what, field, place string) error {
	if !o.All {
		switch {
		case o.many != (many{}):
			return usageError("--consumer, --state, --prefix, --error, --since, --rate, --to, --yes and --run are for --all")
		case o.Consumer == "" || field != "" && place == "":
			return usageError("a queue, a consumer and what else the verb needs must be given, or --all")
		}
		at := map[string]any{}
		if field != "" {
			at[field] = place
		}
		return s.operate(action, order{o.Queue, o.Consumer, o.Reason, o.ID}, what, at)
	}
	if o.Queue != "" || o.ID != "" {
		return usageError("a queue, and --id, are for one consumer: --all selects by --consumer, --state, --prefix, --error and --since")
	}
	return s.actOnMany(action, o.Reason, o.many)
}

type skipCommand struct {
	orderOrAll
	Seq string `arg:"" optional:"" help:"The message that blocks."`
}

// Run implements the verb.
func (c *skipCommand) Run(s *session) error {
	return c.do(s, "skip", "skipped "+c.Seq, "seq", c.Seq)
}

type redriveCommand struct {
	orderOrAll
	Seq string `arg:"" optional:"" help:"The message that blocks; the one that blocks now where it is left out."`
}

// Run implements the verb.
func (c *redriveCommand) Run(s *session) error {
	if !c.All && c.Consumer != "" && c.Seq == "" {
		var page struct{ Consumers []consumer }
		query := url.Values{"queue": {c.Queue}, "consumer": {c.Consumer}}
		if _, err := s.get("/consumers", query, &page); err != nil {
			return err
		}
		if len(page.Consumers) != 1 || page.Consumers[0].Blocked == nil {
			return fmt.Errorf("consumer %s of queue %q is not blocked: there is nothing to redrive",
				c.Consumer, c.Queue)
		}
		c.Seq = string(page.Consumers[0].Blocked.Seq)
	}
	return c.do(s, "redrive", "tries "+c.Seq+" again", "seq", c.Seq)
}

type rewindCommand struct {
	orderOrAll
	Start string `arg:"" optional:"" help:"Where it goes on: first, latest or a seq."`
}

// Run implements the verb.
func (c *rewindCommand) Run(s *session) error {
	return c.do(s, "rewind", "set to "+c.Start, "start", c.Start)
}

type pauseCommand struct{ orderOrAll }

// Run implements the verb.
func (c *pauseCommand) Run(s *session) error { return c.do(s, "pause", "paused", "", "") }

type resumeCommand struct{ orderOrAll }

// Run implements the verb.
func (c *resumeCommand) Run(s *session) error { return c.do(s, "resume", "resumed", "", "") }

type removeCommand struct{ order }

// Run implements the verb.
func (c *removeCommand) Run(s *session) error { return s.operate("remove", c.order, "removed", nil) }

type restartKeysCommand struct {
	Queue  string `arg:"" help:"The queue's name."`
	Reason string `required:"" help:"Why: it is kept."`
	ID     string `help:"A name for this operation: see streamsort remove --help."`
}

// Run implements the verb.
func (c *restartKeysCommand) Run(s *session) error {
	return s.operate("restart-keys", order{Queue: c.Queue, Reason: c.Reason, ID: c.ID}, "keys begin anew", nil)
}

type settleCommand struct {
	order
	Token   string `arg:"" help:"The claim in quarantine, as streamsort consumers shows it."`
	Outcome string `arg:"" enum:"COMMITTED,ABORTED" help:"How it ended: COMMITTED or ABORTED."`
}

// Run implements the verb.
func (c *settleCommand) Run(s *session) error {
	return s.operate("settle", c.order, "settled "+c.Token+" as "+c.Outcome, map[string]any{"token": c.Token, "outcome": c.Outcome})
}

type releaseCommand struct {
	order
	Token string `arg:"" help:"The aborted claim in quarantine."`
}

// Run implements the verb.
func (c *releaseCommand) Run(s *session) error {
	return s.operate("release", c.order, "released "+c.Token, map[string]any{"token": c.Token})
}

// auditCommand prints the audit log.
type auditCommand struct {
	readFlags
	Queue    string `arg:"" help:"The queue's name."`
	Consumer string `arg:"" optional:"" help:"Only this one's."`
}

// Run implements the verb.
func (c *auditCommand) Run(s *session) error {
	query := url.Values{"queue": {c.Queue}}
	if c.Consumer != "" {
		query.Set("consumer", c.Consumer)
	}
	l := s.listing("at", "consumer", "what", "outcome", "reason", "id", "who")
	return l.end("none", s.pages("/operations", query, "operations", func(raw json.RawMessage) error {
		var a operation
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		texts := a.texts(s.clock)
		cells := make([]any, len(texts))
		for i, text := range texts {
			cells[i] = text
		}
		return l.add(raw, strings.Join(texts, "\t"), cells...)
	}))
}

// operation is an entry of the audit log, as the API shows it.
type operation struct {
	At, Action, Consumer, Outcome string
	ID, Reason, Error             printable.Name
	Seq                           seq
	Request                       map[string]printable.Name
	Who                           who
}

// who asked for an operation; the zero who where that was not kept.
type who struct{ Kind, Name, Client string }

// String is who asked, and by which client.
func (w who) String() string {
	text := strings.TrimSpace(w.Kind + " " + w.Name)
	if w.Client != "" {
		text += " by " + w.Client
	}
	return cmp.Or(text, "-")
}

// texts are when, whose, what, how it ended, why, its id, and by whom.
func (a operation) texts(c clock) []string {
	what := a.Action
	if a.Seq != "" && len(a.Request) == 0 {
		what += " " + string(a.Seq)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Request)) {
		what += " " + name + "=" + a.Request[name].String()
	}
	outcome := a.Outcome
	if a.Error != "" {
		outcome += " (" + a.Error.String() + ")"
	}
	return []string{c.at(a.At), a.Consumer, what, outcome, a.Reason.String(), a.ID.String(), a.Who.String()}
}
