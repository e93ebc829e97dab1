package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read: a body of 350 KB in base64 fits.
const maxLine = 1 << 20

// maxCall is how many bytes the lines of a call have at most. A function is handed them
// in an event of 6 MB, as a string of JSON or in base64, which has a third more.
const maxCall = 4 << 20

// numbered is a line of the input.
type numbered struct {
	number int
	text   json.RawMessage
}

// inEvent is how many bytes the line has in a string of JSON, and the comma behind it.
func (n numbered) inEvent() int {
	return len(n.text) + bytes.Count(n.text, []byte{'"'}) + bytes.Count(n.text, []byte{'\\'}) + bytes.Count(n.text, []byte{'\t'}) + 1
}

// lines names some lines of the input.
func lines(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// batches reads a JSON document a line, and calls hand with batches of them, byte for
// byte, that fit a call. Empty lines are passed over; refuse is called with those that are
// too long or not JSON, and its error ends the reading, with what was read before.
func batches(in io.Reader, size int, refuse func(number int, why string) error, hand func([]numbered) error) error {
	reader := bufio.NewReaderSize(in, maxLine+1)
	b := batcher{size: size, hand: hand}
	for number := 1; ; number++ {
		line, err := nextLine(reader)
		switch {
		case errors.Is(err, io.EOF):
			return b.flush()
		case errors.Is(err, bufio.ErrBufferFull):
			err = refuse(number, fmt.Sprintf("line %d has more than %d bytes", number, maxLine))
		case err != nil:
			return err
		case len(line) == 0:
			continue
		case !json.Valid(line):
			err = refuse(number, fmt.Sprintf("line %d is not JSON", number))
		default:
			if err := b.add(numbered{number, bytes.Clone(line)}); err != nil {
				return err
			}
		}
		if err != nil {
			return errors.Join(b.flush(), err)
		}
	}
}

// nextLine reads a line, without the spaces around it; it is gone with the next one. The
// error is [io.EOF] behind the last line, and [bufio.ErrBufferFull] for a line that does
// not fit the reader, which is passed over.
func nextLine(reader *bufio.Reader) ([]byte, error) {
	line, err := reader.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = reader.ReadSlice('\n')
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = bufio.ErrBufferFull
		}
		return nil, err
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil // the last line has no end
	}
	return bytes.TrimSpace(line), err
}

// batcher gathers lines to batches that fit a call.
type batcher struct {
	size  int
	hand  func([]numbered) error
	batch []numbered
	bytes int
}

// add adds a line, and hands on what is full by it.
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

// flush hands on what there is.
func (b *batcher) flush() error {
	if len(b.batch) == 0 {
		return nil
	}
	batch := b.batch
	b.batch, b.bytes = nil, 0
	return b.hand(batch)
}
