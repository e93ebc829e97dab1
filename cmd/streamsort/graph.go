package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/guptarohit/asciigraph"
	"golang.org/x/term"

	"github.com/streamsort/streamsort/internal/printable"
)

// graphLasts is for how long a queue is drawn where nothing else is said.
const graphLasts = 30 * time.Second

// graph draws how fast a queue moves, and how far its consumers are behind.
func (c *topCommand) graph(s *session) error {
	lasts := graphLasts
	if c.For != nil {
		lasts = *c.For
	}
	switch {
	case lasts < 0:
		return usageError(fmt.Sprintf("--for is %v: it must be 0, until an interrupt, or more", lasts))
	case lasts > 0 && lasts < c.Every:
		return usageError(fmt.Sprintf("--for is %v, which is less than --every, %v: two looks are needed for a rate", lasts, c.Every))
	}
	g := &graph{s: s, columns: columnsOf(s.out), redraws: isTerminal(s.out) && s.drawn()}
	l := s.listing("at", "position", "messages a second", "lag")
	err := c.look(s, lasts, func(it *sample) error {
		if !s.drawn() {
			raw, err := json.Marshal(it)
			if err != nil {
				return err
			}
			return l.add(raw, "")
		}
		return g.add(it)
	})
	if !s.drawn() {
		return l.end("", err)
	}
	return g.end(err)
}

// drawn reports whether the output is a picture, not documents.
func (s *session) drawn() bool { return s.format == asText || s.format == asTable }

// look yields one sample after the other: as many as there are in the time, and one more, for a rate
// is between two. An interrupt ends it well.
func (c *topCommand) look(s *session, lasts time.Duration, hand func(*sample) error) error {
	ticker := time.NewTicker(c.Every)
	defer ticker.Stop()
	var before *sample
	for left := int64(lasts / c.Every); ; left-- {
		it, err := s.sample(c.Queue, before)
		if err == nil {
			err = hand(it)
		}
		if err != nil || lasts > 0 && left == 0 {
			return err
		}
		before = it
		select {
		case <-s.ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// graph is a picture of samples.
type graph struct {
	s       *session
	columns int
	redraws bool
	// rates and lags are the latest samples, of which a column of the picture shows one each; what is
	// not known is 0. last is the latest of all.
	rates, lags []float64
	last        *sample
}

// The size of the pictures.
const (
	plainColumns = 80 // of what is no terminal
	axisColumns  = 14 // what stands left of a picture
	graphRows    = 8
)

// columnsOf is how wide a terminal is; any other output has as many as a line of text usually has.
func columnsOf(out any) int {
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return plainColumns
}

// add takes a sample, and shows the picture anew where somebody looks at it.
func (g *graph) add(it *sample) error {
	g.last = it
	if it.PerSecond != nil {
		lag := 0.0
		if it.Lag != nil {
			lag = float64(*it.Lag)
		}
		width := max(g.columns-axisColumns, 10)
		g.rates, g.lags = latest(append(g.rates, *it.PerSecond), width), latest(append(g.lags, lag), width)
	}
	if !g.redraws {
		return nil
	}
	g.columns = columnsOf(g.s.out)
	_, err := fmt.Fprintf(g.s.out, "%s%s", clearScreen, g.picture())
	return err
}

// latest are the last n of the numbers.
func latest(numbers []float64, n int) []float64 { return numbers[max(0, len(numbers)-n):] }

// end prints the picture where it is not seen yet, and passes on why it ended.
func (g *graph) end(ended error) error {
	if exitOf(ended) != exitDone || g.redraws || g.last == nil {
		return ended
	}
	_, err := fmt.Fprint(g.s.out, g.picture())
	return err
}

// picture is both plots, and the last numbers under them.
func (g *graph) picture() string {
	name := printable.Text(g.last.Queue)
	if len(g.rates) == 0 {
		return fmt.Sprintf("%s: position %d; a rate is known after a second look\n", name, g.last.Position)
	}
	lag := "no consumer"
	if g.last.Lag != nil {
		lag = fmt.Sprintf("lag %d", *g.last.Lag)
	}
	text := plot(g.rates, name+": messages a second") + "\n\n"
	if g.last.Lag != nil {
		text += plot(g.lags, name+": the greatest lag of a consumer") + "\n\n"
	}
	return fmt.Sprintf("%sat %s: position %d, %.1f messages a second, %s\n",
		text, g.last.At.Format(time.TimeOnly), g.last.Position, g.rates[len(g.rates)-1], lag)
}

// plot draws numbers, a column each, on an axis that begins at 0 or below.
func plot(numbers []float64, caption string) string {
	precision := uint(0)
	if slices.Max(numbers) < 10*graphRows { // else rows would have the same number
		precision = 1
	}
	return asciigraph.Plot(numbers, asciigraph.Height(graphRows), asciigraph.LowerBound(0), asciigraph.UpperBound(1),
		asciigraph.Precision(precision), asciigraph.Caption(caption))
}
