package main

import (
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"golang.org/x/term"

	"github.com/streamsort/streamsort/internal/printable"
)

// bar shows on a terminal how far something is, in a line that stays when it is over. The nil bar,
// where nobody watches, shows nothing.
type bar struct {
	writer  progress.Writer
	tracker *progress.Tracker
	ended   chan struct{}
}

// bar begins a bar. Without a total there is a text alone. Its owner must call end.
func (s *session) bar(text string, total int64, units progress.Units) *bar {
	if !s.terminal {
		return nil
	}
	b := &bar{
		writer: progress.NewWriter(), ended: make(chan struct{}),
		tracker: &progress.Tracker{Message: text, Total: total, Units: units, AutoStopDisabled: true},
	}
	style := progress.StyleBlocks
	style.Options.Separator, style.Options.DoneString, style.Options.ErrorString = "  ", "done", "stopped"
	style.Options.TimeInProgressPrecision, style.Options.TimeDonePrecision = time.Second, time.Second/10
	style.Visibility.Tracker, style.Visibility.Percentage, style.Visibility.Value = total > 0, total > 0, total > 0
	b.writer.SetStyle(style)
	b.writer.SetOutputWriter(s.errOut)
	b.writer.SetTerminalWidth(columnsOf(s.errOut))
	b.writer.AppendTracker(b.tracker)
	go func() {
		defer close(b.ended)
		b.writer.Render()
	}()
	return b
}

// columnsOf is how wide a terminal is; any other output has as many as a line of text usually has.
func columnsOf(out any) int {
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// say changes the text.
func (b *bar) say(text string) {
	if b != nil {
		b.tracker.UpdateMessage(printable.Text(text))
	}
}

// at is how much of the total there is.
func (b *bar) at(value int64) {
	if b != nil {
		b.tracker.SetValue(value)
	}
}

// reader counts what is read.
func (b *bar) reader(in io.Reader) io.Reader {
	if b == nil {
		return in
	}
	return counted{in, b}
}

// counted is an input whose bytes are counted by a bar.
type counted struct {
	io.Reader
	bar *bar
}

// Read implements io.Reader.
func (c counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.bar.tracker.Increment(int64(n))
	return n, err
}

// stopEvery is how often the line's end is asked for: it is not heard before the line has begun.
const stopEvery = 10 * time.Millisecond

// end shows the last state, and that all was done, or not.
func (b *bar) end(done bool) {
	if b == nil {
		return
	}
	if done {
		b.tracker.MarkAsDone()
	} else {
		b.tracker.MarkAsErrored()
	}
	for {
		b.writer.Stop()
		select {
		case <-b.ended:
			return
		case <-time.After(stopEvery):
		}
	}
}

// sizeOf is how many bytes an input has; 0 where nobody knows.
func sizeOf(in io.Reader) int64 {
	file, ok := in.(*os.File)
	if !ok {
		return 0
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}
