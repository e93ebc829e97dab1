package traffic

import (
	"fmt"
	"slices"
	"time"
)

// Rule says what is wrong with a message that comes now, or that it is stale.
type Rule func(t *track, o Output) (problem string, stale bool)

// Fenced is the rule of functions: each claim's messages one after the other, from at most one
// behind the highest seq; a lower token is that of a claim that is over, and is dropped by a
// consumer that compares tokens.
func Fenced(t *track, o Output) (problem string, stale bool) {
	switch {
	case o.Token < t.token:
		return "", true
	case o.Token == t.token && o.Seq != t.last+1:
		return fmt.Sprintf("under the same token %d was due", t.last+1), false
	case o.Token > t.token && o.Seq > t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	}
	return "", false
}

// Unfailing is the rule of functions of which no process is killed or too slow: none is stale.
func Unfailing(t *track, o Output) (problem string, stale bool) {
	if problem, stale = Fenced(t, o); stale {
		return fmt.Sprintf("its token is not above %d", t.token), false
	}
	return problem, false
}

// remembered is how long SQS and SNS drop repeats.
const remembered = 5 * time.Minute

// Queued is the rule of FIFO queues and topics: one after the other, and a repeat only when it is
// too late for them to drop it, under a higher token.
func Queued(t *track, o Output) (problem string, stale bool) {
	first, again := t.seen[o.Seq]
	switch {
	case again && o.At.Sub(first.at) < remembered:
		return fmt.Sprintf("came again after %s, by another deduplication id",
			o.At.Sub(first.at).Round(time.Millisecond)), false
	case again && o.Token <= slices.Max(first.tokens):
		return "came again, and the token does not tell", false
	case !again && o.Seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	}
	return "", false
}

// Unordered is the rule of event buses: any order, and a repeat under another token.
func Unordered(t *track, o Output) (problem string, stale bool) {
	if slices.Contains(t.seen[o.Seq].tokens, o.Token) {
		return "came again under the same token", false
	}
	return "", false
}

// Named is the rule of endpoints: one after the other, and a repeat under the same name and a
// higher token.
func Named(t *track, o Output) (problem string, stale bool) {
	first, again := t.seen[o.Seq]
	switch {
	case !again && o.Seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	case again && o.ID != first.id:
		return fmt.Sprintf("came again under another id, %q after %q", o.ID, first.id), false
	case again && o.Token <= t.token:
		return fmt.Sprintf("came again under the token %d, after %d", o.Token, t.token), false
	}
	return "", false
}

// Once is the rule of a database, and of who tells a repeat by its attempt: one after the other,
// and again only as a later attempt, which is the token.
func Once(t *track, o Output) (problem string, stale bool) {
	_, again := t.seen[o.Seq]
	switch {
	case !again && o.Seq != t.position+1:
		return fmt.Sprintf("%d was due", t.position+1), false
	case again && o.Token < 2:
		return "came again, and not as a later attempt", false
	}
	return "", false
}
