package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/list"

	"github.com/streamsort/streamsort/internal/fantree"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

// printChain prints what is known of a chain, and its tree.
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
	for _, at := range []struct {
		what string
		when time.Time
	}{{"created", c.CreatedAt}, {"deadline", c.Deadline}, {"last progress", c.ProgressAt}, {"ended", c.EndedAt}} {
		if !at.when.IsZero() {
			said = append(said, at.what+" "+clock.at(written(at.when)))
		}
	}
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
	if c.isPart() {
		text += "  a part of a fan: it ends an edge of the chain above it\n"
	}
	return text
}

// counted is how much of the chain is done.
func (c chain) counted() string {
	if c.Stamps > 0 {
		return count(c.Stamps, "stamp", "stamps")
	}
	return fmt.Sprintf("%d of %s ended", c.EdgesEnded, count(c.Edges, "edge", "edges"))
}

// barWidth is how many cells a bar has.
const barWidth = 20

// bar is how many of the edges have ended, as a picture. It is full only where all have.
func (c chain) bar() string {
	full := 0
	if c.Edges > 0 {
		full = int(min(c.EdgesEnded, c.Edges) * barWidth / c.Edges)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// branch adds a chain, and under it its parts.
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
