package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read: a body of 350 KB in base64 fits.
const maxLine = 1 << 20

// numbered is a line of the input.
type numbered struct {
	number int
	text   json.RawMessage
}

// lines names some lines of the input.
func lines(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// batches reads a JSON document a line, and calls hand with batches of them, byte for
// byte. Empty lines are passed over; refuse is called with those that are not JSON, and
// its error ends the reading, with what was read before.
func batches(in io.Reader, size int, refuse func(number int, why string) error, hand func([]numbered) error) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	var batch []numbered
	for number := 1; scanner.Scan(); number++ {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			if stop := refuse(number, fmt.Sprintf("line %d is not JSON", number)); stop != nil {
				return cmp.Or(handSome(batch, hand), stop)
			}
			continue
		}
		if batch = append(batch, numbered{number, bytes.Clone(line)}); len(batch) == size {
			if err := hand(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line has more than %d bytes", maxLine)
	} else if err != nil {
		return err
	}
	return handSome(batch, hand)
}

// handSome calls hand with a batch that is not empty.
func handSome(batch []numbered, hand func([]numbered) error) error {
	if len(batch) == 0 {
		return nil
	}
	return hand(batch)
}
