package handoff

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// checked reports a claim's name that cannot be one.
func (h Held) checked() error {
	if err := validate(h.Queue, h.Consumer); err != nil {
		return err
	}
	if h.Token.N < 1 {
		return &cursor.InvalidError{Field: "token", Code: invalid.OutOfRange, Problem: "must have a number of 1 or more"}
	}
	if validateReq(h.Token.Req) != nil {
		return &cursor.InvalidError{Field: "token", Code: invalid.TextCode(h.Token.Req, MaxOp), Problem: fmt.Sprintf("must have a request of 1 to %d bytes of UTF-8", MaxOp)}
	}
	return nil
}

// told turns what a write answered into what the caller is told. wanted is the
// verdict under which the write was done before.
func (h Held) told(c Consumer, made bool, wanted Verdict) (Answer, error) {
	if !c.Exists() {
		return Answer{}, ErrNoConsumer
	}
	v := c.judge(h.Token)
	a := c.held(v)
	if made || v == wanted {
		a.Verdict = OK
	}
	if c.Token != h.Token {
		// Another's claim is no concern of this one.
		a.Batch, a.Until = Batch{Queue: h.Queue, Consumer: h.Consumer}, time.Time{}
	}
	a.Token = h.Token
	return a, nil
}

// Extend implements [Claims]: 1 write.
func (p *Puller) Extend(ctx context.Context, h Held, lease time.Duration) (Answer, error) {
	if lease == 0 {
		lease = p.d.lease
	}
	if err := h.checked(); err != nil {
		return Answer{}, err
	}
	if err := validateLease(lease); err != nil {
		return Answer{}, err
	}
	c, made, err := p.d.store.Extend(ctx, h.Queue, h.Consumer, h.Token, p.d.now().Add(lease))
	if err != nil {
		return Answer{}, err
	}
	return h.told(c, made, OK)
}

// Prepare implements [Claims]: 1 write.
func (p *Puller) Prepare(ctx context.Context, h Held) (Answer, error) {
	if err := h.checked(); err != nil {
		return Answer{}, err
	}
	c, made, err := p.d.store.Prepare(ctx, h.Queue, h.Consumer, h.Token)
	if err != nil {
		return Answer{}, err
	}
	return h.told(c, made, Prepared)
}

// Commit implements [Claims]: 1 write; 1 or 2 more for a claim in quarantine.
// With replies, 1 read more, and for each queue that they go to what cursor's
// Append or PutGroup cost.
func (p *Puller) Commit(ctx context.Context, h Held, replies ...Reply) (Answer, error) {
	if err := h.checked(); err != nil {
		return Answer{}, err
	}
	if len(replies) == 0 {
		return p.commit(ctx, h)
	}
	if err := ValidateReplies(replies); err != nil {
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

// commit commits a claim of which nothing is to be stored before.
func (p *Puller) commit(ctx context.Context, h Held) (Answer, error) {
	c, made, err := p.d.store.CommitPrepared(ctx, h.Queue, h.Consumer, h.Token)
	if err != nil {
		return Answer{}, err
	}
	if c.judge(h.Token) == InQuarantine {
		if c, made, err = p.d.settleAside(ctx, h, Committed); err != nil {
			return Answer{}, err
		}
	}
	return h.told(c, made, WasCommitted)
}

// settleAside ends a claim in quarantine. Where a newer outcome has its place
// in the memory, its own is not remembered.
func (d *Deliverer) settleAside(ctx context.Context, h Held, outcome TokenOutcome) (Consumer, bool, error) {
	c, made, err := d.store.SettleQuarantined(ctx, h.Queue, h.Consumer, h.Token, outcome, true, "")
	if err == nil && !made && c.judge(h.Token) == InQuarantine {
		c, made, err = d.store.SettleQuarantined(ctx, h.Queue, h.Consumer, h.Token, outcome, false, "")
	}
	return c, made, err
}

// Abort implements [Claims]: 1 read, 1 write.
func (p *Puller) Abort(ctx context.Context, h Held, reason string) (Answer, error) {
	return p.abort(ctx, h, reason, func(c Consumer, f Failure) (Consumer, bool, error) {
		if c.judge(h.Token) != NotPrepared {
			return c, false, nil
		}
		return p.d.store.Fail(ctx, h.Queue, h.Consumer, h.Token, f)
	})
}

// Settle implements [Claims]: 1 write after Committed; 1 read and 1 write after
// Aborted.
func (p *Puller) Settle(ctx context.Context, h Held, outcome TokenOutcome, reason string, replies ...Reply) (Answer, error) {
	switch outcome {
	case Committed:
		return p.Commit(ctx, h, replies...)
	case Aborted:
	default:
		return Answer{}, &cursor.InvalidError{Field: "outcome", Code: invalid.Unknown, Problem: "must be COMMITTED or ABORTED"}
	}
	return p.abort(ctx, h, reason, func(c Consumer, f Failure) (Consumer, bool, error) {
		switch c.judge(h.Token) {
		case NotPrepared, Prepared, InDoubt:
			ended, made, err := p.d.store.AbortPrepared(ctx, h.Queue, h.Consumer, h.Token, f)
			if err != nil || ended.judge(h.Token) != InQuarantine {
				return ended, made, err
			}
		case InQuarantine:
		default:
			return c, false, nil
		}
		return p.d.settleAside(ctx, h, Aborted)
	})
}

// abort looks at a claim and ends it. How often its messages were tried decides
// when they come again, and whether they do.
func (p *Puller) abort(ctx context.Context, h Held, reason string, end func(Consumer, Failure) (Consumer, bool, error)) (Answer, error) {
	if err := h.checked(); err != nil {
		return Answer{}, err
	}
	c, err := p.d.store.Consumer(ctx, h.Queue, h.Consumer)
	if err != nil {
		return Answer{}, err
	}
	if !c.Exists() {
		return Answer{}, ErrNoConsumer
	}
	now := p.d.now()
	c, made, err := end(c, Failure{
		Error: cut(strings.ToValidUTF8(reason, "?"), maxError), Now: now, RetryAt: now.Add(retryAfter(c.Attempts)),
		Block: c.Attempts >= p.maxAttempts,
	})
	if err != nil {
		return Answer{}, err
	}
	return h.told(c, made, WasAborted)
}
