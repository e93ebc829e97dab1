package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

type queue view.Queue

func (q queue) text(c clock) string {
	if q.Kind == "keyed" {
		return q.keyed(c)
	}
	if q.Kind == "arrival" {
		return fmt.Sprintf("%s: position %d, in arrival order\n  first %d\n",
			q.Queue, q.Position, q.First)
	}
	gap := "no gap"
	if q.GapOpen {
		gap = "a gap " + c.lasting(q.GapAge)
	}
	if q.GapOpen && q.Parked > 0 {
		gap += ", " + howMany(q.Parked, q.ParkedMore) + " parked"
	}
	return fmt.Sprintf("%s: position %d, %s\n  first %d, policy %s after %s, max ahead %d, %s\n",
		q.Queue, q.Position, gap, q.First, q.Policy, view.Duration(q.GapAfter), q.MaxAhead, q.Mode)
}

func (q queue) keyed(c clock) string {
	waits, high := cmp.Or(q.waits(c), "nothing waits"), ""
	if len(q.HighKey) > 0 {
		high = ", keys up to " + printable.Text(string(q.HighKey))
	}
	return fmt.Sprintf("%s: position %d, by key, %s, %d late so far\n  first %d, keys of %s%s, settled after %s, late: %s\n",
		q.Queue, q.Position, waits, q.LateSoFar, q.First, q.KeyType, high,
		view.Duration(q.Settle), q.Late)
}

// waits is how many messages wait for their places; empty where none do.
func (q queue) waits(c clock) string {
	if q.Waiting == 0 {
		return ""
	}
	waiting := howMany(q.Waiting, q.WaitingMore)
	return fmt.Sprintf("%s wait, the first is due %s", waiting, c.due(q.DueAt.Truncate(time.Second)))
}

type configureCommand struct {
	Queue       string   `arg:"" help:"The queue's name. One that is not there is created."`
	Settings    []string `arg:"" optional:"" help:"The settings, NAME=VALUE, by the API's names: policy=skip gapAfter=1m. The others stay as they are."`
	RestartKeys bool     `help:"Begin the keys of a keyed queue again, for a sender whose counter began again: what waits is placed at once, and what comes from then on is placed behind it."`
	Reason      string   `help:"With --restart-keys: why; it is kept in the audit log."`
	ID          string   `help:"With --restart-keys: a name for the operation, random where none is given."`
}

func (c *configureCommand) Run(s *session) error {
	switch {
	case c.RestartKeys && len(c.Settings) > 0:
		return usageError("--restart-keys is an operation of its own: leave out the settings")
	case c.RestartKeys && c.Reason == "":
		return usageError("--reason is missing: with --restart-keys, say why")
	case c.RestartKeys:
		return s.operate("restart-keys", order{Queue: c.Queue, named: named{c.Reason, c.ID}},
			"keys begin again", nil)
	case c.Reason != "" || c.ID != "":
		return usageError("--reason and --id are for --restart-keys")
	case len(c.Settings) == 0:
		return usageError("a setting is missing: NAME=VALUE, such as policy=skip")
	}
	document := map[string]string{}
	for _, setting := range c.Settings {
		name, value, ok := strings.Cut(setting, "=")
		if _, twice := document[name]; !ok || twice || name == "queue" {
			return usage("%q must be a setting, NAME=VALUE, and each be given once", setting)
		}
		document[name] = value
	}
	document["queue"] = c.Queue
	var q queue
	raw, err := s.call(http.MethodPut, "/queues", nil, document, &q)
	if err != nil {
		return err
	}
	return s.print(raw, "%s", q.text(s.clock))
}

func (s *session) gaps(queue string, limit int) (json.RawMessage, string, error) {
	var list view.Gaps
	raw, err := s.get("/gaps", url.Values{"queue": {queue}, "limit": {strconv.Itoa(limit)}}, &list)
	if err != nil {
		return nil, "", err
	}
	var text strings.Builder
	for i, gap := range list.Gaps {
		fmt.Fprintf(&text, "%d to %d", gap.From, gap.To)
		if i == 0 {
			text.WriteString(", " + s.clock.lasting(gap.Age))
		}
		text.WriteString("\n")
	}
	if len(list.Gaps) == 0 {
		text.WriteString("no gap\n")
	}
	if list.More {
		text.WriteString("and perhaps more\n")
	}
	return raw, text.String(), nil
}

type queueCommand struct {
	readFlags
	Queue string `arg:"" optional:"" help:"The queue's name. Without one, queues are listed."`
	State string `help:"List only those in this state: gap." enum:",gap" default:""`
	listFlags
	Audit bool   `help:"Print the audit log of the queue: what operators did, the latest first."`
	Named string `name:"consumer" help:"With --audit: only what was done to this consumer."`
}

func (c *queueCommand) Run(s *session) error {
	switch {
	case c.Named != "" && !c.Audit:
		return usageError("--consumer is for --audit: `streamsort consumer QUEUE CONSUMER` prints a consumer")
	case c.Queue == "" && c.Audit:
		return usageError("--audit is for one queue: give its name")
	case c.Queue == "":
		return c.list(s)
	case c.State != "" || c.Prefix != "" || c.Audit && c.Limit != nil:
		return usageError("--state and --prefix are for a list, without a queue; --limit is for a list, and for the gaps of a queue")
	case c.Audit:
		return s.audit(c.Queue, c.Named)
	}
	shown := 10 // gaps
	if c.Limit != nil {
		shown = *c.Limit
	}
	if err := bounded("--limit", shown, 1, 1000); err != nil {
		return err
	}
	return s.queue(c.Queue, shown)
}

func (c *queueCommand) list(s *session) error {
	if c.State != "" {
		return s.listRows("/queues", c.State, "", c.listFlags)
	}
	l := s.listing("queue", "state", "kind", "position", "seq", "since")
	return limited(l, "/queues", client.Query("prefix", c.Prefix), "list", c.Limit,
		func(it listed) []any {
			since, position := "-", known(it.Position)
			if it.GapOpen {
				since = s.clock.lasting(it.GapAge)
			}
			if s.format == asText {
				position = "position " + position
			}
			return []any{it.Queue, it.State, it.Kind, position, known(it.Seq), since}
		})
}

func (s *session) queue(name string, limit int) error {
	var q queue
	settings, err := s.get("/queues", url.Values{"queue": {name}}, &q)
	if err != nil {
		return err
	}
	document := map[string]any{"queue": settings}
	text := q.text(s.clock)
	if q.GapOpen {
		var said string
		if document["gaps"], said, err = s.gaps(name, limit); err != nil {
			return err
		}
		text += "\nmissing:\n  " + strings.ReplaceAll(strings.TrimSuffix(said, "\n"), "\n", "\n  ") + "\n"
	}
	var said strings.Builder
	list := *s // in text also where JSON is printed
	list.out = &said
	if s.format != asTable {
		list.format = asText
	}
	if document["consumers"], err = list.consumersOf(name, ""); err != nil {
		return err
	}
	return s.print(document, "%s\n%s", text, &said)
}
