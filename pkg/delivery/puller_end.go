package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// checked reports a claim's name that cannot be one.
func (h Held) checked() error {
	if err := validate(h.Queue, h.Consumer); err != nil {
		return err
	}
	if h.Token == (Token{}) {
		return invalid.New(invalid.Missing, "token", "is missing: give the claim's")
	}
	if h.Token.N < 1 {
		return invalid.New(invalid.OutOfRange, "token", "must have a number of 1 or more")
	}
	if bounds.Text("token", h.Token.Req, 1, maxOp) != nil {
		return invalid.New(invalid.TextCode(h.Token.Req, maxOp), "token",
			fmt.Sprintf("must have a request of 1 to %d bytes of UTF-8", maxOp))
	}
	return nil
}

// answerTo turns a write's result into the caller's answer. wanted is what the claim is at where
// the write was done before.
func (h Held) answerTo(c Consumer, made bool, err error, wanted standing) (Answer, error) {
	if err == nil && !c.Exists() {
		err = ErrNoConsumer
	}
	if err != nil {
		return Answer{}, err
	}
	v := judge(c, h.Token)
	a := hindrance(c, v)
	if made || v == wanted {
		a.Outcome, a.Reason = OK, ""
	}
	if c.Token != h.Token {
		// Another's claim is no concern of this one.
		a.Batch, a.Until = Batch{Queue: h.Queue, Consumer: h.Consumer}, time.Time{}
	}
	a.Token = h.Token
	return a, nil
}

// Extend implements [Claims]: 1 write; for a deferred claim 1 more, and a read where batches are
// tracked.
func (p *puller) Extend(ctx context.Context, h Held, lease time.Duration) (Answer, error) {
	lease = cmp.Or(lease, p.d.lease)
	if err := cmp.Or(h.checked(), validateLease(lease)); err != nil {
		return Answer{}, err
	}
	until := p.d.now().Add(lease)
	c, made, err := p.d.store.Extend(ctx, h, until)
	if err != nil {
		return Answer{}, err
	}
	if judge(c, h.Token) == Deferred {
		if chain, err := p.d.chainOf(ctx, c); err != nil {
			return Answer{}, err
		} else if chain.IsCreated() {
			return Answer{}, invalid.New(invalid.Misplaced, "token", "is that of a tracked batch: extend its edges, which extends the claim with them")
		}
		c, made, err = p.d.store.Defer(ctx, c, until)
	}
	return h.answerTo(c, made, err, standing(OK))
}

// Prepare implements [Claims]: 1 write.
func (p *puller) Prepare(ctx context.Context, h Held) (Answer, error) {
	if err := h.checked(); err != nil {
		return Answer{}, err
	}
	c, made, err := p.d.store.Prepare(ctx, h)
	return h.answerTo(c, made, err, Prepared)
}

// Commit implements [Claims]: 1 write; 1 or 2 more for a claim in quarantine; 1 or 2 more, and a
// read, for a deferred one, whose consumer is woken up. With replies, 1 read more, and for each
// queue that they go to what cursor's Put costs.
func (p *puller) Commit(ctx context.Context, h Held, replies ...Reply) (Answer, error) {
	if err := h.checked(); err != nil {
		return Answer{}, err
	}
	if len(replies) == 0 {
		return p.commit(ctx, h)
	}
	if err := validateReplies(replies); err != nil {
		return Answer{}, err
	}
	c, err := p.d.store.Consumer(ctx, h.Queue, h.Consumer)
	if err != nil {
		return Answer{}, err
	}
	if a, ended, err := p.replyFirst(ctx, c, h, replies); ended || err != nil {
		return a, err
	}
	return p.commit(ctx, h)
}

// replyFirst is what a two-phase commit does before its update: it looks at the claim, and stores
// the replies where that can be committed. ended says that it cannot, or not now; then nothing was
// stored for it. c was read strongly.
//
// The look keeps a commit that is repeated long after from storing again what has been stored,
// delivered and deleted.
func (p *puller) replyFirst(ctx context.Context, c Consumer, h Held,
	replies []Reply) (a Answer, ended bool, err error) {
	switch judge(c, h.Token) {
	case Prepared, InDoubt, unsettled:
	case Deferred:
		return a, true, invalid.New(invalid.Misplaced, "replies", "must be empty: the claim is deferred, and may expire before its commit; put them as messages")
	default:
		a, err = h.answerTo(c, false, nil, Committed)
		return a, true, err
	}
	err = p.d.storeReplies(ctx, h, replies)
	if errors.Is(err, errFull) {
		a = hindrance(c, standing(Full))
		a.Detail, a.ReplyQueue = wordsOf(err)
		return a, true, nil
	}
	return Answer{}, false, err
}

