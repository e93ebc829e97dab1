package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"
)

const (
	maxLine = 1 << 20 // the longest line that is read: a body of 350 KB in base64 fits
	// maxCall is how many bytes the lines of a call have at most. A function is handed them in an
	// event of 6 MB, as a string of JSON or in base64, which has a third more.
	maxCall = 4 << 20
	linger  = 200 * time.Millisecond // for which a line of a pipe waits for more that go with it
)

// numbered is a line of the input, or why it is missing.
type numbered struct {
	number int
	text   json.RawMessage
	err    error
}

// inEvent is how many bytes the line has in a string of JSON, and the comma behind it.
func (n numbered) inEvent() int {
	return len(n.text) + bytes.Count(n.text, []byte{'"'}) + bytes.Count(n.text, []byte{'\\'}) +
		bytes.Count(n.text, []byte{'\t'}) + 1
}

func lines(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// lingers is how long the lines of an input wait for more: those of a file, which come at once, for
// as long as it takes.
func lingers(in io.Reader) time.Duration {
	if _, ok := in.(*os.File); !ok || regularSize(in) >= 0 {
		return 0
	}
	return linger
}

// regularSize is the size of a regular file; -1 where it is not one.
func regularSize(in io.Reader) int64 {
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return -1
}

// readLines sends the lines of an input, until its end, or until nobody wants more.
func readLines(in io.Reader, to chan<- numbered, unwanted <-chan struct{}) {
	reader := bufio.NewReaderSize(in, maxLine+1)
	for number := 1; ; number++ {
		line, err := nextLine(reader)
		if number == 1 { // some editors begin a file so
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		select {
		case to <- numbered{number, bytes.Clone(line), err}:
		case <-unwanted:
			return
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// batches reads a JSON document a line, and calls hand with batches of them, byte for byte, that
// fit a call. Empty lines are passed over; refuse is called with those that are too long or not
// JSON, and its error ends the reading, with what was read before. Where linger is not 0, what was
// read is returned when it has waited so long for more.
func batches(in io.Reader, size int, linger time.Duration,
	refuse func(number int, why string) error, hand func([]numbered) error) error {
	lines, unwanted := make(chan numbered), make(chan struct{})
	defer close(unwanted)
	go readLines(in, lines, unwanted)
	b := batcher{size: size, hand: hand}
	var due <-chan time.Time
	for {
		switch {
		case len(b.batch) == 0:
			due = nil
		case due == nil && linger > 0:
			due = time.After(linger)
		}
		select {
		case <-due:
			if err := b.flush(); err != nil {
				return err
			}
		case line := <-lines:
			if errors.Is(line.err, io.EOF) {
				return b.flush()
			}
			if err := b.take(line, refuse); err != nil {
				return err
			}
		}
	}
}

// nextLine reads a line, without the spaces around it; it is gone with the next one. The error is
// [io.EOF] behind the last line, and [bufio.ErrBufferFull] for a line that does not fit the reader,
// which is passed over.
func nextLine(reader *bufio.Reader) ([]byte, error) {
	line, longer, err := reader.ReadLine()
	if !longer {
		return bytes.TrimSpace(line), err
	}
	for longer && err == nil {
		_, longer, err = reader.ReadLine()
	}
	return nil, bufio.ErrBufferFull
}

// batcher gathers lines to batches that fit a call.
type batcher struct {
	size  int
	hand  func([]numbered) error
	batch []numbered
	bytes int
}

// take adds a line, or has it refused. The error is why nothing behind it is wanted.
func (b *batcher) take(line numbered, refuse func(number int, why string) error) error {
	why := "is not JSON"
	switch {
	case errors.Is(line.err, bufio.ErrBufferFull):
		why = fmt.Sprintf("has more than %d bytes", maxLine)
	case line.err != nil:
		return line.err
	case len(line.text) == 0:
		return nil
	case !utf8.Valid(line.text):
		why = "is not valid UTF-8"
	case json.Valid(line.text):
		return b.add(line)
	}
	if refused := refuse(line.number, fmt.Sprintf("line %d %s", line.number, why)); refused != nil {
		return errors.Join(b.flush(), refused)
	}
	return nil
}

// add adds a line, and returns what is full by it.
func (b *batcher) add(line numbered) error {
	if b.bytes+line.inEvent() > maxCall {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.batch, b.bytes = append(b.batch, line), b.bytes+line.inEvent()
	if len(b.batch) == b.size {
		return b.flush()
	}
	return nil
}

func (b *batcher) flush() error {
	batch := b.batch
	if b.batch, b.bytes = nil, 0; len(batch) == 0 {
		return nil
	}
	return b.hand(batch)
}
