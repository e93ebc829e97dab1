package consumers

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// View is the consumers' table as one process sees it, that claims by turns or
// in two phases, with replies or without. What is not written out here is asked
// by no such process, and is no point.
type View struct {
	*handoff.Memory
	P *sim.Proc
	// Wrote is called after a write of nobody's, where no step of the run ends
	// that would be checked.
	Wrote func()
}

var _ handoff.Store = (*View)(nil)

func (v *View) write(label sim.Label, request func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	c, made, err := Write(v.P, label, request)
	if v.P == nil {
		v.Wrote()
	}
	return c, made, err
}

// Consumer implements [handoff.Store].
func (v *View) Consumer(ctx context.Context, queue, name string) (handoff.Consumer, error) {
	return Read(v.P, sim.Labelf("get the consumer"), func() (handoff.Consumer, error) {
		return v.Memory.Consumer(ctx, queue, name)
	})
}

// Claim implements [handoff.Store].
func (v *View) Claim(ctx context.Context, seen handoff.Consumer, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("claim up to %d as %d-%s", claim.To, seen.Token.N+1, claim.Req), func() (handoff.Consumer, bool, error) {
		return v.Memory.Claim(ctx, seen, claim)
	})
}

// Block implements [handoff.Store].
func (v *View) Block(ctx context.Context, seen handoff.Consumer, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("block"), func() (handoff.Consumer, bool, error) { return v.Memory.Block(ctx, seen, now) })
}

// Commit implements [handoff.Store].
func (v *View) Commit(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Commit(ctx, queue, name, token)
	})
}

// CommitAndClaim implements [handoff.Store].
func (v *View) CommitAndClaim(ctx context.Context, queue, name string, token handoff.Token, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v, and claim up to %d", token, claim.To), func() (handoff.Consumer, bool, error) {
		return v.Memory.CommitAndClaim(ctx, queue, name, token, claim)
	})
}

// Fail implements [handoff.Store].
func (v *View) Fail(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("fail %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Fail(ctx, queue, name, token, failure)
	})
}

// Cancel implements [handoff.Store].
func (v *View) Cancel(ctx context.Context, seen handoff.Consumer, block bool, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("cancel %v", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Cancel(ctx, seen, block, now)
	})
}

// Prepare implements [handoff.Store].
func (v *View) Prepare(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("prepare %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Prepare(ctx, queue, name, token)
	})
}

// CommitPrepared implements [handoff.Store].
func (v *View) CommitPrepared(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit the prepared %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.CommitPrepared(ctx, queue, name, token)
	})
}

// CommitPreparedAndClaim implements [handoff.Store].
func (v *View) CommitPreparedAndClaim(ctx context.Context, queue, name string, token handoff.Token, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit the prepared %v, and claim up to %d as %d-%s", token, claim.To, token.N+1, claim.Req), func() (handoff.Consumer, bool, error) {
		return v.Memory.CommitPreparedAndClaim(ctx, queue, name, token, claim)
	})
}

// AbortPrepared implements [handoff.Store].
func (v *View) AbortPrepared(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("abort %v, by its marker", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.AbortPrepared(ctx, queue, name, token, failure)
	})
}

// MarkUnknown implements [handoff.Store].
func (v *View) MarkUnknown(ctx context.Context, seen handoff.Consumer, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("mark %v in doubt", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.Memory.MarkUnknown(ctx, seen, now)
	})
}

// Quarantine implements [handoff.Store].
func (v *View) Quarantine(ctx context.Context, seen handoff.Consumer, old time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("quarantine %v", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Quarantine(ctx, seen, old)
	})
}

// SettleQuarantined implements [handoff.Store].
func (v *View) SettleQuarantined(ctx context.Context, queue, name string, token handoff.Token, outcome handoff.TokenOutcome, remember bool, op string) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("settle quarantined %v as %s", token, outcome), func() (handoff.Consumer, bool, error) {
		return v.Memory.SettleQuarantined(ctx, queue, name, token, outcome, remember, op)
	})
}

// Decide implements [handoff.Store].
func (v *View) Decide(ctx context.Context, queue, name string, token handoff.Token, outbox []handoff.Outgoing) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("decide %v, %v", token, outbox), func() (handoff.Consumer, bool, error) {
		return v.Memory.Decide(ctx, queue, name, token, outbox)
	})
}

// Finish implements [handoff.Store].
func (v *View) Finish(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("finish %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Finish(ctx, queue, name, token)
	})
}

// Refuse implements [handoff.Store].
func (v *View) Refuse(ctx context.Context, queue, name string, token handoff.Token, refused handoff.Refused) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("refuse %d replies of %v", refused.N, token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Refuse(ctx, queue, name, token, refused)
	})
}

// ToldRefused implements [handoff.Store].
func (v *View) ToldRefused(ctx context.Context, seen handoff.Consumer) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("all %d refused are announced", seen.Refused.N), func() (handoff.Consumer, bool, error) {
		return v.Memory.ToldRefused(ctx, seen)
	})
}
