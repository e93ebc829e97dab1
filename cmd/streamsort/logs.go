package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/printable"
)

// logsCommand prints a function's log.
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
		if after = answer.Count; !c.Follow {
			return nil
		}
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}
