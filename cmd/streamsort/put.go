package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// putCommand puts messages.
type putCommand struct {
	File        string `arg:"" optional:"" help:"A file with a message a line; standard input where none is given." type:"existingfile"`
	Batch       int    `help:"Messages a call, 1 to 500." default:"25"`
	Concurrency int    `help:"Calls at once, 1 to 64. With 1, messages arrive in the order of the lines." default:"1"`
}

// maxLine is the longest line that is read: a body of 350 KB in base64 fits.
const maxLine = 1 << 20

// Run implements the verb.
func (c *putCommand) Run(s *session) error {
	if c.Batch < 1 || c.Batch > 500 {
		return fmt.Errorf("batch is %d: it must be from 1 to 500", c.Batch)
	}
	if c.Concurrency < 1 || c.Concurrency > 64 {
		return fmt.Errorf("concurrency is %d: it must be from 1 to 64", c.Concurrency)
	}
	in := s.in
	if c.File != "" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	api, err := s.client()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	outcomes, total := map[string]int{}, 0
	group, ctx := errgroup.WithContext(s.ctx)
	group.SetLimit(c.Concurrency)
	readErr := batches(in, c.Batch, func(messages []json.RawMessage) error {
		group.Go(func() error {
			results, err := api.Put(ctx, messages)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range results {
				outcomes[r.Outcome]++
				total++
			}
			return err
		})
		return ctx.Err()
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if readErr != nil {
		return readErr
	}
	var told []string
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		told = append(told, fmt.Sprintf("%d %s", outcomes[outcome], outcome))
	}
	document, err := json.Marshal(map[string]any{"messages": total, "outcomes": outcomes})
	if err != nil {
		return err
	}
	return s.print(document, "%d messages: %s\n", total, strings.Join(told, ", "))
}

// batches reads a JSON document a line, and hands them on in batches, byte for
// byte. Empty lines are passed over.
func batches(in io.Reader, size int, hand func([]json.RawMessage) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var batch []json.RawMessage
	for number := 1; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return fmt.Errorf("line %d is not JSON", number)
		}
		if batch = append(batch, bytes.Clone(line)); len(batch) == size {
			if err := hand(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line has more than %d bytes", maxLine)
	} else if err != nil {
		return err
	}
	if len(batch) > 0 {
		return hand(batch)
	}
	return nil
}
