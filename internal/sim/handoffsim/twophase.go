package handoffsim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/pkg/handoff"
)

// What the two-phase protocol asks for happens in twophasesim, not here: these
// are no points.

func (v *view) Prepare(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.store.Prepare(ctx, queue, name, token)
}

func (v *view) Extend(ctx context.Context, queue, name string, token handoff.Token, until time.Time) (handoff.Consumer, bool, error) {
	return v.store.Extend(ctx, queue, name, token, until)
}

func (v *view) CommitPrepared(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.store.CommitPrepared(ctx, queue, name, token)
}

func (v *view) CommitPreparedAndClaim(ctx context.Context, queue, name string, token handoff.Token, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.store.CommitPreparedAndClaim(ctx, queue, name, token, claim)
}

func (v *view) AbortPrepared(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.store.AbortPrepared(ctx, queue, name, token, failure)
}

func (v *view) MarkUnknown(ctx context.Context, seen handoff.Consumer, now time.Time) (handoff.Consumer, bool, error) {
	return v.store.MarkUnknown(ctx, seen, now)
}

func (v *view) Quarantine(ctx context.Context, seen handoff.Consumer, old time.Time) (handoff.Consumer, bool, error) {
	return v.store.Quarantine(ctx, seen, old)
}

func (v *view) SettleQuarantined(ctx context.Context, queue, name string, token handoff.Token, outcome handoff.TokenOutcome, remember bool, op string) (handoff.Consumer, bool, error) {
	return v.store.SettleQuarantined(ctx, queue, name, token, outcome, remember, op)
}

func (v *view) Release(ctx context.Context, queue, name string, token handoff.Token, op string) (handoff.Consumer, bool, error) {
	return v.store.Release(ctx, queue, name, token, op)
}
