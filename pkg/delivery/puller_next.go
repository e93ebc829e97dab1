package delivery

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// CommitAndClaim implements [Claims]: 1.5 reads, the range, and 1 write; where nothing waits, 1.5
// reads and 1 write. Replies cost as in Commit, but for the read, which is made anyway.
//
// Lost response: the repeat finds the next claim in flight under its own request, and gives it
// again. Another ended the claim: Commit says how. We die right after: the next claim's lease runs
// out, as after Claim.
func (p *puller) CommitAndClaim(ctx context.Context, h Held, r Request,
	replies ...Reply) (done, next Answer, err error) {
	if err := h.checked(); err != nil {
		return Answer{}, Answer{}, err
	}
	if r, err = r.following(h, p.d.lease); err != nil {
		return Answer{}, Answer{}, err
	}
	if err := validateReplies(replies); err != nil {
		return Answer{}, Answer{}, err
	}
	c, err := p.d.store.Consumer(ctx, h.Queue, h.Consumer)
	if err != nil {
		return Answer{}, Answer{}, err
	}
	if c.Token == (Token{N: h.Token.N + 1, Req: r.ID}) && judge(c, h.Token) == Committed {
		done, _ = h.answerTo(c, true, nil, Committed)
		again, known, err := p.again(ctx, c, r)
		if known {
			next = again
		}
		return done, next, err
	}
	if len(replies) > 0 {
		if done, ended, err := p.replyFirst(ctx, c, h, replies); ended || err != nil {
			return done, Answer{}, err
		}
	}
	if slices.Contains([]standing{Prepared, InDoubt}, judge(c, h.Token)) && c.Paused == "" {
		done, next, err = p.goOn(ctx, c, h, r)
		if err != nil || next.Outcome != "" {
			return done, next, err
		}
	}
	done, err = p.commit(ctx, h)
	return done, Answer{}, err
}

// following is the request for the claim behind another, or what is wrong with it.
func (r Request) following(h Held, lease time.Duration) (Request, error) {
	switch {
	case r.Queue != h.Queue:
		return r, invalid.New(invalid.Clash, "queue", "must be that of the claim to commit")
	case r.Consumer != h.Consumer:
		return r, invalid.New(invalid.Clash, "consumer", "must be that of the claim to commit")
	case r.ID == h.Token.Req:
		return r, invalid.New(invalid.Misplaced, "request", "must not be that of the claim to commit")
	case len(r.Seqs) > 0:
		return r, invalid.New(invalid.Misplaced, "seqs", "must not be given beside a commit")
	}
	return r.checked(lease)
}

// goOn commits and claims in one write. next is the zero Answer where that cannot be, and nothing
// was done.
func (p *puller) goOn(ctx context.Context, c Consumer, h Held,
	r Request) (done, next Answer, err error) {
	// An older position is as safe: it only has the caller claim by a call of its own.
	cur, err := p.d.sorter.Inside(queuelog.Inside{}).Glance(ctx, h.Queue)
	if err != nil || cur.Position <= c.To {
		return Answer{}, Answer{}, nil
	}
	got, err := p.reading(r, cur.Position).next(ctx, c.To, c.IsolateTo, 0)
	if err != nil {
		// What cannot be read is no reason not to commit.
		return Answer{}, Answer{}, nil
	}
	now := p.d.now()
	c.Token = h.Token
	after, mine, err := p.d.store.CommitPreparedAndClaim(ctx, c,
		request.Claim{Req: r.ID, To: got.To, Now: now, LeaseUntil: now.Add(r.Lease)})
	if err != nil || !mine {
		return Answer{}, Answer{}, err // paused, or ended otherwise: the commit says which
	}
	p.d.store.NoteTaken(ctx, c)
	done, err = h.answerTo(after, true, nil, Committed)
	return done, give(after, batch(after, got)), err
}
