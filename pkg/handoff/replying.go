package handoff

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// replying is the part of [Store] that replies add. All said there holds here.
type replying interface {
	// Decide makes the Started claim of a token Sending, with its outbox: from
	// here on it will be committed. What is in the outbox must be staged.
	//
	// Lost response: the repeat finds it Sending and reports true. Another ended
	// the claim: false, and nobody sees what was staged. We die right after:
	// whoever comes after the lease sends, and finishes.
	Decide(ctx context.Context, queue, name string, token Token, outbox []Outgoing) (Consumer, bool, error)

	// Finish ends the Sending claim of a token, as Commit does.
	//
	// Lost response, another did it first: the repeat fails and finds the token's
	// outcome, which is Committed: true. We die right after: as after Commit.
	Finish(ctx context.Context, queue, name string, token Token) (Consumer, bool, error)

	// Refuse counts replies of a claim that can never be stored, if they are not
	// those that were counted last.
	//
	// Lost response, another did it first: the repeat finds the claim's name and
	// reports true. We die right after: the claim is still open, and whoever goes
	// on with it comes here again.
	Refuse(ctx context.Context, queue, name string, token Token, refused Refused) (Consumer, bool, error)

	// ToldRefused notes that all that were refused up to the number seen are
	// announced.
	//
	// Lost response, another did it first: the number is that, or higher: true.
	// We die right after: nothing is left to do.
	ToldRefused(ctx context.Context, seen Consumer) (Consumer, bool, error)
}

// decided reports whether the claim of a token is to be committed, or is.
func (c Consumer) decided(t Token) bool { return c.owns(t, Sending) || c.ended(t, Committed) }

// Decide implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Decide(ctx context.Context, queue, name string, token Token, outbox []Outgoing) (Consumer, bool, error) {
	c := newChange().held(token).to(attrState, dynamo.Text(string(Sending))).to(attrOutbox, encodeOutbox(outbox))
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.decided(token), err
}

// Finish implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Finish(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c := newChange().own(token, Sending).passed().ended(token, Committed).drop(attrOutbox)
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.ended(token, Committed), err
}

// Refuse implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) Refuse(ctx context.Context, queue, name string, token Token, refused Refused) (Consumer, bool, error) {
	c := newChange().value("none", dynamo.Number(0)).value("more", dynamo.Number(refused.N)).
		to(attrRefusedBy, dynamo.Text(token.String())).to(attrRefusedWhy, dynamo.Text(refused.Why)).
		to(attrRefusedSince, dynamo.Millis(refused.Since)).use(attrRefused, attrQueue).
		when("attribute_exists(#queue) AND #refusedBy <> :refusedBy")
	c.set = append(c.set, "#refused = if_not_exists(#refused, :none) + :more")
	found, made, err := s.update(ctx, queue, name, c)
	return found, made || found.Refused.By == token.String(), err
}

// ToldRefused implements [Store]: one UpdateItem, ALL_NEW; 1 write unit.
func (s *Dynamo) ToldRefused(ctx context.Context, seen Consumer) (Consumer, bool, error) {
	c := newChange().to(attrRefusedTold, dynamo.Number(seen.Refused.N)).use(attrRefused).
		when("#refused >= :refusedTold AND (attribute_not_exists(#refusedTold) OR #refusedTold < :refusedTold)")
	found, made, err := s.update(ctx, seen.Queue, seen.Name, c)
	return found, made || found.Refused.Told >= seen.Refused.N, err
}

func encodeOutbox(outbox []Outgoing) types.AttributeValue {
	list := make([]types.AttributeValue, len(outbox))
	for i, o := range outbox {
		it := dynamo.Item{attrQueue: dynamo.Text(o.Queue)}
		if o.Numbered {
			it[attrKind] = dynamo.Text(outgoingNumbered)
		}
		list[i] = dynamo.Map(it)
	}
	return &types.AttributeValueMemberL{Value: list}
}

// outgoingNumbered is the kind of what goes to a numbered queue.
const outgoingNumbered = "numbered"

func decodeReplying(d *dynamo.Decoder, c *Consumer) {
	c.Refused = Refused{
		N: d.NumberOr(attrRefused, 0), Told: d.NumberOr(attrRefusedTold, 0),
		By: d.TextOr(attrRefusedBy, ""), Why: d.TextOr(attrRefusedWhy, ""), Since: d.MillisOr(attrRefusedSince),
	}
	value, there := d.Item[attrOutbox]
	if !there {
		return
	}
	list, ok := value.(*types.AttributeValueMemberL)
	if !ok || len(list.Value) > MaxReplyQueues {
		d.Fail(attrOutbox, fmt.Sprintf("is not a list of at most %d queues", MaxReplyQueues))
		return
	}
	for i, element := range list.Value {
		m, ok := element.(*types.AttributeValueMemberM)
		if !ok {
			d.Fail(attrOutbox, "has what is no queue")
			return
		}
		inner := dynamo.Decoder{Item: m.Value}
		c.Outbox[i] = Outgoing{Queue: inner.Text(attrQueue), Numbered: inner.TextOr(attrKind, "") == outgoingNumbered}
		if inner.Err != nil {
			d.Fail(attrOutbox, inner.Err.Error())
			return
		}
	}
}

// Decide implements [Store].
func (s *Memory) Decide(ctx context.Context, queue, name string, token Token, outbox []Outgoing) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, held(token), func(c *Consumer) {
		c.State, c.Outbox = Sending, [MaxReplyQueues]Outgoing{}
		copy(c.Outbox[:], outbox)
	})
	return c, made || c.decided(token), err
}

// Finish implements [Store].
func (s *Memory) Finish(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, owned(token, Sending), func(c *Consumer) {
		c.end(Committed)
		c.State, c.Delivered, c.Attempts, c.RetryAt = Idle, c.To, 0, time.Time{}
		c.Outbox = [MaxReplyQueues]Outgoing{}
		c.calm()
	})
	return c, made || c.ended(token, Committed), err
}

// Refuse implements [Store].
func (s *Memory) Refuse(ctx context.Context, queue, name string, token Token, refused Refused) (Consumer, bool, error) {
	by := token.String()
	c, made, err := s.update(ctx, queue, name,
		func(c Consumer) bool { return c.Refused.By != by },
		func(c *Consumer) {
			c.Refused.N += refused.N
			c.Refused.By, c.Refused.Why, c.Refused.Since = by, refused.Why, milliseconds(refused.Since)
		})
	return c, made || c.Refused.By == by, err
}

// ToldRefused implements [Store].
func (s *Memory) ToldRefused(ctx context.Context, seen Consumer) (Consumer, bool, error) {
	c, made, err := s.update(ctx, seen.Queue, seen.Name,
		func(c Consumer) bool { return c.Refused.N >= seen.Refused.N && c.Refused.Told < seen.Refused.N },
		func(c *Consumer) { c.Refused.Told = seen.Refused.N })
	return c, made || c.Refused.Told >= seen.Refused.N, err
}
