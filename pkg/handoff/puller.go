package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Puller speaks [Claims] on the tables. It may be used by any number of
// goroutines, and any number of Pullers in any number of processes may work on
// the same tables.
type Puller struct {
	d           *Deliverer
	maxAttempts int
}

var _ Claims = (*Puller)(nil)

// PullOptions are the parts of a [Puller] that have defaults. A nil PullOptions
// means all of them.
type PullOptions struct {
	// MaxAttempts is how often a message is tried before the consumer is
	// Blocked, 2 to 1,000; 5. From the second attempt on it stands alone.
	MaxAttempts int
}

// NewPuller returns a Puller with the Deliverer's tables, clock and lease.
func NewPuller(d *Deliverer, options *PullOptions) (*Puller, error) {
	p := &Puller{d: d, maxAttempts: defaultAttempts}
	if options != nil && options.MaxAttempts != 0 {
		p.maxAttempts = options.MaxAttempts
	}
	if p.maxAttempts < minAttempts || p.maxAttempts > maxAttempts {
		return nil, &cursor.InvalidError{Field: "maxAttempts", Code: invalid.OutOfRange, Problem: fmt.Sprintf("must be from %d to %d", minAttempts, maxAttempts)}
	}
	return p, nil
}

// outrun is how often a Claim looks again where another was faster.
const outrun = 4

// List implements [Claims]: 2 reads, and the range.
func (p *Puller) List(ctx context.Context, queue, consumer string, bounds Bounds) (Answer, error) {
	return p.look(ctx, Request{Queue: queue, Consumer: consumer, ID: "list", Bounds: bounds}, nil)
}

// Claim implements [Claims]: 2 reads, the range, and a write of 1 unit. Where
// nothing is ready, 2 reads.
func (p *Puller) Claim(ctx context.Context, r Request) (Answer, error) {
	return p.look(ctx, r, func(r Request, c Consumer, b Batch) (Answer, bool, error) {
		now := p.d.now()
		if c.Attempts >= p.maxAttempts {
			blocked, made, err := p.d.store.Block(ctx, c, now)
			return blocked.held(Stuck), made, err
		}
		claimed, mine, err := p.d.store.Claim(ctx, c, Claim{Req: r.ID, To: b.To, Now: now, LeaseUntil: now.Add(r.Lease)})
		if err != nil || !mine {
			return Answer{}, false, err
		}
		return claimed.give(b), true, nil
	})
}

// give is the answer that hands a batch out.
func (c Consumer) give(b Batch) Answer {
	a := c.answer(OK)
	a.Messages, a.Skipped = b.Messages, b.Skipped
	return a
}

// look looks at what is ready and does something with it, again and again while
// that is outrun by others; nil does nothing.
func (p *Puller) look(ctx context.Context, r Request, do func(Request, Consumer, Batch) (Answer, bool, error)) (Answer, error) {
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
		if v := c.hindered(p.d.now()); v != OK {
			return c.held(v), nil
		}
		b, a, err := p.head(ctx, c, r)
		if err != nil || a.Verdict != OK {
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
			return Answer{}, ErrOutran
		}
	}
}

// checked is the request with its defaults, or what is wrong with it.
func (r Request) checked(lease time.Duration) (Request, error) {
	if err := validate(r.Queue, r.Consumer); err != nil {
		return r, err
	}
	if err := validateReq(r.ID); err != nil {
		return r, err
	}
	if r.Lease == 0 {
		r.Lease = lease
	}
	if err := validateLease(r.Lease); err != nil {
		return r, err
	}
	b := Reader{Name: r.Consumer, MaxMessages: r.MaxMessages, MaxBytes: r.MaxBytes}
	if err := b.Validate(); err != nil {
		return r, err
	}
	if limit := cmp.Or(r.MaxMessages, maxMessages); len(r.Seqs) > limit {
		return r, &cursor.InvalidError{Field: "seqs", Code: invalid.OutOfRange, Problem: fmt.Sprintf("has %d: it must have at most %d", len(r.Seqs), limit)}
	}
	b = b.withDefaults()
	r.Bounds = Bounds{b.MaxMessages, b.MaxBytes}
	return r, nil
}

func validateReq(req string) error {
	if len(req) == 0 || len(req) > MaxOp || !utf8.ValidString(req) {
		return &cursor.InvalidError{Field: "request", Code: invalid.TextCode(req, MaxOp), Problem: fmt.Sprintf("must be 1 to %d bytes of UTF-8", MaxOp)}
	}
	return nil
}

func validateLease(lease time.Duration) error {
	if lease < minLease || lease > maxLease {
		return &cursor.InvalidError{Field: "lease", Code: invalid.OutOfRange, Problem: fmt.Sprintf("must be from %s to %s", minLease, maxLease)}
	}
	return nil
}

// maxLease is the longest lease.
const maxLease = 12 * time.Hour

