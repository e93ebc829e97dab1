package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// entry is one count.
type entry struct {
	name  string
	value int
}

// sizes is the file of counts: what stands above them, the counts, and the reasons for those that
// rose.
type sizes struct {
	head    []string
	counts  []entry
	reasons []string
}

// parse reads a file of counts. A line is a comment (#), "name: value", or "+ reason".
func parse(text string) (sizes, error) {
	var s sizes
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		switch name, number, ok := strings.Cut(line, ": "); {
		case strings.HasPrefix(line, "+ "):
			s.reasons = append(s.reasons, line)
		case line == "":
		case strings.HasPrefix(line, "#"):
			s.head = append(s.head, line)
		case ok:
			value, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil || value < 0 {
				return sizes{}, fmt.Errorf("line %d: %q is not a count of 0 or more", i+1, number)
			}
			s.counts = append(s.counts, entry{name, value})
		default:
			return sizes{}, fmt.Errorf("line %d: want \"name: value\": it is %q", i+1, line)
		}
	}
	return s, nil
}

// value returns the count of a name: math.MinInt without one, so that a new count needs a reason
// like one that rose.
func (s sizes) value(name string) int {
	for _, c := range s.counts {
		if c.name == name {
			return c.value
		}
	}
	return math.MinInt
}

// compare prints a line for each count and returns the names of those that rose.
func (s sizes) compare(w io.Writer, now []entry) (rose []string) {
	for _, c := range now {
		before, mark := s.value(c.name), ""
		switch {
		case before == math.MinInt:
			mark, rose = "  new", append(rose, c.name)
		case c.value > before:
			mark, rose = fmt.Sprintf("  ROSE from %d", before), append(rose, c.name)
		case c.value < before:
			mark = fmt.Sprintf("  fell from %d", before)
		}
		fmt.Fprintf(w, "%8d  %s%s\n", c.value, c.name, mark)
	}
	return rose
}

// renew returns the text of the file with the counts of now. A reason is added where counts rose.
func (s sizes) renew(now []entry, rose []string, why string, at time.Time) string {
	var b strings.Builder
	for _, line := range s.head {
		fmt.Fprintln(&b, line)
	}
	b.WriteString("\n")
	for _, c := range now {
		fmt.Fprintf(&b, "%s: %d\n", c.name, c.value)
	}
	b.WriteString("\n")
	for _, line := range s.reasons {
		fmt.Fprintln(&b, line)
	}
	if len(rose) > 0 {
		fmt.Fprintf(&b, "+ %s %s: %s\n", at.Format(time.DateOnly), strings.Join(rose, "; "), why)
	}
	return b.String()
}
