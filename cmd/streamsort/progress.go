package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/printable"
)

// progress shows on a terminal how far something is, in a line that goes when it ends. The nil
// progress, where nobody watches, shows nothing.
type progress struct {
	out   io.Writer
	input io.Reader
	size  int64 // of the input; 0 or -1 where nobody knows
	had   atomic.Int64
	mu    sync.Mutex
	shown time.Time
}

// clearLine goes to the beginning of a terminal's line, and clears it.
const clearLine = "\r\x1b[K"

// progress begins to show how far something is. Its owner must call end.
func (s *session) progress() *progress {
	if !s.terminal {
		return nil
	}
	return &progress{out: s.errOut}
}

// say shows a text, ten times a second at most, behind how much of the input was read.
func (p *progress) say(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.shown) < time.Second/10 {
		return
	}
	p.shown = time.Now()
	if p.size > 0 {
		text = fmt.Sprintf("%d %%  %s", min(p.had.Load()*100/p.size, 100), text)
	}
	line := []rune(printable.Text(text))
	fmt.Fprint(p.out, clearLine+string(line[:min(len(line), 79)]))
}

func (p *progress) end() {
	if p != nil {
		fmt.Fprint(p.out, clearLine)
	}
}

func (p *progress) reads(in io.Reader) io.Reader {
	if p == nil {
		return in
	}
	p.input, p.size = in, regularSize(in)
	return p
}

// Read implements io.Reader.
func (p *progress) Read(into []byte) (int, error) {
	n, err := p.input.Read(into)
	p.had.Add(int64(n))
	return n, err
}
