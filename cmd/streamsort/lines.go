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
// byte. Empty lines are passed over; refuse is called with those that are not JSON.
func batches(in io.Reader, size int, refuse func(number int, why string), hand func([]numbered) error) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	var batch []numbered
	for number := 1; scanner.Scan(); number++ {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			refuse(number, fmt.Sprintf("line %d is not JSON", number))
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
	if len(batch) > 0 {
		return hand(batch)
	}
	return nil
}
