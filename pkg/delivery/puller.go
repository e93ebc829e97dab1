package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/errtext"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// puller speaks [Claims] on the tables. It may be used by any number of goroutines, and any number
// of pullers in any number of processes may work on the same tables.
type puller struct {
	d           *Deliverer
	maxAttempts int
	answer      *cursor.Bound
}

var _ Claims = (*puller)(nil)

// ClaimsOptions are the parts of [NewClaims] that have defaults. A nil ClaimsOptions means all of
// them.
type ClaimsOptions struct {
	// MaxAttempts is how often a message is tried alone before the consumer is Blocked, 2 to 1,000;
	// 5. A batch comes twice as it is, and then by halves; from the MaxAttempts-th time on its
	// first message is alone.
	MaxAttempts int
	// Answer bounds the batch of an answer beside MaxBytes, which is of the bodies: for a caller
	// that writes it into something of a bounded size; nil is no bound.
	Answer *cursor.Bound
}

// NewClaims returns Claims on the Deliverer's tables, with its clock and lease.
func NewClaims(d *Deliverer, options *ClaimsOptions) (Claims, error) {
	p := &puller{d: d, maxAttempts: request.DefaultAttempts}
	if options != nil {
		p.maxAttempts, p.answer = cmp.Or(options.MaxAttempts, p.maxAttempts), options.Answer
	}
	err := bounds.Check("maxAttempts", p.maxAttempts, request.MinAttempts, request.MaxAttempts)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// outrun is how often a Claim looks again where another was faster.
const outrun = 4

// List implements [Claims]: 2 reads, and the range.
func (p *puller) List(ctx context.Context, r Request) (Answer, error) {
	return p.look(ctx, Request{Queue: r.Queue, Consumer: r.Consumer, ID: "list",
		MaxMessages: r.MaxMessages, MaxBytes: r.MaxBytes}, nil)
}

// Claim implements [Claims]: 2 reads, the range, and a write of 1 unit. Where nothing is ready, 2
// reads.
func (p *puller) Claim(ctx context.Context, r Request) (Answer, error) {
	return p.look(ctx, r, func(r Request, c Consumer, b Batch) (Answer, bool, error) {
		now := p.d.now()
		if c.ownAttempts() >= p.maxAttempts && c.alone() {
			blocked, made, err := p.d.store.Block(ctx, c, now)
			if made {
				p.d.store.Note(ctx, c, blocked)
			}
			return hindrance(blocked, Blocked), made, err
		}
		claimed, mine, err := p.d.store.Claim(ctx,
			c, request.Claim{Req: r.ID, To: b.To, Now: now, LeaseUntil: now.Add(r.Lease)})
		if err != nil || !mine {
			return Answer{}, false, err
		}
		return give(claimed, b), true, nil
	})
}

func give(c Consumer, b Batch) Answer {
	a := answer(c, standing(OK))
	a.Messages, a.Skipped = b.Messages, b.Skipped
	return a
}

// look looks at what is ready and does something with it, again and again while that is outrun by
// others; nil does nothing.
func (p *puller) look(ctx context.Context, r Request,
	do func(Request, Consumer, Batch) (Answer, bool, error)) (Answer, error) {
	r, err := r.checked(p.d.lease)
	if err != nil {
		return Answer{}, err
	}
	for tries := 1; ; tries++ {
		c, err := p.consumer(ctx, r.Queue, r.Consumer)
		if err != nil {
			return Answer{}, err
		}
		if do != nil && c.Token.Req == r.ID {
			if a, known, err := p.again(ctx, c, r); known || err != nil {
				return a, err
			}
		}
		if v := hindered(c, p.d.now()); v != standing(OK) {
			return hindrance(c, v), nil
		}
		b, a, err := p.head(ctx, c, r)
		if err != nil || a.Outcome != OK {
			return a, err
		}
		if do == nil {
			a.Batch = b
			return a, nil
		}
		if a, done, err := do(r, c, b); done || err != nil {
			return a, err
		}
		if tries == outrun {
			return Answer{}, errOutran
		}
	}
}

// checked is the request with its defaults, or what is wrong with it.
func (r Request) checked(lease time.Duration) (Request, error) {
	r.Lease = cmp.Or(r.Lease, lease)
	b := Reader{Name: r.Consumer, MaxMessages: r.MaxMessages, MaxBytes: r.MaxBytes}
	if err := cmp.Or(validate(r.Queue, r.Consumer), bounds.Text("request", r.ID, 1, maxOp),
		validateLease(r.Lease), b.Validate()); err != nil {
		return r, err
	}
	if limit := cmp.Or(r.MaxMessages, request.MaxMessages); len(r.Seqs) > limit {
		return r, invalid.New(invalid.OutOfRange, "seqs",
			fmt.Sprintf("has %d: it must have at most %d", len(r.Seqs), limit))
	}
	r.MaxMessages, r.MaxBytes = cmp.Or(r.MaxMessages, request.DefaultMessages),
		cmp.Or(r.MaxBytes, request.DefaultBytes)
	return r, nil
}

func validateLease(lease time.Duration) error {
	return bounds.Check("lease", lease, request.MinLease, request.MaxLease)
}

// consumer reads a consumer, and finishes its start where that is still open.
func (p *puller) consumer(ctx context.Context, queue, name string) (Consumer, error) {
	c, err := p.d.store.Consumer(ctx, queue, name)
	if err == nil && c.Starting != "" {
		started, failed := p.d.finishStart(ctx, c)
		if failed != nil && !errors.Is(failed, errOutran) {
			return c, failed
		}
		c = started
	}
	if err == nil && !c.Exists() {
		err = ErrNoConsumer
	}
	return c, err
}

// again answers a Claim whose request is known already.
func (p *puller) again(ctx context.Context, c Consumer, r Request) (Answer, bool, error) {
	if c.State != Started {
		v := judge(c, c.Token)
		return hindrance(c, v), v != foreign && v != forgotten, nil
	}
	reading := plan{Sorter: p.d.sorter, Queue: c.Queue, Position: c.To,
		MaxMessages: request.MaxMessages, MaxBytes: math.MaxInt}
	got, err := reading.next(ctx, c.From, 0, 0)
	if isA[*cursor.MissingError](err) || err == nil && got.To != c.To {
		err = fmt.Errorf("read queue %q: %w", c.Queue,
			&cursor.MissingError{Queue: c.Queue, Seq: got.To + 1})
	}
	return give(c, batch(c, got)), true, err
}

// hindered says why nothing can be claimed; OK where something can.
func hindered(c Consumer, now time.Time) standing {
	over := c.LeaseUntil.Before(ddb.ToMillis(now))
	switch {
	case c.State == InDoubt, c.State == Prepared && over:
		return InDoubt
	case c.State == Started && (!over || c.Deferred), c.State == Prepared, c.State == Sending:
		return standing(Busy)
	case c.Paused != "", c.Starting != "":
		return standing(Paused)
	case c.State == Blocked:
		return Blocked
	case c.State == Idle && now.Before(c.RetryAt):
		return standing(Wait)
	}
	return standing(OK)
}

// hindrance is the answer that nothing can be claimed.
func hindrance(c Consumer, at standing) Answer {
	a := answer(c, at)
	switch a.Outcome {
	case Busy:
		// Another's claim: until when, and nothing that would let one operation on it.
		a.Batch = Batch{Queue: c.Queue, Consumer: c.Name, Rewinds: c.Rewinds}
		if c.Deferred || c.State == Sending {
			// Others end both after their lease: a caller that waits until then would ask without
			// end.
			a.Until = time.Time{}
		}
	case Wait:
		a.Reason = reasonFailed
		a.Until, a.Detail, a.ReplyQueue = c.RetryAt, errtext.Shown(c.Error, c.Shown), c.ReplyQueue
	case Paused:
		a.Detail = c.Paused
	case Blocked:
		a.From, a.To = c.Delivered, c.Delivered+1
		a.Detail, a.ReplyQueue = errtext.Shown(c.Error, c.Shown), c.ReplyQueue
	}
	return a
}

// head reads what waits first. The answer is OK where there is something.
func (p *puller) head(ctx context.Context, c Consumer, r Request) (Batch, Answer, error) {
	a := answer(c, standing(OK))
	a.Batch, a.Until = Batch{Queue: c.Queue, Consumer: c.Name, Rewinds: c.Rewinds}, time.Time{}
	// The position is read after the consumer: nobody is ahead of it.
	cur, err := p.d.sorter.Status(ctx, r.Queue)
	if err != nil {
		return Batch{}, a, err
	}
	reading := p.reading(r, cur.Position)
	if len(r.Seqs) > 0 {
		last := r.Seqs[len(r.Seqs)-1]
		if last <= c.Delivered || last > cur.Position {
			return Batch{}, a, notHead(r, fmt.Sprintf("%d to %d", c.Delivered+1, cur.Position))
		}
		reading.Position, reading.MaxMessages = last, request.MaxMessages
	}
	if reading.Position <= c.Delivered {
		a.Outcome = Empty
		return Batch{}, a, nil
	}
	got, err := reading.next(ctx, c.Delivered, c.failedTo(), c.Attempts)
	b := batch(c, got)
	b.Attempt, b.Rewinds = max(c.Attempts+1, c.attempt()), c.Rewinds
	switch {
	case isA[*cursor.MissingError](err):
		a.Outcome, a.From, a.To = Missing, c.Delivered, c.Delivered+1
		a.Detail = fmt.Sprintf("seq %d is at or under the position, but not stored", a.To)
	case err != nil:
		return b, a, err
	case len(r.Seqs) > 0 && !slices.Equal(r.Seqs, seqsOf(b)):
		return b, a, notHead(r, fmt.Sprint(seqsOf(b)))
	}
	return b, a, nil
}

// notHead is the error of a request for messages that are not those that a claim may have.
func notHead(r Request, wait string) error {
	return invalid.New(invalid.Clash, "seqs", fmt.Sprintf("must be the messages that wait first within the bounds, which are %s: they are %d", wait, r.Seqs))
}

func (p *puller) reading(r Request, position int64) plan {
	return plan{Sorter: p.d.sorter, Queue: r.Queue, Position: position, MaxMessages: r.MaxMessages,
		MaxBytes: r.MaxBytes, MaxAttempts: p.maxAttempts, Answer: p.answer}
}

func batch(c Consumer, got cursor.Batch) Batch {
	return Batch{Queue: c.Queue, Consumer: c.Name, From: got.From, To: got.To, Messages: got.Messages,
		Skipped: got.Skipped}
}

func seqsOf(b Batch) []int64 {
	seqs := make([]int64, len(b.Messages))
	for i, m := range b.Messages {
		seqs[i] = m.Seq
	}
	return seqs
}
