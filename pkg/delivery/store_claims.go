package delivery

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
)

// isNumber holds where nobody used the token's number up.
func isNumber(n int64) ddb.Cond { return attrTokenN.Eq(ddb.Int(n)) }

func isIn(states ...State) ddb.Cond {
	values := make([]ddb.Value, len(states))
	for i, state := range states {
		values[i] = ddb.Text(string(state))
	}
	return attrState.In(values...)
}

// isHeld holds where the claim of a token is in flight, deferred or not.
func isHeld(t Token, states ...State) ddb.Cond {
	return ddb.And(isNumber(t.N), attrReq.Eq(ddb.Text(t.Req)), isIn(states...))
}

func isOver(before time.Time) ddb.Cond { return attrLeaseUntil.Lt(ddb.Millis(before)) }

// isTakeable holds where a claim may be made on what was seen. The place is compared too: a
// consumer that was removed and recreated, or restored, may be elsewhere under the same number.
func isTakeable(seen Consumer, now time.Time) ddb.Cond {
	return ddb.And(
		isNumber(seen.Token.N), isIn(seen.State), attrDelivered.Eq(ddb.Int(seen.Delivered)),
		attrPaused.Missing(), attrStarting.Missing(),
		ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now))))
}

func setState(s State) ddb.Action { return attrState.Set(ddb.Text(string(s))) }

func setEnded(t Token, outcome TokenOutcome) ddb.Action {
	return attrOutcomes.At(slot(t.N)).Set(ddb.ValueOf(remember(t, outcome)))
}

// takeOver takes down what became of the claim that was seen, where its lease is over.
func takeOver(seen Consumer) []ddb.Action {
	if seen.State != Started {
		return nil
	}
	return []ddb.Action{
		setEnded(seen.Token, Cancelled), attrIsolateTo.Set(ddb.Int(seen.To)), setLast(seen.Last.With(died(seen))),
	}
}

func setClaim(n int64, claim request.Claim) []ddb.Action {
	return []ddb.Action{
		setState(Started), attrTokenN.Set(ddb.Int(n)), attrReq.Set(ddb.Text(claim.Req)), attrTo.Set(ddb.Int(claim.To)),
		attrLeaseUntil.Set(ddb.Millis(claim.LeaseUntil)), attrDeferred.Remove(),
	}
}

// setIf gives a path a value, or removes what is there.
func setIf(given bool, path ddb.Path, v ddb.Value) ddb.Action {
	if !given {
		return path.Remove()
	}
	return path.Set(v)
}

// alone reports whether the range of a claim, which begins behind a seq, is one message.
func alone(c request.Claim, from int64) bool { return c.To == from+1 }

func setLast(last request.Attempts) ddb.Action {
	return setIf(last != request.Attempts{}, attrLast, ddb.ValueOf(last))
}

// setTried takes down how many claims failed up to a seq.
func setTried(seen Consumer, n int, upTo int64) []ddb.Action {
	switch {
	case n > 0:
		return []ddb.Action{attrTried.Set(ddb.Int(int64(n))), attrTriedTo.Set(ddb.Int(upTo))}
	case seen.Tried > 0:
		return ddb.Removed(attrTried, attrTriedTo)
	}
	return nil
}

// setTaken takes down that nothing failed since.
func setTaken() []ddb.Action {
	return ddb.Removed(attrFailed, attrError, attrShown, attrReplyQueue, attrAway,
		attrFailingSince, attrProven)
}

// setPassed is what a consumer is that has its claim's range behind it.
func setPassed() []ddb.Action {
	return append(setTaken(),
		setState(Idle), attrDelivered.Set(attrTo.Ref()), attrAttempts.Set(ddb.Int(0)),
		attrTogether.Remove(), attrLast.Remove())
}

// setBlocked is a Blocked consumer, its token used up.
func setBlocked(n int64, now time.Time) []ddb.Action {
	return []ddb.Action{
		setState(Blocked), attrTokenN.Set(ddb.Int(n + 1)), attrBlockedSince.Set(ddb.Millis(now)), attrDeferred.Remove(),
	}
}

