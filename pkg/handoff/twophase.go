package handoff

import (
	"context"
	"time"
)

// twoPhase is the part of [Store] that the two-phase protocol adds to Claim,
// Block and Fail. All said there holds here. None of it works on a tracked
// claim.
type twoPhase interface {
	// Prepare makes the claim of a token Ready. It does not look at the lease:
	// nobody took the claim over, so it is as good as ever.
	//
	// Lost response: the repeat finds it Ready and reports true. Another ended
	// the claim: false, and what stands there says how. We die right after: the
	// lease runs out, and the claim is in doubt.
	Prepare(ctx context.Context, queue, name string, token Token) (Consumer, bool, error)

	// Extend sets the end of the lease of a token's claim, Started or Ready.
	//
	// Lost response: the repeat sets the same. Another ended the claim: false.
	// We die right after: the lease runs out later.
	Extend(ctx context.Context, queue, name string, token Token, until time.Time) (Consumer, bool, error)

	// CommitPrepared ends the claim of a token, Ready or Unknown, as Commit does.
	//
	// Lost response: the repeat fails and finds the token's outcome, which is
	// Committed: true. Another ended the claim: false. We die right after: as
	// after Commit.
	CommitPrepared(ctx context.Context, queue, name string, token Token) (Consumer, bool, error)

	// CommitPreparedAndClaim is CommitPrepared and Claim in one, of the range from
	// the old claim's To on, if the consumer is neither paused nor starting. The
	// new token has the old one's number and one.
	//
	// Lost response: the repeat finds the new token and reports true. Another
	// ended the claim, or it is paused: false. We die right after: as after
	// Claim.
	CommitPreparedAndClaim(ctx context.Context, queue, name string, token Token, claim Claim) (Consumer, bool, error)

	// AbortPrepared gives the claim of a token back, whatever it is at: Started,
	// Ready or Unknown. Only who has the ABORTED marker of the consumer's
	// database in hand may ask for it.
	//
	// Lost response: as with Fail. Another ended the claim: false. We die right
	// after: RetryAt or the operator decides.
	AbortPrepared(ctx context.Context, queue, name string, token Token, failure Failure) (Consumer, bool, error)

	// MarkUnknown makes a Ready claim whose lease was over before now Unknown.
	//
	// Lost response: the repeat fails and returns it Unknown. Another did it
	// first, or settled it: what stands there is returned. We die right after:
	// the next sweep announces it.
	MarkUnknown(ctx context.Context, seen Consumer, now time.Time) (Consumer, bool, error)

	// Quarantine puts an Unknown claim whose lease was over before old aside, if
	// fewer than MaxQuarantined are: Delivered becomes its To, and the consumer
	// is Idle.
	//
	// Lost response: the repeat fails and finds the token in quarantine: true.
	// Another settled it first: false. We die right after: the next sweep
	// announces it.
	Quarantine(ctx context.Context, seen Consumer, old time.Time) (Consumer, bool, error)

	// SettleQuarantined ends a quarantined claim that is Unknown. One that was
	// committed is taken away, and, with remember, its outcome noted where no
	// newer one has its slot; one that was aborted stays, marked so. An op that is
	// not empty is the operation of an operator who does it.
	//
	// Lost response: the repeat fails and finds the outcome, the mark, or its own
	// op: true. Another did it first: the same, but for the op; false where
	// remember failed for a newer outcome, and the claim is still Unknown. We die
	// right after: nothing is left to do.
	SettleQuarantined(ctx context.Context, queue, name string, token Token, outcome TokenOutcome, remember bool, op string) (Consumer, bool, error)

	// Release takes a quarantined claim that was aborted away: its messages are
	// given up.
	//
	// Lost response: the repeat finds its own op: true. Another did it first:
	// false. We die right after: nothing is left to do.
	Release(ctx context.Context, queue, name string, token Token, op string) (Consumer, bool, error)
}
