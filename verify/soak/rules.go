package main

import (
	"fmt"
	"slices"
	"time"
)

// rule says what is wrong with a message that comes now, or that it is stale.
type rule func(p *progress, o output) (problem string, stale bool)

// fenced is the rule of functions: each claim's messages one after the other,
// from at most one behind the highest seq; a lower token is that of a claim
// that is over, and is dropped by a consumer that compares tokens.
func fenced(p *progress, o output) (problem string, stale bool) {
	switch {
	case o.token < p.token:
		return "", true
	case o.token == p.token && o.seq != p.last+1:
		return fmt.Sprintf("under the same token %d was due", p.last+1), false
	case o.token > p.token && o.seq > p.position+1:
		return fmt.Sprintf("%d was due", p.position+1), false
	}
	return "", false
}

// remembered is how long SQS and SNS drop repeats.
const remembered = 5 * time.Minute

// queued is the rule of FIFO queues and topics: one after the other, and a
// repeat only when it is too late for them to drop it, under a higher token.
func queued(p *progress, o output) (problem string, stale bool) {
	first, again := p.seen[o.seq]
	switch {
	case again && o.at.Sub(first.at) < remembered:
		return fmt.Sprintf("came again after %s, by another deduplication id", o.at.Sub(first.at).Round(time.Millisecond)), false
	case again && o.token <= slices.Max(first.tokens):
		return "came again, and the token does not tell", false
	case !again && o.seq != p.position+1:
		return fmt.Sprintf("%d was due", p.position+1), false
	}
	return "", false
}

// unordered is the rule of event buses: any order, and a repeat under another
// token.
func unordered(p *progress, o output) (problem string, stale bool) {
	if slices.Contains(p.seen[o.seq].tokens, o.token) {
		return "came again under the same token", false
	}
	return "", false
}