// setFailed takes down that a claim failed, how it ended, and why. Its messages are tried again, by
// halves if need be, or not at all for now.
func setFailed(t Token, outcome TokenOutcome, failure request.Failure) []ddb.Action {
	set := []ddb.Action{
		setEnded(t, outcome), attrFailed.Set(ddb.Millis(failure.Now)), attrError.Set(ddb.Text(failure.Error)),
		setIf(failure.ReplyQueue != "", attrReplyQueue, ddb.Text(failure.ReplyQueue)),
		setIf(failure.Shown > 0, attrShown, ddb.Int(int64(failure.Shown))), setLast(failure.Last),
	}
	if failure.Away == 0 {
		set = append(set, attrIsolateTo.Set(attrTo.Ref()))
	}
	set = append(set, setIf(failure.Away > 0, attrAway, ddb.Int(int64(failure.Away))))
	switch {
	case failure.Passed > 0:
		set = append(set, setPart(failure)...)
	case failure.Away > 0 && failure.Alone:
		set = append(set, attrAttempts.Plus(-1))
	case failure.Away > 0:
		set = append(set, attrAttempts.Plus(-1), attrTogether.Add(ddb.Int(-1)))
	}
	if !failure.Since.IsZero() {
		set = append(set, attrFailingSince.Set(ddb.Millis(failure.Since)))
	}
	set = append(set, setIf(failure.Proven, attrProven, ddb.Bool(true)))
	if failure.Block {
		return append(set, setBlocked(t.N, failure.Now)...)
	}
	return append(set, setState(Idle), attrRetryAt.Set(ddb.Millis(failure.RetryAt)),
		attrDeferred.Remove())
}

// setPart is what a consumer is that has a part of its claim's range behind it: another message is
// tried next.
func setPart(failure request.Failure) []ddb.Action {
	tried := ddb.Int(1)
	if failure.Away > 0 {
		tried = ddb.Int(0)
	}
	set := []ddb.Action{
		attrDelivered.Plus(failure.Passed), attrAttempts.Set(tried), attrTogether.Set(tried),
	}
	if failure.Since.IsZero() {
		set = append(set, attrFailingSince.Remove())
	}
	return set
}

// Claim makes a claim, if the consumer's token, state and place are as seen, it is neither paused
// nor starting, and it is Idle or its lease is over before now. Taking a claim over makes the old
// one Cancelled. 1 write unit.
//
// Lost response: the repeat finds our own token and reports true. Another did it first: theirs is
// returned, and false. We die right after: the lease runs out, and the next caller takes over.
func (s *requests) Claim(ctx context.Context, seen Consumer,
	claim request.Claim) (Consumer, bool, error) {
	// Its own effect ends the condition, so that a repeat cannot count twice.
	set := slices.Concat(takeOver(seen), setClaim(seen.Token.N+1, claim),
		[]ddb.Action{attrRetryAt.Remove(), attrFrom.Set(attrDelivered.Ref()), attrAttempts.Plus(1)})
	if !alone(claim, seen.Delivered) {
		set = append(set, attrTogether.Add(ddb.Int(1)))
	}
	tried, upTo := seen.triedBehind(seen.Delivered)
	if seen.Attempts > 0 && seen.Away == 0 {
		tried, upTo = max(tried+1, seen.Attempts), max(upTo, seen.failedTo())
	}
	set = append(set, setTried(seen, tried, upTo)...)
	c, made, err := s.update(ctx, "claim", seen.Queue, seen.Name, isTakeable(seen, claim.Now), set...)
	return c, made || c.holds(Token{seen.Token.N + 1, claim.Req}), err
}

// Block makes the consumer Blocked and uses its token up, under Claim's condition. 1 write unit.
//
// Lost response: the repeat fails and returns it Blocked, with the number that we gave. Another did
// it first: theirs is returned. We die right after: the sweep announces it.
func (s *requests) Block(ctx context.Context, seen Consumer,
	now time.Time) (Consumer, bool, error) {
	return s.update(ctx, "block", seen.Queue, seen.Name, isTakeable(seen, now),
		slices.Concat(takeOver(seen), setBlocked(seen.Token.N, now),
			[]ddb.Action{attrRetryAt.Remove()})...)
}

// Commit ends the claim of a token, and keeps what the sink answered: Delivered becomes its To. 1
// write unit.
//
// Lost response: the repeat fails and finds the token's outcome, which is Committed: true. Another
// ended the claim: false. We die right after: what came meanwhile has a record in the cursors'
// stream, or the sweep finds it.
func (s *requests) Commit(ctx context.Context, h Held, answer Response) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "commit", h.Queue, h.Consumer, isHeld(h.Token, Started),
		slices.Concat(setPassed(), setAnswer(answer),
			[]ddb.Action{setEnded(h.Token, Committed), attrDeferred.Remove()})...)
	return c, made || c.ended(h.Token, Committed), err
}

// CommitAndClaim is Commit, of the claim that was seen, and Claim in one, of the range from the old
// claim's To on, if the consumer is not paused. (It is not starting while a claim is in flight.)
// The new token has the old one's number and one. 1 write unit.
//
// Lost response: the repeat finds the new token and reports true. Another ended the claim, or it is
// paused: false. We die right after: as after Claim.
func (s *requests) CommitAndClaim(ctx context.Context, seen Consumer, claim request.Claim,
	answer Response) (Consumer, bool, error) {
	return s.commitAndClaim(ctx, "commit and claim", seen, isHeld(seen.Token, Started), claim, answer)
}

