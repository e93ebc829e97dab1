package handoff

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// own is the condition that the claim of a token is out, in one of the states.
func (c *change) own(t Token, states ...State) *change {
	var in []string
	for _, state := range states {
		name := "in" + string(state)
		c.value(name, dynamo.Text(string(state)))
		in = append(in, ":"+name)
	}
	c.value("own", dynamo.Number(t.N)).value("ownReq", dynamo.Text(t.Req))
	return c.untracked().when("#tokenN = :own AND #req = :ownReq AND #state IN ("+strings.Join(in, ", ")+")", attrTokenN, attrReq, attrState)
}

// Prepare implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Prepare(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c := newChange().own(token, Started).to(attrState, dynamo.Text(string(Ready)))
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.owns(token, Ready), err
}

// Extend implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Extend(ctx context.Context, queue, name string, token Token, until time.Time) (Consumer, bool, error) {
	return s.update(ctx, queue, name, newChange().own(token, Started, Ready).to(attrLeaseUntil, dynamo.Millis(until)))
}

// CommitPrepared implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) CommitPrepared(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c := newChange().own(token, Ready, Unknown).passed().ended(token, Committed)
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.ended(token, Committed), err
}

// CommitPreparedAndClaim implements [Store]: one UpdateItem, ALL_NEW; 1 write
// unit.
func (s *Dynamo) CommitPreparedAndClaim(ctx context.Context, queue, name string, token Token, claim Claim) (Consumer, bool, error) {
	return s.commitAndClaim(ctx, queue, name, token, claim, newChange().own(token, Ready, Unknown))
}

// passed sets what a consumer is that has its claim's range behind it.
func (c *change) passed() *change {
	c.use(attrDelivered, attrTo)
	c.set = append(c.set, "#delivered = #to")
	return c.to(attrState, dynamo.Text(string(Idle))).to(attrAttempts, dynamo.Number(0)).
		drop(attrRetryAt, attrFailed, attrError)
}

// AbortPrepared implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) AbortPrepared(ctx context.Context, queue, name string, token Token, failure Failure) (Consumer, bool, error) {
	c := newChange().own(token, Started, Ready, Unknown).failed(token, failure)
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.ended(token, Aborted), err
}

// MarkUnknown implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) MarkUnknown(ctx context.Context, seen Consumer, now time.Time) (Consumer, bool, error) {
	c := newChange().own(seen.Token, Ready).value("now", dynamo.Millis(now)).when("#leaseUntil < :now", attrLeaseUntil).
		to(attrState, dynamo.Text(string(Unknown)))
	return s.update(ctx, seen.Queue, seen.Name, c)
}

// asideOf lets an expression name the quarantined claim of a number as
// #quarantine.#aside.
func (c *change) asideOf(n int64) *change {
	c.use(attrQuarantine).Key("#aside", strconv.FormatInt(n, 10))
	return c
}

// Quarantine implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Quarantine(ctx context.Context, seen Consumer, old time.Time) (Consumer, bool, error) {
	c := newChange().own(seen.Token, Unknown).passed().asideOf(seen.Token.N).
		value("old", dynamo.Millis(old)).value("max", dynamo.Number(MaxQuarantined)).value("aside", encodeQuarantined(aside(seen))).
		when("#leaseUntil < :old AND size(#quarantine) < :max", attrLeaseUntil)
	c.set = append(c.set, "#quarantine.#aside = :aside")
	found, made, err := s.update(ctx, seen.Queue, seen.Name, c)
	_, there := found.quarantined(seen.Token)
	return found, made || there, err
}

// unsettled is the condition that a quarantined claim is Unknown.
func (c *change) unsettled(t Token) *change {
	c.asideOf(t.N).use(attrReq, attrState).value("asideReq", dynamo.Text(t.Req)).value("unknown", dynamo.Text(string(Unknown)))
	return c.when("#quarantine.#aside.#state = :unknown AND #quarantine.#aside.#req = :asideReq")
}

// SettleQuarantined implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) SettleQuarantined(ctx context.Context, queue, name string, token Token, outcome TokenOutcome, remember bool, op string) (Consumer, bool, error) {
	c := newChange().unsettled(token)
	if op != "" {
		c.to(attrLastOp, dynamo.Text(op))
	}
	switch {
	case outcome != Committed:
		c.value("aborted", dynamo.Text(string(quarantinedAborted)))
		c.set = append(c.set, "#quarantine.#aside.#state = :aborted")
	case remember:
		c.ended(token, Committed).use(attrN).value("number", dynamo.Number(token.N)).
			when("attribute_not_exists(#outcomes.#slot) OR #outcomes.#slot.#n < :number")
		c.remove = append(c.remove, "#quarantine.#aside")
	default:
		c.remove = append(c.remove, "#quarantine.#aside")
	}
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.settled(token, outcome) || found.operatedBy(op), err
}

// Release implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Release(ctx context.Context, queue, name string, token Token, op string) (Consumer, bool, error) {
	c := newChange().asideOf(token.N).use(attrReq, attrState).value("asideReq", dynamo.Text(token.Req)).
		value("aborted", dynamo.Text(string(quarantinedAborted))).
		when("#quarantine.#aside.#state = :aborted AND #quarantine.#aside.#req = :asideReq").
		to(attrLastOp, dynamo.Text(op))
	c.remove = append(c.remove, "#quarantine.#aside")
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.operatedBy(op), err
}