// commit commits a claim of which nothing is to be stored before.
func (p *puller) commit(ctx context.Context, h Held) (Answer, error) {
	c, made, err := p.d.store.CommitPrepared(ctx, h)
	if err != nil {
		return Answer{}, err
	}
	if made && c.LeaseUntil.Before(p.d.now()) {
		p.d.store.NoteOver(ctx, c, trouble.InDoubt) // it may have been
	}
	if made && c.IsolateTo > c.From { // a batch failed that had a message of it
		p.d.store.NoteOver(ctx, c, trouble.Failing)
	}
	switch judge(c, h.Token) {
	case Deferred:
		c, made, err = p.d.endDeferred(ctx, c, true, "")
	case unsettled:
		if c, made, err = p.settleAside(ctx, h, Committed); made && c.Quarantine[0] == (Quarantined{}) {
			p.d.store.NoteOver(ctx, c, trouble.Quarantined)
		}
	}
	return h.answerTo(c, made, err, Committed)
}

// settleAside ends a claim in quarantine. Where a newer outcome has its place in the memory, its
// own is not remembered.
func (p *puller) settleAside(ctx context.Context, h Held,
	outcome TokenOutcome) (Consumer, bool, error) {
	c, made, err := p.d.store.SettleQuarantined(ctx, h, outcome, true, "")
	if err == nil && !made && judge(c, h.Token) == unsettled {
		c, made, err = p.d.store.SettleQuarantined(ctx, h, outcome, false, "")
	}
	return c, made, err
}

// Abort implements [Claims]: 1 read, 1 write.
func (p *puller) Abort(ctx context.Context, h Held, reason string) (Answer, error) {
	return p.abort(ctx, h, reason, func(c Consumer, f request.Failure) (Consumer, bool, error) {
		if judge(c, h.Token) != notPrepared {
			return c, false, nil
		}
		return p.d.store.Fail(ctx, h, f)
	})
}

// Settle implements [Claims]: 1 write after Committed; 1 read and 1 write after Aborted.
func (p *puller) Settle(ctx context.Context, h Held, outcome TokenOutcome, reason string,
	replies ...Reply) (Answer, error) {
	switch outcome {
	case Committed:
		return p.Commit(ctx, h, replies...)
	case Aborted:
	default:
		return Answer{}, outcome.refused()
	}
	return p.abort(ctx, h, reason, func(c Consumer, f request.Failure) (Consumer, bool, error) {
		switch judge(c, h.Token) {
		case notPrepared, Prepared, InDoubt:
			ended, made, err := p.d.store.AbortPrepared(ctx, h, f)
			if err != nil || judge(ended, h.Token) != unsettled {
				return ended, made, err
			}
		case unsettled:
		default:
			return c, false, nil
		}
		return p.settleAside(ctx, h, Aborted)
	})
}

// abort looks at a claim and ends it. How often its messages were tried decides when they come
// again, and whether they do.
func (p *puller) abort(ctx context.Context, h Held, reason string,
	end func(Consumer, request.Failure) (Consumer, bool, error)) (Answer, error) {
	if err := h.checked(); err != nil {
		return Answer{}, err
	}
	c, err := p.d.store.Consumer(ctx, h.Queue, h.Consumer)
	if err != nil || !c.Exists() {
		return h.answerTo(c, false, err, Aborted)
	}
	if judge(c, h.Token) == Deferred {
		c, made, err := p.d.endDeferred(ctx, c, false, cmp.Or(reason, "its worker gave it up"))
		return h.answerTo(c, made, err, Aborted)
	}
	now := p.d.now()
	before := c
	c, made, err := end(before, request.Failure{
		Error: shorten(strings.ToValidUTF8(cmp.Or(reason, "its worker gave it up"), "?"), maxError),
		Alone: c.alone(), Now: now,
		RetryAt: now.Add(request.RetryAfter(c.ownAttempts(), request.DefaultRetries)),
		Block:   c.ownAttempts() >= p.maxAttempts && c.alone(),
		Last:    c.Last.With(attemptOf(c, now, 0, reason, 0)),
	})
	if made && c.Exists() {
		p.d.store.Note(ctx, before, c)
	}
	return h.answerTo(c, made, err, Aborted)
}