// consumer reads a consumer, and finishes its start where that is still open.
func (p *Puller) consumer(ctx context.Context, queue, name string) (Consumer, error) {
	c, err := p.d.store.Consumer(ctx, queue, name)
	if err == nil && c.Starting != "" {
		started, failed := p.d.finishStart(ctx, c)
		if failed != nil && !errors.Is(failed, ErrOutran) {
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
func (p *Puller) again(ctx context.Context, c Consumer, r Request) (Answer, bool, error) {
	if c.State == Started {
		b, err := p.claimedBatch(ctx, c)
		return c.give(b), true, err
	}
	v := c.judge(c.Token)
	return c.held(v), v != Foreign && v != Forgotten, nil
}

// claimedBatch reads the range of the claim that is out.
func (p *Puller) claimedBatch(ctx context.Context, c Consumer) (Batch, error) {
	run := &delivery{
		Deliverer: p.d, Delivery: Delivery{Queue: c.Queue, Consumer: c.Name}, position: c.To,
		reader: Reader{MaxMessages: maxMessages, MaxBytes: int(^uint(0) >> 1)},
	}
	b, err := run.read(ctx, c.From, 0, 0)
	if err == nil && b.To != c.To {
		err = fmt.Errorf("read queue %q: %w", c.Queue, &cursor.MissingError{Queue: c.Queue, Seq: b.To + 1})
	}
	return b, err
}

// hindered says why nothing can be claimed; OK where something can.
func (c Consumer) hindered(now time.Time) Verdict {
	over := c.LeaseUntil.Before(ddb.ToMillis(now))
	switch {
	case c.State == Unknown, c.State == Ready && over:
		return InDoubt
	case c.State == Started && (!over || c.Tracked), c.State == Ready, c.State == Sending:
		return BusyUntil
	case c.Paused != "", c.Starting != "":
		return OnHold
	case c.State == Blocked:
		return Stuck
	case c.State == Idle && now.Before(c.RetryAt):
		return WaitUntil
	}
	return OK
}

// held is the answer that nothing can be claimed.
func (c Consumer) held(v Verdict) Answer {
	a := c.answer(v)
	switch v {
	case BusyUntil:
		// Another's claim: until when, and nothing that would let one act on it.
		a.Batch = Batch{Queue: c.Queue, Consumer: c.Name, Rewinds: c.Rewinds}
		if c.Tracked || c.State == Sending {
			// Neither ends with its lease: who waits until then would ask without end.
			a.Until = time.Time{}
		}
	case WaitUntil:
		a.Until, a.Detail, a.ReplyQueue = c.RetryAt, c.Error, c.ReplyQueue
	case OnHold:
		a.Detail = c.Paused
	case Stuck:
		a.From, a.To, a.Detail, a.ReplyQueue = c.Delivered, c.Delivered+1, c.Error, c.ReplyQueue
	}
	return a
}

// head reads what waits first. The answer is OK where there is something.
func (p *Puller) head(ctx context.Context, c Consumer, r Request) (Batch, Answer, error) {
	a := c.answer(OK)
	a.Batch, a.Until = Batch{Queue: c.Queue, Consumer: c.Name, Rewinds: c.Rewinds}, time.Time{}
	// The position is read after the consumer: nobody is ahead of it.
	it, err := p.d.sorter.Status(ctx, r.Queue)
	if err != nil {
		return Batch{}, a, err
	}
	run := &delivery{
		Deliverer: p.d, Delivery: Delivery{Queue: r.Queue, Consumer: r.Consumer},
		reader: Reader{MaxMessages: r.MaxMessages, MaxBytes: r.MaxBytes}, position: it.Position,
	}
	if len(r.Seqs) > 0 {
		last := r.Seqs[len(r.Seqs)-1]
		if last <= c.Delivered || last > it.Position {
			a.Verdict, a.Detail = NotHead, fmt.Sprintf("the messages that wait are %d to %d", c.Delivered+1, it.Position)
			return Batch{}, a, nil
		}
		run.position, run.reader.MaxMessages = last, maxMessages
	}
	if run.position <= c.Delivered {
		a.Verdict = Nothing
		return Batch{}, a, nil
	}
	b, err := run.read(ctx, c.Delivered, c.SingleTo, c.Attempts)
	if err != nil {
		return b, a, err
	}
	b.Attempt, b.Rewinds = c.Attempts+1, c.Rewinds
	switch {
	case run.Ended == Missing:
		a.Verdict, a.From, a.To = Gone, c.Delivered, c.Delivered+1
		a.Detail = fmt.Sprintf("seq %d is at or under the position, but not stored", a.To)
	case len(r.Seqs) > 0 && !slices.Equal(r.Seqs, seqsOf(b)):
		a.Verdict, a.Detail = NotHead, fmt.Sprintf("the messages that wait first, and that a claim may have, are %d", seqsOf(b))
	}
	return b, a, nil
}

func seqsOf(b Batch) []int64 {
	seqs := make([]int64, len(b.Messages))
	for i, m := range b.Messages {
		seqs[i] = m.Seq
	}
	return seqs
}
