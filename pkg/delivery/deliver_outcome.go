package delivery

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/request"
)

// commit commits a batch that was delivered. Where more is known to be there, and time is left, it
// claims and returns the next batch in the same write.
func (run *delivery) commit(ctx context.Context, c Consumer,
	done Batch) (Consumer, bool, Batch, error) {
	known, _ := run.health(ctx, run.Consumer)
	if run.position > c.To && run.inTime(ctx) && !run.opens(known) {
		next, err := run.read(ctx, c.To, c.IsolateTo, 0)
		if err == nil && run.Outcome == "" {
			claim := run.claim(ctx, next.To)
			after, mine, err := run.store.CommitAndClaim(ctx, c, claim, *done.answer)
			if err != nil {
				return c, false, next, err
			}
			if mine {
				run.handedOn(ctx, done)
				// What cannot be known now, nothing can be noted of.
				run.learnt, _ = run.health(ctx, c.Name)
				run.probe = 0
				return after, true, next, nil
			}
			// Paused, or not ours any more: the plain commit tells.
		}
		// What could not be read is no reason to forget what was delivered.
	}
	after, made, err := run.store.Commit(ctx, heldBy(c), *done.answer)
	switch {
	case err != nil:
		run.end("", "")
		return c, false, Batch{}, err
	case !made:
		run.tell(done, time.Time{}, nil)
		run.lost(after)
	default:
		run.handedOn(ctx, done)
		if run.Outcome == Empty {
			run.end("", "") // more may have been noted with the claim meanwhile
		}
	}
	return after, false, Batch{}, nil
}

// fail gives a claim back whose batch was not delivered, or in part.
func (run *delivery) fail(ctx context.Context, c Consumer, batch Batch,
	cause error) (Consumer, error) {
	passed := batch.passed(cause)
	behind := c
	if passed > 0 {
		// Nothing is known yet of the message behind the part.
		behind.Attempts, behind.Together, behind.Away = 1, 1, 0
		behind.Failed, behind.FailingSince, behind.Proven = time.Time{}, time.Time{}, false
		behind.Last = request.Attempts{}
	}
	part := batch.upTo(c.From + passed)
	failure := run.failure(ctx, behind, cause, len(part.Messages) > 0)
	failure.Passed = passed
	failure.Last = behind.Last
	if !isA[slowError](cause) {
		failure.Last = behind.Last.With(run.attempt(c, cause, failure.Now))
	}
	run.bad = isA[permanent](cause)
	run.Cause = cause
	after, made, err := run.store.Fail(ctx, heldBy(c), failure)
	if err != nil {
		return c, err
	}
	if made && passed > 0 {
		if len(part.Messages) > 0 {
			run.noteTaken(ctx, run.learnt, run.claimed, run.probe > 0)
		}
		run.Messages += len(part.Messages)
		run.Skipped += len(part.Skipped)
	}
	switch {
	case !made:
		run.lost(after)
	case isA[slowError](cause):
		run.end(Wait, reasonIsolated)
	case after.State == Blocked:
		run.noteBlocked(ctx, c, after)
	case run.bad:
		// Go on: by halves, up to the bad one.
	default:
		run.end(Wait, reasonFailed)
		run.store.Note(ctx, c, after)
	}
	return after, nil
}

// failure is what is noted of a batch that was not delivered, or of what is behind the part that
// was.
func (run *delivery) failure(ctx context.Context, c Consumer, cause error,
	part bool) request.Failure {
	now := run.now()
	why, replyQueue := wordsOf(cause)
	is := run.failed(c)
	is.part = part
	failure := request.Failure{Error: shorten(strings.ToValidUTF8(why, "?"), maxError),
		ReplyQueue: replyQueue, Shown: shownOf(cause, why), Alone: c.alone(), Now: now}
	switch {
	case isA[slowError](cause):
		failure.RetryAt, failure.Away, failure.Error = now, c.Away+1, ""
	case isA[permanent](cause):
		failure.RetryAt, failure.Block = now, c.alone() // it has only to be alone
		if run.probe > 0 {
			run.noteFailure(ctx, is)
		}
	case isA[sinkAway](cause):
		is.sink = !part
		known := run.noteFailure(ctx, is)
		failure.Away = c.Away + 1
		failure.RetryAt = notSooner(cause, run.retryAt(known, failure.Away), now)
	default:
		known := run.count(ctx, is, &failure)
		failure.RetryAt = notSooner(cause, run.retryAt(known, c.ownAttempts()), now)
		next := c
		next.State, next.Failed, next.Proven, next.FailingSince = Idle, now, failure.Proven,
			cmp.Or(c.FailingSince, failure.Since)
		failure.Block = isBad(next, run.reader.MaxAttempts, run.reader.BlockAfter, now)
	}
	return failure
}
