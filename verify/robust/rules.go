package main

import (
	"fmt"
	"slices"
	"time"
)

// rule says what is wrong with a message that comes now, or that it is stale.
type rule func(t *track, o output) (problem string, stale bool)

// fenced is the rule of functions: each claim's messages one after the other, from at most one
// behind the highest seq; a lower token is that of a claim that is over, and is dropped by a
// consumer that compares tokens.
func fenced(t *track, o output) (problem string, stale bool) {
	switch {
	case o.token < t.token:
		return "", true
	case o.token == t.token && o.seq != t.last+1:
		return fmt.Sprintf("under the same token %d was due", t.last+1), false
	case o.token > t.token && o.seq > t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	}
	return "", false
}

// unfailing is the rule of functions of which no process is killed or too slow: none is stale.
func unfailing(t *track, o output) (problem string, stale bool) {
	if problem, stale = fenced(t, o); stale {
		return fmt.Sprintf("its token is not above %d", t.token), false
	}
	return problem, false
}

// remembered is how long SQS and SNS drop repeats.
const remembered = 5 * time.Minute

// queued is the rule of FIFO queues and topics: one after the other, and a repeat only when it is
// too late for them to drop it, under a higher token.
func queued(t *track, o output) (problem string, stale bool) {
	first, again := t.seen[o.seq]
	switch {
	case again && o.at.Sub(first.at) < remembered:
		return fmt.Sprintf("came again after %s, by another deduplication id", o.at.Sub(first.at).Round(time.Millisecond)), false
	case again && o.token <= slices.Max(first.tokens):
		return "came again, and the token does not tell", false
	case !again && o.seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	}
	return "", false
}

// unordered is the rule of event buses: any order, and a repeat under another token.
func unordered(t *track, o output) (problem string, stale bool) {
	if slices.Contains(t.seen[o.seq].tokens, o.token) {
		return "came again under the same token", false
	}
	return "", false
}

// named is the rule of endpoints: one after the other, and a repeat under the same name and a
// higher token.
func named(t *track, o output) (problem string, stale bool) {
	first, again := t.seen[o.seq]
	switch {
	case !again && o.seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	case again && o.id != first.id:
		return fmt.Sprintf("came again under another id, %q after %q", o.id, first.id), false
	case again && o.token <= t.token:
		return fmt.Sprintf("came again under the token %d, after %d", o.token, t.token), false
	}
	return "", false
}

// once is the rule of a database, and of who tells a repeat by its attempt: one after the other,
// and again only as a later attempt, which is the token.
func once(t *track, o output) (problem string, stale bool) {
	_, again := t.seen[o.seq]
	switch {
	case !again && o.seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	case again && o.token < 2:
		return "came again, and not as a later attempt", false
	}
	return "", false
}
