package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/streamsort/streamsort/internal/client"
)

// tally is what became of the messages so far.
type tally struct {
	mu       sync.Mutex
	outcomes map[string]int
	total    int
	// refused are the lines that were not taken.
	refused []refusal
	// underWay are the lines that were put and not answered, the last of each batch by its first;
	// last is the last line that was stored, or may be.
	underWay map[int]int
	last     int
}

type refusal struct {
	line int
	error
}

func newTally() *tally { return &tally{outcomes: map[string]int{}, underWay: map[int]int{}} }

// refuse notes a line that was not taken, or the first one of a batch that was not.
func (t *tally) refuse(line int, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = append(t.refused, refusal{line, errors.New(why)})
}

func (t *tally) begin(batch []numbered) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay[batch[0].number] = batch[len(batch)-1].number
}

// end notes what became of a batch. Without results it is not known, unless nothing of it was
// stored.
func (t *tally) end(batch []numbered, results []client.Outcome, notStored bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if notStored || len(results) > 0 {
		delete(t.underWay, batch[0].number)
	} else {
		t.last = max(t.last, batch[len(batch)-1].number)
	}
	for i, r := range results {
		outcome := outcomeOf(r)
		t.outcomes[outcome]++
		t.total++
		line := lineOf(batch, i).number
		if r.Status < 400 || r.Status >= 500 || r.Outcome == "stale" {
			t.last = max(t.last, line)
		}
		if r.Status >= 400 {
			t.refused = append(t.refused,
				refusal{line, fmt.Errorf("line %d: %s: %s", line, outcome, r.Detail)})
		}
	}
}

// lineOf is the line that made the i-th message: where a line makes several, it is alone.
func lineOf(batch []numbered, i int) numbered { return batch[min(i, len(batch)-1)] }

// outcomeOf is what became of a message, in a word. The API has none for one that is not for its
// queue, nor for one whose fate it does not know.
func outcomeOf(r client.Outcome) string {
	switch {
	case r.Outcome != "":
		return r.Outcome
	case r.Status >= 500:
		return "unknown"
	case r.Code == "erased":
		return r.Code
	}
	return "invalid"
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var outcomes []string
	for _, outcome := range slices.Sorted(maps.Keys(t.outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%d %s", t.outcomes[outcome], outcome))
	}
	text := count(t.total, "message", "messages")
	if len(outcomes) > 0 {
		text += ": " + strings.Join(outcomes, ", ")
	}
	return text
}

func (t *tally) print(s *session) error {
	return s.print(map[string]any{"messages": t.total, "outcomes": t.outcomes}, "%s\n", t)
}

// refusals is the error that names the lines that were not taken, in their order; nil where all
// were.
func (t *tally) refusals() error {
	t.mu.Lock() // after an interrupt, lines may still be read
	defer t.mu.Unlock()
	slices.SortStableFunc(t.refused, func(a, b refusal) int { return cmp.Compare(a.line, b.line) })
	var all []error
	for _, r := range t.refused {
		all = append(all, r)
	}
	return errors.Join(all...)
}

// rest is an error that stopped the put, with what is known of the lines that have no result; nil
// where nothing stopped it.
func (t *tally) rest(stopped error) error {
	if stopped == nil {
		return nil
	}
	text := "nothing"
	if t.last > 0 {
		text = fmt.Sprintf("nothing after line %d", t.last)
	}
	text += " was stored"
	for _, first := range slices.Sorted(maps.Keys(t.underWay)) {
		text += fmt.Sprintf("; there is no answer about %s, which may be stored",
			lines(first, t.underWay[first]))
	}
	return fmt.Errorf("%w\n%s; %s the same again: what is stored is recognised", stopped, text,
		before(stopped))
}

// before is what to do about an error that stopped the put, before the same is put again.
func before(stopped error) string {
	var left *client.NotTakenError
	switch {
	case errors.As(stopped, &left) && left.First.MaxAhead > 0:
		return "raise maxAhead, or put the missing messages first, and then"
	case errors.As(stopped, new(*stopError)):
		return "fix that line, and put"
	}
	return "put"
}
