package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// The codes for a terminal, as all of today's understand it.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // another screen than the shell's, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeOfLines = "\x1b[H"
	restOfLine  = "\x1b[K\r\n" // clears what is behind a line, and goes to the next
	restOfAll   = "\x1b[J"
)

// screen is a terminal that is drawn on as a whole. Its owner must call leave, whatever happens.
type screen struct {
	out   *os.File
	leave func() error
	// keys are what is typed, a byte each; nil where no terminal is typed on.
	keys chan byte
}

// openScreen takes a terminal. Keys come one by one, and unseen, where somebody can type them;
// Ctrl-C is one of them then, and no signal.
func openScreen(in, out *os.File) (*screen, error) {
	sc := &screen{out: out}
	restore := func() error { return nil }
	if isTerminal(in) {
		before, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, fmt.Errorf("the terminal: %w", err)
		}
		restore = func() error { return term.Restore(int(in.Fd()), before) }
		sc.keys = make(chan byte)
		go sc.read(in)
	}
	sc.leave = func() error {
		_, err := out.WriteString(leaveScreen)
		return errors.Join(err, restore())
	}
	if _, err := out.WriteString(enterScreen); err != nil {
		return nil, errors.Join(err, sc.leave())
	}
	return sc, nil
}

// read sends what is typed, until there is no more. Nothing ends it that waits for a key: the
// process does.
func (sc *screen) read(in *os.File) {
	key := make([]byte, 1)
	for {
		if n, err := in.Read(key); n == 0 || err != nil {
			close(sc.keys)
			return
		}
		sc.keys <- key[0]
	}
}

// size is how many columns and lines there are.
func (sc *screen) size() size {
	columns, lines, err := term.GetSize(int(sc.out.Fd()))
	if err != nil || columns < 1 || lines < 1 {
		return size{plainColumns, plainLines}
	}
	return size{columns, lines}
}

// size is that of a terminal.
type size struct{ columns, lines int }

// plainLines is how many lines a terminal has that does not say it.
const plainLines = 24

// draw shows lines, in place of those before; what does not fit is cut.
func (sc *screen) draw(lines []string, of size) error {
	var frame strings.Builder
	frame.WriteString(homeOfLines)
	for i, line := range lines[:min(len(lines), of.lines)] {
		if i > 0 {
			frame.WriteString(restOfLine)
		}
		frame.WriteString(text.Snip(line, of.columns, "…"))
	}
	frame.WriteString("\x1b[K" + restOfAll)
	_, err := sc.out.WriteString(frame.String())
	return err
}
