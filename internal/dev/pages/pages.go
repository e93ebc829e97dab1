// Package pages renews parts of pages: each stands between two lines that say where it begins and
// ends.
package pages

import (
	"fmt"
	"os"
	"strings"
)

// Part is what stands in the file at Path between two lines, of which the first is there once.
type Part struct{ Path, Begins, Ends string }

// Named is the part of a file below the comment with this name.
func Named(path, name string) Part {
	return Part{Path: path, Begins: "<!-- " + name + " -->\n", Ends: "<!-- end -->\n"}
}

// Table is a table in Markdown.
func Table(head []string, rows ...[]string) string {
	text := line(head) + strings.Repeat("|---", len(head)) + "|\n"
	for _, cells := range rows {
		text += line(cells)
	}
	return text
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// Write puts a text in the place of the part.
func (p Part) Write(text string) error {
	before, _, after, err := p.split()
	if err != nil {
		return err
	}
	return os.WriteFile(p.Path, []byte(before+p.Begins+text+p.Ends+after), 0o644)
}

// Renew writes a text in the place of the part, or reports where the part is another one, and what
// writes it.
func (p Part) Renew(text, command string, write bool) error {
	if write {
		return p.Write(text)
	}
	_, part, _, err := p.split()
	if err == nil && part != text {
		err = fmt.Errorf("%s is not what is counted now (%s writes it):\n%s%s", p.Path,
			command, p.Begins, text)
	}
	return err
}

func (p Part) split() (before, part, after string, err error) {
	text, err := os.ReadFile(p.Path)
	if err != nil {
		return "", "", "", err
	}
	before, rest, begun := strings.Cut(string(text), p.Begins)
	part, after, ended := strings.Cut(rest, p.Ends)
	if !begun || !ended || strings.Contains(rest, p.Begins) {
		return "", "", "", fmt.Errorf("%s must have the line %q, once, and %q behind it", p.Path,
			p.Begins, p.Ends)
	}
	return before, part, after, nil
}
