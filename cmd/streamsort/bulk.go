package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/bulk"
	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/pkg/invalid"
)

type many struct {
	Named  string `group:"many" name:"consumer" help:"Only consumers of this name."`
	State  string `group:"many" help:"Only those in this state, such as blocked, retrying, held or paused. Skip and redrive are for blocked ones, resume for paused ones."`
	Prefix string `group:"many" help:"Only in queues whose names begin so."`
	Error  string `group:"many" help:"Only those whose error, or its group, has this text; a * stands for any text."`
	Since  string `group:"many" help:"Only those that are in the state for no longer than this (1h, 30m), or since no earlier than this time (2026-01-02T15:04:05Z)."`
	Rate   *int   `group:"many" help:"How many a second, 1 to 1000; 50 where it is not given."`
	Yes    bool   `group:"many" help:"Do it. Without, it is a dry run, and you are asked on a terminal."`
	Run    string `group:"many" help:"Go on with the run of this name, which was cut short."`
}

// plan is what a dry run prints: with the first of the selected consumers.
type plan struct {
	Run      string        `json:"run"`
	Action   string        `json:"action"`
	Rate     int           `json:"rate"`
	Selected int           `json:"selected"`
	First    []bulk.Target `json:"first"`
}

// text is the plan for people; when says whether it is done.
func (p plan) text(when string) string {
	text := fmt.Sprintf("%s "+when+"\n", p.Action, count(p.Selected, "consumer", "consumers"), p.Rate)
	for _, one := range p.First {
		at, failed := one.Queue.String(), ""
		if one.Seq != nil && one.Error != "" {
			at, failed = at+"@"+known(one.Seq), "\t"+one.Error.String()
		}
		text += fmt.Sprintf("  %s\t%s%s\n", at, one.Consumer, failed)
	}
	if p.Selected > len(p.First) {
		text += "  …\n"
	}
	return text
}

func counts(r bulk.Report) string {
	return fmt.Sprintf("%s of %s: %d done, %d done already, %d changed meanwhile, %d failed",
		r.Action, count(r.Selected, "consumer", "consumers"), r.Done, r.Already, r.Changed, r.Failed)
}

func reportText(r bulk.Report) string {
	text := counts(r) + "\n"
	for _, e := range r.Exceptions {
		what := "changed"
		if e.Failed {
			what = "failed"
		}
		text += fmt.Sprintf("  %s\t%s\t%s: %s\n", e.Queue, e.Consumer, what, e.Why)
	}
	if more := r.Changed + r.Failed - len(r.Exceptions); more > 0 {
		text += fmt.Sprintf("  and %d more\n", more)
	}
	return text
}

func (m many) request(action, reason, start string) (bulk.Request, error) {
	r := bulk.Request{
		Action: action, Start: start, Reason: reason, Consumer: m.Named, State: m.State, Prefix: m.Prefix,
		Error: m.Error, Since: m.Since, Run: m.Run,
	}
	if m.Rate != nil {
		if r.Rate = *m.Rate; r.Rate == 0 {
			return r, usageError("--rate is 0: it must be from 1 to 1000 a second")
		}
	}
	if wrong, is := errors.AsType[*invalid.Error](r.Validate()); is {
		return r, usageError("--" + wrong.Field + " " + wrong.Problem)
	}
	return r, nil
}

// actOnMany shows the consumers that an action would be done to, and does it.
func (s *session) actOnMany(action, reason, start string, m many) error {
	request, err := m.request(action, reason, start)
	if err != nil {
		return err
	}
	api, err := client.Open(s.access())
	if err != nil {
		return err
	}
	shown := s.progress()
	run, err := bulk.Look(s.ctx, api, request, func(n int) {
		shown.say(fmt.Sprintf("looking: %d found", n))
	})
	shown.end()
	switch {
	case s.ctx.Err() != nil:
		return errors.New("interrupted: nothing is done")
	case err != nil:
		return err
	}
	fmt.Fprint(s.errOut, printable.Lines(run.LeftOut))
	first := run.Selected[:min(len(run.Selected), 20)]
	p := plan{run.Name, action, run.Rate, len(run.Selected), first}
	if p.Selected == 0 {
		if other := s.otherOf("consumer", m.Named, client.Query("limit", "100")); other != "" {
			fmt.Fprintf(s.errOut, "did you mean --consumer %s?\n", printable.Text(other))
		}
		kind := "consumer"
		if request.State != "" {
			kind = "consumer in the state " + request.State // --state names another
		}
		return s.print(p, "%s: no %s is like that, and nothing is done\n", action, kind)
	}
	when := "would be done to %s, %d a second, and is not done yet"
	if m.Yes {
		when = "is done to %s, %d a second, as run " + run.Name
	}
	if err := s.print(p, "%s", p.text(when)); err != nil {
		return err
	}
	if !m.Yes {
		s.sayRefusals(p, start)
		if !s.agreed() {
			_, err := fmt.Fprintln(s.errOut, "nothing is done: --yes does it")
			return err
		}
	}
	shown = s.progress()
	report := run.Do(s.ctx, func(r bulk.Report) { shown.say(counts(r)) })
	shown.end()
	if err := s.print(report, "%s", reportText(report)); err != nil || report.Whole() {
		return err
	}
	why := cmp.Or(report.Stopped, "not all was done")
	return fmt.Errorf("%s; to go on: the same command with --run %s", why, run.Name)
}

// sayRefusals says which of the queues that are shown would refuse to set a consumer to a place. It
// does not know whether messages that a queue had are still stored. 1 request for each queue.
func (s *session) sayRefusals(p plan, start string) {
	place, err := strconv.ParseInt(start, 10, 64)
	if err != nil {
		return // first, latest, or no place
	}
	seen := map[printable.Name]bool{}
	for _, one := range p.First {
		if seen[one.Queue] {
			continue
		}
		seen[one.Queue] = true
		var q queue
		if _, err := s.get("/queues", url.Values{"queue": {string(one.Queue)}}, &q); err != nil {
			fmt.Fprintf(s.errOut, "%s: %v\n", one.Queue, err)
			continue
		}
		first, position := int64(q.First), int64(q.Position)
		switch refused := one.Queue.String() + ": would be refused: --start is " + start; {
		case place > position+1:
			fmt.Fprintf(s.errOut, "%s, and the next message to come is %d\n", refused, position+1)
		case place < first:
			fmt.Fprintf(s.errOut, "%s, and the queue's first seq is %d\n", refused, first)
		}
	}
}

// agreed asks the person at the terminal. An interrupt is a no.
func (s *session) agreed() bool {
	if !s.asks {
		return false
	}
	fmt.Fprint(s.errOut, "Do it? (yes/no) ")
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(s.in).ReadString('\n')
		said <- line
	}()
	select {
	case line := <-said:
		return strings.EqualFold(strings.TrimSpace(line), "yes")
	case <-s.ctx.Done():
		fmt.Fprintln(s.errOut)
		return false
	}
}
