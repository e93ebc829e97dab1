package xorack

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// EventID is the id under which the chain's end is announced: the same each time, and another one
// for another chain of the same tag.
func (c Chain) EventID() string {
	hash := chains.Derive(chains.ForEvent, []byte(c.Tag), c.Incarnation[:])
	return hex.EncodeToString(hash[:16])
}

// Age is how long the chain took, or has taken by now where it is open. It is 0 for one that was
// never created.
func (c Chain) Age(now time.Time) time.Duration {
	switch {
	case !c.IsCreated():
		return 0
	case c.End() != Open:
		now = c.Ended()
	}
	return max(now.Sub(c.Created), 0)
}

// Announce notifies people or programs of a chain's end. An error keeps the end due: it is tried
// again. It is called at least once for each chain that ends, with the same [Chain.EventID].
type Announce func(context.Context, Chain) error

// Finish does what an ended chain still needs: it announces the end, carries it to the chain's
// parent, if it has one, and seals the chain. It reports whether there was anything to do. The
// chain may come from a stream record: an end never changes. The end of a part of a fan is carried
// and not announced.
//
// Dying or failing between the steps leaves the chain due: the next call does all of them again,
// and each may be done twice.
//
// It costs one write and one of the index, and one more with a parent.
func (a *Acker) Finish(ctx context.Context, c Chain, announce Announce) (bool, error) {
	c, _, err := a.settle(ctx, c)
	if err != nil || c.End() == Open || c.Due.IsZero() {
		return false, err
	}
	if announce != nil && !c.Sub {
		if err := announce(ctx, c); err != nil {
			return false, err
		}
	}
	if err := a.carry(ctx, c); err != nil {
		return false, err
	}
	_, sealed, err := a.store.seal(ctx, c.Tag, c.Incarnation, c.Ended(), a.now().Add(a.tombstone))
	return sealed, err
}

// carry ends the parent's edge as the chain ended. A parent that is gone, or whose tag belongs to
// something else now, has ended before: nobody waits.
func (a *Acker) carry(ctx context.Context, c Chain) error {
	if c.Parent.IsZero() {
		return nil
	}
	var err error
	if c.End() == Done {
		_, err = a.Done(ctx, c.Parent)
	} else {
		_, err = a.Fail(ctx, c.Parent, carriedReason(c))
	}
	if errors.Is(err, ErrOtherChain) || errors.Is(err, ErrOtherKind) {
		return nil
	}
	return err
}

// carriedReason is why the parent fails: as long as a reason may be.
func carriedReason(c Chain) string {
	reason := "chain " + c.Tag + ": " + string(c.End())
	if c.Reason != "" {
		reason = c.Reason
	}
	if len(reason) > MaxReason {
		// A cut within a character leaves bytes that are no UTF-8.
		reason = strings.ToValidUTF8(reason[:MaxReason], "")
	}
	return reason
}

// settle records that a chain of stamps is Done, where its stamps say so and that is not recorded.
// It returns the chain as it stands, and whether this call recorded it.
func (a *Acker) settle(ctx context.Context, c Chain) (Chain, bool, error) {
	if c.Recorded != Open || !c.acked() {
		return c, false, nil
	}
	return a.store.settle(ctx, c, a.now())
}
