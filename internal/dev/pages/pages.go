// Package pages renews parts of pages: each stands between two lines that say where it begins and ends.
package pages

import (
	"fmt"
	"os"
	"strings"
)

// Part is what stands in the file at Path between two lines, of which the first is there once.
type Part struct{ Path, Begins, Ends string }

// Read returns the part.
func (p Part) Read() (string, error) {
	_, part, _, err := p.split()
	return part, err
}

// Write puts a text in the place of the part.
func (p Part) Write(text string) error {
	before, _, after, err := p.split()
	if err != nil {
		return err
	}
	return os.WriteFile(p.Path, []byte(before+p.Begins+text+p.Ends+after), 0o644)
}

// Holds reports a part that is not a text, and says what writes it.
func (p Part) Holds(text, command string) error {
	part, err := p.Read()
	if err == nil && part != text {
		err = fmt.Errorf("%s is not what is counted now (%s writes it):\n%s%s", p.Path, command, p.Begins, text)
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
		return "", "", "", fmt.Errorf("%s must have the line %q, once, and %q behind it", p.Path, p.Begins, p.Ends)
	}
	return before, part, after, nil
}
