package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

type tailCommand struct {
	Queue    string `arg:"" help:"The queue's name."`
	From     string `help:"Begin at this seq; at the queue's first where nothing is given." placeholder:"SEQ"`
	Consumer string `help:"Begin with what this consumer has not had."`
	Follow   bool   `short:"f" help:"Go on as the queue moves, until it is interrupted; a queue that is not there yet is waited for."`
}

const followEvery = time.Second

// place is the seq behind which to begin; empty for the queue's first.
func (c *tailCommand) place(s *session) (string, error) {
	switch {
	case c.From != "" && c.Consumer != "":
		return "", usageError("--from and --consumer each say where to begin: give one")
	case c.Consumer == "":
		from := int64(0)
		err := seqOf("--from", c.From, &from)
		return strings.TrimPrefix(strconv.FormatInt(from-1, 10), "-1"), err // -1: before the seq 0
	}
	after, err := "", error(nil)
	query := url.Values{"queue": {c.Queue}, "consumer": {c.Consumer}}
	for it := range each[consumer](s, "/consumers", query, "consumers", &err) {
		after = known(it.Delivered)
	}
	return strings.TrimPrefix(after, "-1"), err
}

func (c *tailCommand) Run(s *session) error {
	after, err := c.place(s)
	if err != nil {
		return err
	}
	warned := false
	for {
		query := url.Values{"queue": {c.Queue}}
		if after != "" {
			query.Set("after", after)
		}
		var page struct {
			Last, Position jsonseq.Seq
			Messages       []json.RawMessage
		}
		_, err := s.get("/messages", query, &page)
		// with --follow, a queue that is not there is waited for
		if err != nil && (!c.Follow || client.CodeOf(err) != "no-queue") {
			return err
		}
		for _, raw := range page.Messages {
			var m message
			err := json.Unmarshal(raw, &m)
			if err == nil {
				err = s.print(raw, "%s\n", m.text())
			}
			if err != nil {
				return err
			}
		}
		if len(page.Messages) > 0 {
			after = known(&page.Last)
		}
		if page.Last != page.Position && len(page.Messages) > 0 {
			continue
		}
		if !c.Follow {
			return nil
		}
		if !warned {
			fmt.Fprintf(s.errOut, "streamsort: waiting for more of %s; an interrupt ends it\n",
				printable.Text(c.Queue))
			warned = true
		}
		if s.over(followEvery) {
			return nil
		}
	}
}

type message view.Message

// text is the message in a line: its seq, its key, its id and its body.
func (m message) text() string {
	body := string(m.Body)
	switch {
	case m.Tombstone != "":
		body = "(" + m.Tombstone + ")"
	case m.BodyBase64 != "":
		// JSON comes in base64 where its white space is kept: a line has none.
		var line bytes.Buffer
		if body = "base64 " + m.BodyBase64; json.Compact(&line, []byte(view.Message(m).Text())) == nil {
			body = line.String()
		}
	}
	id := m.ID.String()
	if len(m.Key) > 0 {
		id = printable.Text(string(m.Key)) + "\t" + id
		if m.Late && m.Tombstone == "" {
			id += " (late)"
		}
		if m.Unlinked {
			id += " (unlinked)"
		}
	}
	return fmt.Sprintf("%d\t%s\t%s", m.Seq, id, body)
}

type logsCommand struct {
	Function string `arg:"" help:"The function, as a template or an app calls it, or the consumer whose function it is."`
	Follow   bool   `short:"f" help:"Go on as it logs, until it is interrupted."`
}

func (c *logsCommand) Run(s *session) error {
	for after := 0; ; {
		var answer struct {
			Lines []string
			Count int
		}
		query := url.Values{"function": {c.Function}, "lines": {"1000"}, "after": {strconv.Itoa(after)}}
		if _, err := s.get("/_streamsort/logs", query, &answer); err != nil {
			return err
		}
		for _, line := range answer.Lines {
			fmt.Fprintln(s.out, printable.Lines(line))
		}
		if after = answer.Count; !c.Follow || s.over(followEvery) {
			return nil
		}
	}
}
