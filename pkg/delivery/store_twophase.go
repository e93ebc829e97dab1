package delivery

import (
	"context"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
)

// What the two-phase protocol adds to Claim, Block and Fail.

// isOwn holds where the claim of a token is in flight, in one of the states, and not deferred.
func isOwn(t Token, states ...State) ddb.Cond {
	return ddb.And(attrDeferred.Missing(), isHeld(t, states...))
}

// Prepare makes the claim of a token Prepared, if it is not deferred. It does not look at the
// lease: nobody took the claim over, so it is as good as ever. 1 write unit.
//
// Lost response: the repeat finds it Prepared and reports true. Another ended the claim: false, and
// the stored consumer says how. We die right after: the lease runs out, and the claim is in doubt.
func (s *requests) Prepare(ctx context.Context, h Held) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "prepare", h.Queue, h.Consumer, isOwn(h.Token, Started),
		setState(Prepared))
	return c, made || c.owns(h.Token, Prepared), err
}

// Extend sets the end of the lease of a token's claim, Started and not deferred, or Prepared. 1
// write unit.
//
// Lost response: the repeat sets the same. Another ended the claim: false. We die right after: the
// lease runs out later.
func (s *requests) Extend(ctx context.Context, h Held, until time.Time) (Consumer, bool, error) {
	return s.update(ctx, "extend", h.Queue, h.Consumer, isOwn(h.Token, Started, Prepared),
		attrLeaseUntil.Set(ddb.Millis(until)))
}

// CommitPrepared ends the claim of a token, Prepared or InDoubt, as Commit does. 1 write unit.
//
// Lost response: the repeat fails and finds the token's outcome, which is Committed: true. Another
// ended the claim: false. We die right after: as after Commit.
func (s *requests) CommitPrepared(ctx context.Context, h Held) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "commit prepared", h.Queue, h.Consumer,
		isHeld(h.Token, Prepared, InDoubt), append(setPassed(), setEnded(h.Token, Committed))...)
	return c, made || c.ended(h.Token, Committed), err
}

// CommitPreparedAndClaim is CommitPrepared, of the claim that was seen, and Claim in one, of the
// range from the old claim's To on, if the consumer is not paused. The new token has the old one's
// number and one. 1 write unit.
//
// Lost response: the repeat finds the new token and reports true. Another ended the claim, or it is
// paused: false. We die right after: as after Claim.
func (s *requests) CommitPreparedAndClaim(ctx context.Context, seen Consumer,
	claim request.Claim) (Consumer, bool, error) {
	return s.commitAndClaim(ctx, "commit prepared and claim", seen,
		isHeld(seen.Token, Prepared, InDoubt), claim, Response{})
}

// AbortPrepared gives the claim of a token back, whatever it is at: Started, Prepared or InDoubt.
// Only a caller that has the ABORTED marker of the consumer's database may do so. 1 write unit.
//
// Lost response: as with Fail. Another ended the claim: false. We die right after: RetryAt or the
// operator decides.
func (s *requests) AbortPrepared(ctx context.Context, h Held,
	failure request.Failure) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "abort prepared", h.Queue, h.Consumer,
		isOwn(h.Token, Started, Prepared, InDoubt), setFailed(h.Token, Aborted, failure)...)
	return c, made || c.ended(h.Token, Aborted), err
}

// MarkInDoubt makes a Prepared claim whose lease was over before now InDoubt. 1 write unit.
//
// Lost response: the repeat fails and returns it InDoubt. Another did it first, or settled it: the
// stored consumer is returned. We die right after: the next sweep announces it.
func (s *requests) MarkInDoubt(ctx context.Context, seen Consumer,
	now time.Time) (Consumer, bool, error) {
	return s.update(ctx, "mark in doubt", seen.Queue, seen.Name,
		ddb.And(isHeld(seen.Token, Prepared), isOver(now)), setState(InDoubt))
}

func asideOf(n int64) ddb.Path { return attrQuarantine.At(strconv.FormatInt(n, 10)) }

// isAside holds where the claim of a token is in quarantine, in a state.
func isAside(t Token, state State) ddb.Cond {
	q := asideOf(t.N)
	return ddb.And(q.At(string(attrReq)).Eq(ddb.Text(t.Req)),
		q.At(string(attrState)).Eq(ddb.Text(string(state))))
}

// Quarantine puts an InDoubt claim whose lease was over before old aside, if fewer than
// MaxQuarantined are: Delivered becomes its To, and the consumer is Idle. 1 write unit.
//
// Lost response: the repeat fails and finds the token in quarantine: true. Another settled it
// first: false. We die right after: the next sweep announces it.
func (s *requests) Quarantine(ctx context.Context, seen Consumer,
	old time.Time) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "quarantine", seen.Queue, seen.Name,
		ddb.And(isHeld(seen.Token, InDoubt), isOver(old), attrQuarantine.SizeLt(maxQuarantined)),
		append(setPassed(),
			asideOf(seen.Token.N).Set(ddb.ValueOf(quarantined{seen.Token.Req, aside(seen)})))...)
	_, there := c.Quarantined(seen.Token)
	return c, made || there, err
}

// SettleQuarantined ends a quarantined claim that is InDoubt. One that was committed is taken away,
// and, with remember, its outcome noted where no newer one has its slot; one that was aborted
// stays, marked so. An op that is not empty is the operation of an operator who does it. 1 write
// unit.
//
// Lost response: the repeat fails and finds the outcome, the mark, or its own op: true. Another did
// it first: the same, but for the op; false where remember failed for a newer outcome, and the
// claim is still InDoubt. We die right after: nothing is left to do.
func (s *requests) SettleQuarantined(ctx context.Context, h Held,
	outcome TokenOutcome, remember bool, op string) (Consumer, bool, error) {
	condition, set := isAside(h.Token, InDoubt), []ddb.Action{asideOf(h.Token.N).Remove()}
	switch {
	case outcome != Committed:
		set = []ddb.Action{asideOf(h.Token.N).At(string(attrState)).
			Set(ddb.Text(string(quarantinedAborted)))}
	case remember:
		known := attrOutcomes.At(slot(h.Token.N))
		condition = ddb.And(condition,
			ddb.Or(known.Missing(), known.At(string(attrN)).Lt(ddb.Int(h.Token.N))))
		set = append(set, setEnded(h.Token, Committed))
	}
	if op != "" {
		set = append(set, attrLastOp.Set(ddb.Text(op)))
	}
	c, made, err := s.update(ctx, "settle quarantined", h.Queue, h.Consumer, condition, set...)
	return c, made || c.settled(h.Token, outcome) || c.operatedBy(op), err
}

// Release takes a quarantined claim that was aborted away: its messages are given up. 1 write unit.
//
// Lost response: the repeat finds its own op: true. Another did it first: false. We die right
// after: nothing is left to do.
func (s *requests) Release(ctx context.Context, h Held, op string) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "release", h.Queue, h.Consumer, isAside(h.Token, quarantinedAborted),
		asideOf(h.Token.N).Remove(), attrLastOp.Set(ddb.Text(op)))
	return c, made || c.operatedBy(op), err
}
