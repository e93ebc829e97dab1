package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"

	"github.com/streamsort/streamsort/internal/printable"
)

// many is whom an operation with --all is done to.
type many struct {
	All   bool   `help:"Do it to all that are selected. What it would do is printed, and done after a yes, or with --yes."`
	Named string `name:"consumer" help:"With --all: only consumers of this name."`
	State string `help:"With --all: only those in this state, such as blocked, lagging, paused or circuit-open. Skip and redrive are for blocked ones, resume for paused ones."`

	Prefix string `help:"With --all: only in queues whose names begin so."`
	Error  string `help:"With --all: only those that failed with this text in the error; a * stands for any text."`
	Since  string `help:"With --all: only those that are in the state for no longer than this (1h, 30m), or since no earlier than this time (2026-01-02T15:04:05Z)."`
	Rate   *int   `help:"With --all: how many a second; 50 where it is not given."`
	To     string `help:"With --all of rewind: where they go on: first, latest or a seq."`
	Yes    bool   `help:"With --all: do not ask."`
}

// since is the time that is meant, for the API.
func (m many) since(now time.Time) (string, error) {
	if ago, err := time.ParseDuration(m.Since); err == nil && ago > 0 {
		return now.Add(-ago).UTC().Format(time.RFC3339), nil
	}
	if _, err := time.Parse(time.RFC3339, m.Since); m.Since != "" && err != nil {
		return "", usageError(fmt.Sprintf("--since is %q: it must be like 1h, or like 2026-01-02T15:04:05Z", m.Since))
	}
	return m.Since, nil
}

// batch is a batch of acts, as the API shows it.
type batch struct {
	Batch, Token, State, Action, Start, Reason, At string
	Rate, Selected, Done, Failed, Passed           int
	More                                           bool
	Who                                            who
	First, Failures                                []struct {
		Queue         printable.Name
		Consumer, Why string
	}
}

// over reports whether nothing is left to do.
func (b batch) over() bool { return b.State == "DONE" || b.State == "STOPPED" }

// selected is how many it is about.
func (b batch) selected() string {
	more := ""
	if b.More {
		more = " or more"
	}
	return count(b.Selected, "consumer", "consumers") + more
}

// progress is how far it is.
func (b batch) progress() string {
	return b.Batch + "\t" + b.State + "\t" + b.counted()
}

// counted is what it does, and to how many it has.
func (b batch) counted() string {
	return fmt.Sprintf("%s of %s: %d done, %d failed, %d passed over", b.Action, b.selected(), b.Done, b.Failed, b.Passed)
}

// result is progress, and why acts were refused.
func (b batch) result() string {
	text := b.progress() + "\n"
	for _, f := range b.Failures {
		text += fmt.Sprintf("  %s\t%s\t%s\n", f.Queue, f.Consumer, f.Why)
	}
	return text
}

// actOnMany shows whom an action would be done to, and has it done.
func (s *session) actOnMany(action, reason string, m many) error {
	since, err := m.since(time.Now())
	if err != nil {
		return err
	}
	asked := map[string]any{"action": action, "reason": reason}
	for name, value := range map[string]string{
		"consumer": m.Named, "state": m.State, "prefix": m.Prefix, "error": m.Error, "since": since, "start": m.To,
	} {
		if value != "" {
			asked[name] = value
		}
	}
	if m.Rate != nil {
		asked["rate"] = *m.Rate
	}
	switch {
	case m.Named == "" && m.State == "" && (action == "pause" || action == "rewind"):
		return usageError("--all must have --consumer, or --state, beside it")
	case m.To == "" && action == "rewind":
		return usageError("--all of rewind must have --to beside it: where they go on")
	}
	b, raw, err := s.act(asked)
	if err != nil {
		return err
	}
	if b.Selected == 0 {
		if other := s.otherConsumer(m.Named); other != "" {
			fmt.Fprintf(s.errOut, "did you mean --consumer %s?\n", printable.Text(other))
		}
		return s.print(raw, "%s: no consumer is like that, and nothing is done\n", b.Action)
	}
	when := "would be done to %s, %d a second, and is not done yet"
	if m.Yes {
		when = "is done to %s, %d a second"
	}
	text := fmt.Sprintf("%s "+when+"\n", b.Action, b.selected(), b.Rate)
	for _, one := range b.First {
		text += fmt.Sprintf("  %s\t%s\n", one.Queue, one.Consumer)
	}
	if b.Selected > len(b.First) {
		text += "  …\n"
	}
	if err := s.print(raw, "%s", text); err != nil {
		return err
	}
	if !m.Yes {
		s.sayRefusals(b, m.To)
	}
	if !m.Yes && !s.agreed() {
		_, err := fmt.Fprintf(s.errOut, "nothing is done; within an hour, to do it: streamsort acts %s --start\n", b.Token)
		return err
	}
	return s.start(b.Token)
}

