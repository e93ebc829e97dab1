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

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// putCommand puts messages.
type putCommand struct {
	File        string `arg:"" optional:"" help:"A file with a message a line; standard input where none is given." type:"existingfile"`
	Batch       int    `help:"Messages a call, 1 to 500." default:"25"`
	Concurrency int    `help:"Calls at once, 1 to 64. With 1, messages arrive in the order of the lines." default:"1"`
	Order       string `help:"Who numbers the messages: 'number', their producers, or 'arrival', the queue; then what the lines say of a seq is left out, and each needs an id." enum:"number,arrival" default:"number"`
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
	t := tally{outcomes: map[string]int{}}
	group, ctx := errgroup.WithContext(s.ctx)
	group.SetLimit(c.Concurrency)
	readErr := batches(in, c.Batch, func(batch []numbered) error {
		group.Go(func() error {
			messages := make([]json.RawMessage, len(batch))
			for i, line := range batch {
				if messages[i] = line.text; c.Order == "arrival" {
					var err error
					if messages[i], err = withoutSeq(line.text); err != nil {
						return fmt.Errorf("line %d%w", line.number, err)
					}
				}
			}
			results, err := api.Put(ctx, messages)
			t.add(batch, results)
			return inLines(err, batch)
		})
		return ctx.Err()
	})
	err = group.Wait()
	if err == nil {
		err = readErr
	}
	return errors.Join(t.print(s), err)
}

// withoutSeq is a message for a queue in arrival order. The error is put behind
// the line's number.
func withoutSeq(message json.RawMessage) (json.RawMessage, error) {
	members, err := strictjson.Members(message)
	if err != nil {
		return nil, fmt.Errorf(" %w", err)
	}
	if id, _ := strictjson.Take(members, "id"); id == nil || string(id) == `""` {
		return nil, errors.New(": id is missing: without a seq, a message is known by it")
	}
	return strictjson.Without(message, "seq")
}

// numbered is a line of the input.
type numbered struct {
	number int
	text   json.RawMessage
}

// tally is what became of the messages so far.
type tally struct {
	mu       sync.Mutex
	outcomes map[string]int
	total    int
	// refused are the messages that were not taken, by their lines.
	refused []string
}

func (t *tally) add(batch []numbered, results []client.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range results {
		outcome := outcomeOf(r)
		t.outcomes[outcome]++
		t.total++
		if r.Status >= 400 {
			t.refused = append(t.refused, fmt.Sprintf("line %d: %s: %s", batch[i].number, outcome, r.Detail))
		}
	}
}

// outcomeOf is what became of a message, in a word. The API has none for one
// that is not for its queue, nor for one whose fate it does not know.
func outcomeOf(r client.Outcome) string {
	switch {
	case r.Outcome != "":
		return r.Outcome
	case r.Status >= 500:
		return "unknown"
	}
	return "invalid"
}

// print prints what became of the messages. The error names those that were
// refused.
func (t *tally) print(s *session) error {
	var outcomes []string
	for _, outcome := range slices.Sorted(maps.Keys(t.outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%d %s", t.outcomes[outcome], outcome))
	}
	document, err := json.Marshal(map[string]any{"messages": t.total, "outcomes": t.outcomes})
	if err != nil {
		return err
	}
	text := count(t.total, "message", "messages")
	if len(outcomes) > 0 {
		text += ": " + strings.Join(outcomes, ", ")
	}
	if err := s.print(document, "%s\n", text); err != nil || len(t.refused) == 0 {
		return err
	}
	return errors.New(strings.Join(t.refused, "\n"))
}

// inLines is an error whose messages are named by the lines that they came in.
func inLines(err error, batch []numbered) error {
	var problem *client.Problem
	if !errors.As(err, &problem) || len(problem.Errors) == 0 {
		return err
	}
	f := problem.Errors[0]
	name, i, ok := f.Of("messages")
	if !ok || i >= len(batch) {
		return err
	}
	line := fmt.Sprintf("%d: line %d", problem.Status, batch[i].number)
	if name != "" {
		line += ": " + name
	}
	if f.Other != nil && *f.Other < len(batch) {
		return fmt.Errorf("%s is that of line %d, which is a different message", line, batch[*f.Other].number)
	}
	return fmt.Errorf("%s %s", line, f.Detail)
}

// batches reads a JSON document a line, and calls hand with batches of them, byte for
// byte. Empty lines are passed over.
func batches(in io.Reader, size int, hand func([]numbered) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var batch []numbered
	for number := 1; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return fmt.Errorf("line %d is not JSON", number)
		}
		if batch = append(batch, numbered{number, bytes.Clone(line)}); len(batch) == size {
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
