// Package producertest is what every producer has to do, in any language, as a suite of cases: what
// is sent, what goes wrong, and what comes of it. [Run] runs it on a producer in Go, and
// TestProducers of the folder clients on a program in any language, by its standard input and
// output: docs/how-to/producers.md.
//
// A case is served by a small API with faults, which also holds every request to the rules of
// docs/how-to/producers.md.
package producertest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"
)

// Case is one line of cases.ndjson.
type Case struct {
	// Name is the case's; Why says what it is for.
	Name string `json:"name"`
	Why  string `json:"why"`
	// Send are the messages in the order in which they are sent, as POST /messages takes them. With
	// Count there are so many of numbered queues instead, with seqs from 1: of Queue, or, in turn,
	// of as many as Queues says, whose names are Queue and a number from 0.
	Send   []json.RawMessage `json:"send"`
	Count  int               `json:"count"`
	Queue  string            `json:"queue"`
	Queues int               `json:"queues"`
	// Faults are what goes wrong. The first that applies to a request counts, but that all of
	// "result" do.
	Faults []Fault `json:"faults"`
	// Outcomes are how many messages have each outcome, or status where they are refused; where one
	// is −1, the sum of those is what the others leave.
	Outcomes map[string]int `json:"outcomes"`
	// Least and Most are how many requests there are; 0 says nothing. Pause is how long the queue
	// waits at least before it goes again after a failure of a request, in milliseconds.
	Least int `json:"least"`
	Most  int `json:"most"`
	Pause int `json:"pause"`
}

// Fault is something that goes wrong.
type Fault struct {
	// When: with the request of this number, from 1; with every request whose number is a multiple
	// of Every; with one that has more than Above messages; with one that has this message
	// (queue/seq or queue/id), the first Times times, or always; and until another one is stored.
	Request int    `json:"request"`
	Every   int    `json:"every"`
	Above   int    `json:"above"`
	Message string `json:"message"`
	Times   int    `json:"times"`
	Until   string `json:"until"`
	// Do is what is done: "lose" stores all and cuts the connection; "half" stores all, and cuts it
	// in the middle of the answer; "cut" cuts it and stores nothing; "hang" stores nothing and does
	// not answer; "slow" answers after Milliseconds; "answer" stores nothing and answers with
	// Status; "garbage" stores nothing and answers 200 with what is no JSON; "invalid" stores
	// nothing and answers 400 with the message's place; "result" does not store the message, or
	// without one all, and gives it a result with Status and Outcome.
	Do           string `json:"do"`
	Status       int    `json:"status"`
	Outcome      string `json:"outcome"`
	RetryAfter   int    `json:"retryAfter"`
	Milliseconds int    `json:"milliseconds"`
}

// The settings that a producer has in all cases. Everything else is as it is by default.
const (
	RequestTimeout = 2 * time.Second
	MinBackOff     = 20 * time.Millisecond
	MaxBackOff     = 200 * time.Millisecond
)

const patience = 30 * time.Second

//go:embed cases.ndjson
var cases []byte

// Cases are all cases.
func Cases() ([]Case, error) {
	var all []Case
	lines := bufio.NewScanner(bytes.NewReader(cases))
	for n := 1; lines.Scan(); n++ {
		reader := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		reader.DisallowUnknownFields()
		var c Case
		if err := reader.Decode(&c); err != nil {
			return nil, fmt.Errorf("cases.ndjson, line %d: %w", n, err)
		}
		all = append(all, c)
	}
	return all, lines.Err()
}

func (c Case) messages() []json.RawMessage {
	if c.Count == 0 {
		return c.Send
	}
	all := make([]json.RawMessage, c.Count)
	for i := range all {
		queue, seq := c.Queue, i+1
		if c.Queues > 0 {
			queue, seq = fmt.Sprint(c.Queue, i%c.Queues), i/c.Queues+1
		}
		all[i] = fmt.Appendf(nil, `{"queue":%q,"seq":%d,"body":{"n":%d}}`, queue, seq, i)
	}
	return all
}

func (c Case) check(outcomes []string) error {
	got := map[string]int{}
	for _, o := range outcomes {
		got[o]++
	}
	rest, open := len(c.messages()), false
	for name, n := range c.Outcomes {
		switch {
		case n < 0:
			open = true
			rest -= got[name]
		case got[name] != n:
			return fmt.Errorf("outcomes %v, want %v", got, c.Outcomes)
		default:
			rest -= n
		}
	}
	if rest != 0 || len(outcomes) != len(c.messages()) {
		return fmt.Errorf("outcomes %v of %d messages, want %v (any: %t)", got, len(c.messages()),
			c.Outcomes, open)
	}
	return nil
}