// sayRefusals says which of the queues that are shown have no such place for a consumer to be set to: their acts would be refused.
// Whether messages that a queue had are still stored, it does not know. 1 read of the API for each queue.
func (s *session) sayRefusals(b batch, to string) {
	place, err := strconv.ParseInt(to, 10, 64)
	if err != nil {
		return // first, latest, or no place
	}
	seen := map[printable.Name]bool{}
	for _, one := range b.First {
		if seen[one.Queue] {
			continue
		}
		seen[one.Queue] = true
		var q queue
		if _, err := s.get("/queues", url.Values{"queue": {string(one.Queue)}}, &q); err != nil {
			fmt.Fprintf(s.errOut, "%s: %v\n", one.Queue, err)
			continue
		}
		first, errFirst := q.First.number()
		position, errPosition := q.Position.number()
		switch refused := one.Queue.String() + ": would be refused: --to is " + to; {
		case errPosition == nil && place > position+1:
			fmt.Fprintf(s.errOut, "%s, and the next message to come is %d\n", refused, position+1)
		case errFirst == nil && place < first:
			fmt.Fprintf(s.errOut, "%s, and the queue's first seq is %d\n", refused, first)
		}
	}
}

// act asks for something of a batch.
func (s *session) act(asked map[string]any) (b batch, raw json.RawMessage, err error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return b, nil, err
	}
	raw, err = s.call(http.MethodPost, "/acts", nil, body, &b)
	return b, raw, err
}

// agreed asks who sits at the terminal.
func (s *session) agreed() bool {
	if !s.asks {
		return false
	}
	fmt.Fprint(s.errOut, "Do it? (yes/no) ")
	line, _ := bufio.NewReader(s.in).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "yes")
}

// start starts a batch, and shows how far it is until it is over.
func (s *session) start(token string) error {
	b, raw, err := s.act(map[string]any{"token": token})
	if err != nil {
		return err
	}
	if b, raw, err = s.follow(token, b, raw); err != nil {
		return err
	}
	if err := s.print(raw, "%s", b.result()); err != nil {
		return err
	}
	if b.Failed > 0 || b.State != "DONE" {
		return fmt.Errorf("not all was done: batch %s", b.Batch)
	}
	return nil
}

// follow asks again and again how far a batch is, and shows it on a terminal, until it is over.
func (s *session) follow(token string, b batch, raw json.RawMessage) (batch, json.RawMessage, error) {
	total := int64(b.Selected)
	if b.More {
		total = 0 // nobody has counted them all
	}
	shown := s.bar(b.text(), total, progress.UnitsDefault)
	defer func() { shown.end(b.State == "DONE") }()
	for {
		shown.say(b.text())
		shown.at(int64(b.Done + b.Failed + b.Passed))
		if b.over() {
			return b, raw, nil
		}
		select {
		case <-s.ctx.Done():
			fmt.Fprintf(s.errOut, "the batch goes on: `streamsort acts %s` shows how far it is, and with --stop it ends\n", token)
			return b, raw, s.ctx.Err()
		case <-time.After(time.Second):
		}
		var err error
		if raw, err = s.get("/acts", url.Values{"batch": {token}}, &b); err != nil && !errors.Is(err, context.Canceled) {
			return b, raw, fmt.Errorf("the batch goes on, and `streamsort acts %s` shows how far it is: %w", token, err)
		}
	}
}

// text is progress without columns.
func (b batch) text() string { return strings.ReplaceAll(b.progress(), "\t", " ") }

// actsCommand shows batches of acts.
type actsCommand struct {
	readFlags
	Batch  string `arg:"" optional:"" help:"Only this batch, and why acts of it were refused."`
	Tenant string `help:"That, or those, of this tenant; for operators."`
	Start  bool   `help:"Start the batch, which was only looked at, and show how far it is until it is over."`
	Stop   bool   `help:"End the batch, behind at most 50 more."`
}

func (c *actsCommand) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"batch": c.Batch, "tenant": c.Tenant} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// Run implements the verb.
func (c *actsCommand) Run(s *session) error {
	switch {
	case c.Batch == "" && (c.Start || c.Stop):
		return usageError("--start and --stop need the batch's name: `streamsort acts` lists them")
	case c.Start && c.Stop:
		return usageError("--start and --stop are both given")
	case s.watching && (c.Start || c.Stop):
		return usageError("--watch is for verbs that only read, not for --start and --stop")
	case c.Start && c.Tenant != "":
		return usageError("--start is for batches of one's own")
	case c.Batch == "":
		l := s.listing("batch", "state", "what", "at", "reason", "who")
		return l.end("none", s.pages("/acts", c.query(), "batches", func(raw json.RawMessage) error {
			var b batch
			if err := json.Unmarshal(raw, &b); err != nil {
				return err
			}
			at, reason := s.clock.at(b.At), cmp.Or(b.Reason, "-")
			return l.add(raw, fmt.Sprintf("%s\t%s\t%s\t%s", b.progress(), at, reason, b.Who), b.Batch, b.State, b.counted(), at, reason, b.Who)
		}))
	case c.Start:
		return s.start(c.Batch)
	}
	var b batch
	var raw json.RawMessage
	var err error
	if c.Stop {
		asked := map[string]any{"batch": c.Batch, "stop": true}
		if c.Tenant != "" {
			asked["tenant"] = c.Tenant
		}
		b, raw, err = s.act(asked)
	} else {
		raw, err = s.get("/acts", c.query(), &b)
	}
	if err != nil {
		return err
	}
	return s.print(raw, "%s", b.result())
}
