package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/list"
)

// printChain prints what is known of a chain, and its tree.
func (s *session) printChain(raw json.RawMessage, whole *part) error {
	if s.format != asText && s.format != asTable {
		return s.print(raw, "")
	}
	_, err := fmt.Fprintf(s.out, "%s%s\n", whole.about(s.clock), s.tree(whole))
	return err
}

// about says what is known of the chain itself, in lines.
func (c chain) about(clock clock) string {
	var said []string
	if !c.Created {
		said = append(said, "not created yet: operations came before it")
	}
	for _, at := range []struct{ what, when string }{
		{"created", c.CreatedAt}, {"deadline", c.Deadline}, {"last progress", c.ProgressAt}, {"ended", c.EndedAt},
	} {
		if at.when != "" {
			said = append(said, at.what+" "+clock.at(at.when))
		}
	}
	if c.EndedAt != "" {
		said = append(said, "took "+age(c.AgeSeconds))
	}
	if c.Idle != "" {
		said = append(said, "times out "+c.Idle+" after its last progress")
	}
	text := fmt.Sprintf("%s: %s, %s\n  %s\n", printable(c.Tag), c.State, c.counted(), strings.Join(said, ", "))
	if c.Reason != "" {
		text += "  reason: " + printable(c.Reason) + "\n"
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

// tree draws a chain and its parts.
func (s *session) tree(whole *part) string {
	w := list.NewWriter()
	style := list.StyleConnectedRounded
	style.CharItemSingle = "─" // the whole has nothing beside it
	w.SetStyle(style)
	s.branch(w, whole)
	return w.Render()
}

// branch adds a chain, and under it its parts.
func (s *session) branch(w list.Writer, p *part) {
	drawn := s.paint(p.State)
	if p.Stamps == 0 {
		drawn = p.bar() + " " + p.counted() + "  " + drawn
	} else {
		drawn = p.counted() + "  " + drawn
	}
	w.AppendItem(printable(p.Tag) + "  " + drawn)
	w.Indent()
	for _, one := range p.Parts {
		s.branch(w, one)
	}
	if p.More {
		w.AppendItem(fmt.Sprintf("… and perhaps more: at most %d parts are asked for", maxParts))
	}
	w.UnIndent()
}
