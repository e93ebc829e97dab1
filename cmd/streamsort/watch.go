package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"
)

// The bounds of --every: a read costs something each time.
const (
	shortestWatch = 100 * time.Millisecond
	longestWatch  = time.Hour
)

// readFlags are those of each verb that only reads.
type readFlags struct {
	Every time.Duration `watch:"" help:"Read again so often (2s), until it is interrupted."`
}

// watchOf is how often the line says that its verb is to read again; 0 where it does not.
func watchOf(line *kong.Context) time.Duration {
	for _, flag := range line.Selected().Flags {
		if every, ok := flag.Target.Interface().(time.Duration); ok && flag.Tag.Has("watch") {
			return every
		}
	}
	return 0
}

// watched runs a verb again and again, until it fails or is interrupted. A terminal shows the
// latest alone; what is no terminal gets one after the other.
func (s *session) watched(every time.Duration, verb func(*session) error) error {
	switch {
	case every == 0:
		return verb(s)
	case every < shortestWatch || every > longestWatch:
		return usageError(fmt.Sprintf("--every is %v: it must be from %v to %v", every, shortestWatch, longestWatch))
	}
	for {
		var page bytes.Buffer
		once := *s
		once.out = &page
		err := verb(&once)
		if err != nil && !errors.As(err, new(unwell)) { // a look for how bad it is goes on
			return err
		}
		if isTerminal(s.out) && (s.format == asTable || s.format == asText) {
			fmt.Fprintf(s.out, "%severy %v, at %s; an interrupt ends it\n\n", clearScreen, every, time.Now().Format(time.TimeOnly))
		}
		if _, err := page.WriteTo(s.out); err != nil {
			return err
		}
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// clearScreen clears a terminal, and goes to its first line.
const clearScreen = "\x1b[H\x1b[2J"

// groups are the kinds of verbs and flags, in the order of the help.
var groups = kong.ExplicitGroups([]kong.Group{
	{Key: "look", Title: "Look:"},
	{Key: "feed", Title: "Put and read messages:"},
	{Key: "steer", Title: "Steer:"},
	{Key: "here", Title: "This machine:"},
	{Key: "many", Title: "Many consumers, instead of one:"},
	{Key: "everywhere", Title: "Everywhere:"},
})
