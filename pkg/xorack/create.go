package xorack

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// CreateOptions are the parts of a chain that have defaults. A nil CreateOptions means all of them.
type CreateOptions struct {
	// ID distinguishes this chain from others that have, or had, the same tag. A tag is used again
	// with another ID; a create that is repeated gives the same.
	ID string
	// Edges is how many root edges the chain starts with, 1 to MaxOps, and 1 where it is 0.
	Edges int
	// Deadline is how long after its creation the chain times out: up to MaxDeadline, and
	// DefaultDeadline where it is 0.
	Deadline time.Duration
	// Idle is after which time without progress it times out; 0 means that only the deadline
	// counts. It is looked at by the sweep.
	Idle time.Duration
	// Parent, if not the zero Edge, is an edge of another chain that ends when this chain is done,
	// and fails when it fails or times out.
	Parent Edge
	// Data is stored with the chain for the code that handles its end, such as names that the tag
	// has no room for: up to 2,048 bytes of text.
	Data string
}

func (o CreateOptions) validate(tag string) error {
	switch {
	case len(o.ID) > MaxTag:
		return invalid.New(invalid.TooLarge, "id", "is longer than "+strconv.Itoa(MaxTag)+" bytes")
	case o.Idle != 0 && (o.Idle < time.Millisecond || o.Idle > MaxDeadline):
		return invalid.New(invalid.OutOfRange, "idle",
			fmt.Sprintf("is %v: it must be 0, or from 1ms to %v", o.Idle, MaxDeadline))
	case o.Parent.tag == tag:
		return invalid.New(invalid.Clash, "parent", "must be an edge of another chain")
	}
	return cmp.Or(
		bounds.Check("edges", o.Edges, 1, MaxOps),
		bounds.Check("deadline", o.Deadline, time.Millisecond, MaxDeadline),
		bounds.Text("data", o.Data, 0, maxData),
	)
}

func (o CreateOptions) digest() [8]byte {
	times := binary.BigEndian.AppendUint64(nil, uint64(o.Deadline))
	times = binary.BigEndian.AppendUint64(times, uint64(o.Idle))
	parts := [][]byte{chains.Number(o.Edges), times, []byte(o.Parent.tag), o.Parent.inc[:],
		o.Parent.id[:]}
	if o.Data != "" {
		parts = append(parts, []byte(o.Data))
	}
	hash := chains.Derive(chains.ForOptions, parts...)
	return [8]byte(hash[:8])
}

// Created is the answer to a create.
type Created struct {
	// Outcome is Applied; or Ended, where all of the work was done before and the create came last;
	// or that the chain had ended before, in which case no work should be passed on.
	Outcome Outcome
	// Root is the chain's root edge, and Roots are all of them.
	Root  Edge
	Roots []Edge
	// Chain is the chain as it stands.
	Chain Chain
}

// Create makes a chain with its root edges. The same create again is the same chain; one with other
// options, or under the tag of a chain that lives or whose tombstone is not yet expired, is
// [ErrTagExists].
//
// It costs one write and one of the index, and two writes where the tag was used before.
func (a *Acker) Create(ctx context.Context, tag string, options *CreateOptions) (Created, error) {
	o := CreateOptions{}
	if options != nil {
		o = *options
	}
	o.Edges, o.Deadline = cmp.Or(o.Edges, 1), cmp.Or(o.Deadline, DefaultDeadline)
	if err := cmp.Or(ValidateTag(tag), o.validate(tag)); err != nil {
		return Created{}, err
	}
	c := a.fresh(tag, o)
	there, err := a.create(ctx, c)
	if err != nil {
		return Created{}, err
	}
	answer := Created{Outcome: createOutcome(there), Chain: there, Roots: make([]Edge, o.Edges)}
	for i := range answer.Roots {
		answer.Roots[i] = rootOf(tag, c.Incarnation, i)
	}
	answer.Root = answer.Roots[0]
	return answer, nil
}

// createOutcome is the outcome of a create that made this chain, now or earlier.
func createOutcome(c Chain) Outcome {
	switch {
	case c.End() == Open:
		return Applied
	case c.End() == Done && c.LastOp == Op(c.Incarnation):
		return Ended
	}
	return already(c.End())
}

func (a *Acker) fresh(tag string, o CreateOptions) Chain {
	now := ddb.ToMillis(a.now())
	c := Chain{
		Tag: tag, Incarnation: incarnationOf(tag, o.ID), Edges: int64(o.Edges), Options: o.digest(),
		Created: now, Seen: now, Deadline: now.Add(o.Deadline).Truncate(time.Millisecond),
		Idle:      o.Idle.Truncate(time.Millisecond),
		ExpiresOn: chains.Never, Parent: o.Parent, Data: o.Data,
	}
	for i := range o.Edges {
		c.Sum = c.Sum.plus(sumOf(rootOf(tag, c.Incarnation, i).id))
	}
	// The mark of the create: what ended the chain, where it came last.
	c.LastOp = Op(c.Incarnation)
	c.Due = a.nextLook(c, now)
	return c
}

// nextLook is when the sweep must look at an open chain again: at its deadline, when it will have
// made no progress for too long, and before that when it has become twice as old. A chain that is
// done is due no earlier than it was: the write that ends it does not know that it does. Should the
// stream lose that write's record, the end is announced at this look; and as the looks are ever
// farther apart, they are few. Where wake-ups are scheduled for late chains, one is shortly before
// a deadline that was too far ahead when the chain was created.
func (a *Acker) nextLook(c Chain, now time.Time) time.Time {
	next := ddb.ToMillis(now.Add(max(chains.MinLook, now.Sub(c.Created))))
	if c.Deadline.Before(next) {
		next = c.Deadline
	}
	if idle := c.Seen.Add(c.Idle); c.Idle > 0 && idle.Before(next) {
		next = idle
	}
	before := c.Deadline.Add(-scheduleAhead / 2)
	if a.wakeUp != nil && c.Deadline.Sub(c.Created) > scheduleAhead && before.After(now) &&
		before.Before(next) {
		next = before
	}
	return next
}

// create makes the chain, or finds that it was made, and returns it as it stands. It schedules the
// chain's wake-up.
func (a *Acker) create(ctx context.Context, c Chain) (Chain, error) {
	there, made, err := a.store.create(ctx, c)
	for err == nil && !made {
		switch {
		case there.Incarnation == c.Incarnation && (!there.IsCreated() || there.Options == c.Options):
			// Our own, made before; or it failed before it was created.
			made = true
			continue
		case there.HasStamps() && !there.IsCreated() && there.Recorded == Open:
			return Chain{}, ErrOtherKind // stamps that came before, of another length than c's
		case there.Incarnation == c.Incarnation || !a.replaceable(there):
			return Chain{}, ErrTagExists
		}
		there, made, err = a.store.replace(ctx, c, there)
		if err == nil && !made && !there.Exists() {
			// Deleted in between, by its expiry.
			there, made, err = a.store.create(ctx, c)
		}
	}
	a.schedule(there)
	return there, err
}

// replaceable reports whether what is stored under a tag is only what is left of another chain. Our
// own incarnation never is: a late repeat of a create must not make an ended chain live again.
func (a *Acker) replaceable(c Chain) bool {
	switch {
	case c.Recorded == Deleted:
		return c.Due.IsZero()
	case !c.IsCreated():
		return !c.HasStamps()
	}
	return !c.ExpiresOn.After(seconds(a.now()))
}