// commitAndClaim commits the claim that was seen, on a condition, and makes the next one.
func (s *requests) commitAndClaim(ctx context.Context, op string, seen Consumer, condition ddb.Cond,
	claim request.Claim, answer Response) (Consumer, bool, error) {
	tried, upTo := seen.triedBehind(seen.To)
	c, made, err := s.update(ctx, op, seen.Queue, seen.Name, ddb.And(condition, attrPaused.Missing()),
		slices.Concat(setClaim(seen.Token.N+1, claim), setTaken(), setAnswer(answer),
			setTried(seen, tried, upTo), []ddb.Action{
				setEnded(seen.Token, Committed), attrDelivered.Set(attrTo.Ref()), attrFrom.Set(attrTo.Ref()),
				attrAttempts.Set(ddb.Int(1)), setIf(!alone(claim, seen.To), attrTogether, ddb.Int(1)), attrLast.Remove(),
			})...)
	return c, made || c.holds(Token{seen.Token.N + 1, claim.Req}), err
}

// Ask notes a position beyond the range of a claim that is in flight, which its queue has reached:
// who ends the claim sees it, and goes on. It is false where the claim is in flight no more; a
// higher position that is noted stays. 1 write unit.
//
// Lost response: the repeat notes it again. Another noted a higher one first: that one holds for
// both. We die right after: nothing is left to do.
func (s *requests) Ask(ctx context.Context, seen Consumer, position int64) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "ask", seen.Queue, seen.Name, ddb.And(
		isHeld(seen.Token, Started, Sending),
		ddb.Or(attrAsked.Missing(), attrAsked.Lt(ddb.Int(position)))),
		attrAsked.Set(ddb.Int(position)))
	return c, made || c.State == seen.State && c.Token == seen.Token && c.Asked >= position, err
}

// Fail gives the claim of a token back, and commits the part of it that was passed, in one. 1 write
// unit.
//
// Lost response: the repeat fails; the token's outcome is Aborted, or the consumer is Blocked under
// the next number: true. Another ended the claim: false. We die right after: RetryAt or the
// operator decides.
func (s *requests) Fail(ctx context.Context, h Held,
	failure request.Failure) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "fail", h.Queue, h.Consumer, isHeld(h.Token, Started),
		setFailed(h.Token, Aborted, failure)...)
	return c, made || c.ended(h.Token, Aborted), err
}

// Defer leaves the claim that was seen to the holder of its token: its batch was handed over, and
// the work goes on. The lease becomes that of the work. 1 write unit.
//
// Lost response: the repeat does the same once more. Another ended the claim: false, and the stored
// consumer says how. Another extended it since it was seen, beyond until: that lease stays, by a
// second write. We die right after: the claim is deferred. We die before: it is taken over when its
// lease is over.
func (s *requests) Defer(ctx context.Context, seen Consumer,
	until time.Time) (Consumer, bool, error) {
	held, last := isHeld(seen.Token, Started), seen.LeaseUntil
	if last.Before(until) {
		last = until
	}
	c, made, err := s.update(ctx, "defer", seen.Queue, seen.Name,
		ddb.And(held, attrLeaseUntil.Le(ddb.Millis(last))),
		attrDeferred.Set(ddb.Bool(true)), attrLeaseUntil.Set(ddb.Millis(until)))
	if err != nil || made || !c.holds(seen.Token) {
		return c, made, err
	}
	return s.update(ctx, "defer", seen.Queue, seen.Name, held, attrDeferred.Set(ddb.Bool(true)))
}

// Expire ends a deferred claim whose lease was over before failure.Now: it failed, and no process
// died of it. The token's outcome is Cancelled. 1 write unit.
//
// Lost response: the repeat fails and finds the outcome: true. Another ended or extended the claim:
// false. We die right after: RetryAt decides.
func (s *requests) Expire(ctx context.Context, seen Consumer,
	failure request.Failure) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "expire", seen.Queue, seen.Name,
		ddb.And(isHeld(seen.Token, Started), isOver(failure.Now)),
		setFailed(seen.Token, Cancelled, failure)...)
	return c, made || c.ended(seen.Token, Cancelled), err
}

// Cancel ends a claim whose lease was over before now; block makes the consumer Blocked and uses
// its token up. It does so while it is paused too. 1 write unit.
//
// Lost response: the repeat fails and returns the stored consumer. Another did it first: the same.
// We die right after: the consumer is free.
func (s *requests) Cancel(ctx context.Context, seen Consumer, block bool,
	now time.Time) (Consumer, bool, error) {
	set := []ddb.Action{setState(Idle), attrDeferred.Remove()}
	if block {
		set = setBlocked(seen.Token.N, now)
	}
	return s.update(ctx, "cancel", seen.Queue, seen.Name,
		ddb.And(isNumber(seen.Token.N), isIn(Started), isOver(now)),
		append(set, setEnded(seen.Token, Cancelled), attrIsolateTo.Set(attrTo.Ref()),
			setLast(seen.Last.With(died(seen))))...)
}
