package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/list"

	"github.com/streamsort/streamsort/internal/fantree"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/tenant"
)

type chainCommand struct {
	readFlags
	Tag   string `arg:"" optional:"" help:"The chain's tag. Without one, chains are listed."`
	State string `help:"List those in this state: open, failed, timed-out; open ones where it is not given." enum:",open,failed,timed-out" default:""`
	listFlags
	ID   string `help:"The id that the chain was created with, where it has one: its first edge is known by it, and the parts of a fan by that."`
	Edge string `help:"The token of the edge that was fanned, where that is not the chain's first. With a tenant's token it is always needed to see parts."`
}

type chain fantree.Chain

// maxParts is how many parts of a fan are asked for: each is a request of its own.
const maxParts = 64

func (c *chainCommand) Run(s *session) error {
	switch {
	case c.Tag == "" && c.ID+c.Edge != "":
		return usageError("--id and --edge are for one chain: give its tag")
	case c.Tag == "":
		return s.chains(cmp.Or(c.State, "open"), c.listFlags)
	case c.State != "" || c.listFlags != (listFlags{}):
		return usageError("--state, --prefix and --limit are for a list: without a tag")
	case c.Edge != "" && c.ID != "":
		return usageError("--id and --edge are both given: each says which edge was fanned, so give one")
	}
	fanned, err := fantree.Fanned(c.Tag, c.ID, c.Edge)
	if err != nil {
		return usageError("--" + err.Error())
	}
	whole, err := fantree.Read(func(tag string) (json.RawMessage, error) {
		var answer struct{ Chain json.RawMessage }
		_, err := s.get("/chains", url.Values{"tag": {tag}}, &answer)
		return answer.Chain, err
	}, c.Tag, fanned, maxParts)
	if err != nil {
		return err
	}
	return s.printChain(whole)
}

func (s *session) printChain(whole *fantree.Node) error {
	if s.format != asText && s.format != asTable {
		return s.print(whole, "")
	}
	w := list.NewWriter()
	style := list.StyleConnectedRounded
	style.CharItemSingle = "─" // the whole has nothing beside it
	w.SetStyle(style)
	s.branch(w, whole)
	_, err := fmt.Fprintf(s.out, "%s%s\n", chain(whole.Chain).about(s.clock), w.Render())
	return err
}

// about says what is known of the chain itself, in lines.
func (c chain) about(clock clock) string {
	var said []string
	if !c.Created {
		said = append(said, "not created yet: operations came before it")
	}
	say := func(what string, when time.Time) {
		if !when.IsZero() {
			said = append(said, what+" "+clock.at(when))
		}
	}
	say("created", c.CreatedAt)
	say("deadline", c.Deadline)
	say("last progress", c.ProgressAt)
	say("ended", c.EndedAt)
	if !c.EndedAt.IsZero() {
		said = append(said, "took "+age(c.AgeSeconds))
	}
	if c.Idle != "" {
		said = append(said, "times out "+view.Duration(c.Idle)+" after its last progress")
	}
	text := fmt.Sprintf("%s: %s, %s\n  %s\n", c.Tag, c.State, c.counted(), strings.Join(said, ", "))
	if c.Reason != "" {
		text += "  reason: " + printable.Text(c.Reason) + "\n"
	}
	if _, name := tenant.Split(string(c.Tag)); strings.HasPrefix(name, "fan.") {
		text += "  a part of a fan: it ends an edge of the chain above it\n"
	}
	return text
}

func (c chain) counted() string {
	if c.Stamps > 0 {
		return count(c.Stamps, "stamp", "stamps")
	}
	return fmt.Sprintf("%d of %s ended", c.EdgesEnded, count(c.Edges, "edge", "edges"))
}

// bar is how many of the edges have ended, as a picture. It is full only where all have.
func (c chain) bar() string {
	const barWidth = 20
	full := 0
	if c.Edges > 0 {
		full = int(min(c.EdgesEnded, c.Edges) * barWidth / c.Edges)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

func (s *session) branch(w list.Writer, n *fantree.Node) {
	c := chain(n.Chain)
	drawn := c.counted() + "  " + s.paint(c.State)
	if c.Stamps == 0 {
		drawn = c.bar() + " " + drawn
	}
	w.AppendItem(c.Tag.String() + "  " + drawn)
	w.Indent()
	defer w.UnIndent()
	for _, one := range n.Parts {
		s.branch(w, one)
	}
	if n.More {
		w.AppendItem(fmt.Sprintf("… and perhaps more: at most %d parts are asked for", maxParts))
	}
}
