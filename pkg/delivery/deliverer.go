package delivery

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Deliverer hands queues' messages on to consumers. It may be used by any number of goroutines, and
// any number of Deliverers in any number of processes may work on the same tables.
type Deliverer struct {
	store       *requests
	sorter      *cursor.Sorter
	lease       time.Duration
	grace       time.Duration
	margin      time.Duration
	now         func() time.Time
	newReq      func() string
	forEach     func(n int, do func(i int))
	sleep       func(context.Context, time.Duration) error
	observe     func(Delivery)
	wakeUp      func(queue, consumer string, due time.Time)
	wakeCircuit func(consumer string, due time.Time)
	acker       *xorack.Acker
	knownQueues bool
	aside       func(ctx context.Context, queue, consumer string) error
	looks       looks
	left        seen
	slow        slow
}

// Options are the parts of a [Deliverer] that have defaults. A nil Options means all of them.
type Options struct {
	// Lease is how long a claim is good for where the context has no deadline, 30 seconds to 12
	// hours; 1 minute where it is 0. It must be longer than a batch takes, and than clocks are
	// apart.
	Lease time.Duration
	// Grace is what a claim is good for beyond the context's deadline, 1 second to 1 hour; 10
	// seconds where it is 0. A claim is good for 30 seconds at least.
	Grace time.Duration
	// Margin is how long before its deadline a Deliver stops: 0.1 seconds to 5 minutes; 2 seconds
	// where it is 0. Each delivery must end by then.
	Margin time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// NewReq returns a name for a request that no other request has, 1 to 64 characters; nil means
	// random ones.
	NewReq func() string
	// ForEach runs do(0) … do(n-1) and returns when all have returned: OnStream delivers to queues
	// through it. nil means side by side, up to 64 at a time; no operation starts a goroutine but
	// by this. The simulator hands in one that runs them one after the other.
	ForEach func(n int, do func(i int))
	// Sleep waits, or returns the context's error; nil means a timer. Queues that an open circuit
	// held back are woken up at a bounded rate by it.
	Sleep func(context.Context, time.Duration) error
	// Observe, if not nil, is called with how each delivery ended, and why a stream's record cannot
	// be read: then there is nothing but Err. It may be called from several goroutines at once.
	Observe func(Delivery)
	// WakeUp, if not nil, is called when something of a consumer is due: a batch that failed is
	// tried again, or the claim that a delivery was stopped by may be taken over. [Deliverer.Wake]
	// should be called then. Nothing depends on it: the sweep finds what is due. It may be called
	// from several goroutines at once, and must not wait for anything.
	WakeUp func(queue, consumer string, due time.Time)
	// WakeCircuit is the same for a consumer's circuit: [Deliverer.Wake] without a queue should be
	// called then.
	WakeCircuit func(consumer string, due time.Time)
	// Aside, if not nil, has [Deliverer.Deliver] called for a reader of one queue by a call of its
	// own, and returns when that is sure to be made, or cannot be asked for now: then WakeUp is
	// called for the queue. It is asked by OnStream, for readers with Inline. What is lost of it,
	// the sweep makes up for. It may be called from several goroutines at once.
	Aside func(ctx context.Context, queue, consumer string) error
	// Acker has the chains of tracked batches. It is needed where a Reader has Track, and in the
	// sweep: without one, a claim whose chain was extended expires with its first deadline.
	Acker *xorack.Acker
	// KnownQueues lets replies go only to queues that are there, instead of making them: a reply to
	// another one fails its batch where it is pushed to, and is refused in two phases.
	KnownQueues bool
}

// New returns a Deliverer on the store and on the sorter's tables, or an error that names the
// option that is out of its bounds.
func New(store *Store, sorter *cursor.Sorter, options *Options) (*Deliverer, error) {
	if options == nil {
		options = &Options{}
	}
	d := &Deliverer{
		store: &store.requests, sorter: sorter,
		lease:  cmp.Or(options.Lease, time.Minute),
		grace:  cmp.Or(options.Grace, 10*time.Second),
		margin: cmp.Or(options.Margin, 2*time.Second),
		now:    options.Now, newReq: options.NewReq, forEach: options.ForEach, observe: options.Observe,
		wakeUp:      options.WakeUp,
		wakeCircuit: options.WakeCircuit,
		sleep:       options.Sleep,
		aside:       options.Aside,
		slow:        slow{until: map[consumerKey]time.Time{}},
		acker:       options.Acker,
		knownQueues: options.KnownQueues,
		looks:       looks{of: map[string]*look{}},
		left:        seen{left: map[consumerKey]idle{}},
	}
	if err := cmp.Or(
		bounds.Check("lease", d.lease, request.MinLease, request.MaxLease),
		bounds.Check("grace", d.grace, time.Second, time.Hour),
		bounds.Check("margin", d.margin, 100*time.Millisecond, 5*time.Minute),
	); err != nil {
		return nil, err
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.newReq == nil {
		d.newReq = request.Random
	}
	if d.forEach == nil {
		d.forEach = fanout.SideBySide
	}
	if d.sleep == nil {
		d.sleep = pause.For
	}
	if d.observe == nil {
		d.observe = func(Delivery) {}
	}
	return d, nil
}

// Reader is a named consumer and what it does with its batches. The zero fields mean their
// defaults, but for Name and Handle.
type Reader struct {
	// Name is the consumer's name in each queue: 1 to 128 of a-z, A-Z, 0-9, '.', '-' and '_'.
	Name string
	// Handle is given each batch. What it returns, or panics with, is why the batch is tried again;
	// Permanent says that it need not be, and SinkAway that the try counts for nothing. Its context
	// ends some time before the claim does. It may be called from several goroutines at once, for
	// different queues; [Options].ForEach is how that is changed.
	Handle func(context.Context, Batch) error
	// Start is where it begins in a queue that it has never read; First where it is the zero Start.
	Start Start
	// Prefix limits it to the queues whose names begin so.
	Prefix string
	// MaxMessages is the most messages of a batch, 1 to 1,000; 100.
	MaxMessages int
	// MaxBytes bounds the bodies of a batch, 1 to 16 MB; 4 MB. A single message may have more.
	MaxBytes int
	// MaxAttempts is how often a message is tried alone before the consumer is Blocked, 2 to 1,000;
	// 5. A batch comes twice as it is, and then by halves, and so many times at most that the next
	// would be the MaxAttempts-th: then its first message is alone. It is tried on until BlockAfter
	// is over, and for longer while the sink may be at fault: it took nothing since the failure
	// before, and other queues fail.
	MaxAttempts int
	// BlockAfter is how long after its first failure a message that failed so often blocks its
	// consumer, 1 second to 30 days; 1 hour. Shorter than the sink may be away, a part of it may
	// block queues.
	BlockAfter time.Duration
	// Retries is how long after each failure a message is tried again, the last one again and
	// again: 1 to 10 of 0.1 seconds to 1 hour; 1 s, 10 s, 1 min and 5 min where it is empty. A
	// tracked batch whose chain failed comes again by the default.
	Retries []time.Duration
	// Circuit is when nothing but a probe is delivered any more, because the sink is away.
	Circuit Circuit
	// Apart says that each queue has a sink of its own: what one of them takes or does not take
	// says nothing of another's. Nothing is then kept or looked at of what other queues learnt, no
	// circuit opens, and a message that fails as often as it may blocks once BlockAfter has passed.
	// Such a reader is not tracked.
	Apart bool
	// Changed, if not nil, reports whether the sink of a queue of a reader that is Apart was made
	// another one since a batch failed, such as by a new address: it waits for no retry then. It is
	// asked where something wakes up a queue that waits for one: the sweep does with each of its
	// rounds.
	Changed func(ctx context.Context, queue string, failed time.Time) bool
	// Inline is how long a queue, and each batch of it, may take where OnStream delivers it beside
	// others, 0.1 seconds to 1 minute; where it is 0, or there is no [Options].Aside, queues have
	// turns of 10 seconds, and batches the time that there is. A batch that takes longer is ended,
	// and comes again, under a higher token, by a call of the queue's own. So does what a queue has
	// besides; and all of a queue whose last batch failed, or that was slow in the last 10 minutes,
	// as its sink's answer ([Batch.Answered]) shows, or this process knows.
	Inline time.Duration
	// Track, where it is not 0, defers each batch for so long, 1 second to 30 days, with a chain of
	// package xorack that has a root edge for each message ([Batch].Edges). Handle hands them over
	// with the messages, and the worker that has done a message's work reports its edge as done.
	// The batch is committed when its chain is done, and comes again when that failed, or was not
	// done in this time. A chain takes 1,000 operations, so a batch of many messages with large
	// trees needs [xorack.Acker.Fan]. It takes no replies. [Batch.Defer] defers a batch without a
	// chain.
	Track time.Duration
	// Eager has what was moved delivered to it at once, beside the stream.
	Eager bool
	// Handed, if not nil, is called for each batch that Handle was called for, when it is known
	// what became of it. It may be called from several goroutines at once, and must not wait for
	// anything.
	Handed func(Handed)
}

func (r Reader) withDefaults() Reader {
	r.MaxMessages = cmp.Or(r.MaxMessages, request.DefaultMessages)
	r.MaxBytes = cmp.Or(r.MaxBytes, request.DefaultBytes)
	r.MaxAttempts = cmp.Or(r.MaxAttempts, request.DefaultAttempts)
	r.BlockAfter = cmp.Or(r.BlockAfter, request.DefaultBlock)
	if len(r.Retries) == 0 {
		r.Retries = request.DefaultRetries
	}
	r.Circuit = r.Circuit.withDefaults()
	return r
}

// Validate reports the first field that is out of its bounds.
func (r Reader) Validate() error {
	if err := ValidateConsumer(r.Name); err != nil {
		return err
	}
	r = r.withDefaults()
	return cmp.Or(
		bounds.Check("maxMessages", r.MaxMessages, 1, request.MaxMessages),
		bounds.Check("maxBytes", r.MaxBytes, 1, request.MaxBytes),
		bounds.Check("maxAttempts", r.MaxAttempts, request.MinAttempts, request.MaxAttempts),
		bounds.Check("blockAfter", r.BlockAfter, request.MinBlock, request.MaxBlock),
		validateDelays("retries", r.Retries), r.Circuit.validate(), r.validateTrack(),
		bounds.Check("inline", cmp.Or(r.Inline, minInline), minInline, maxInline),
	)
}

// validateTrack reports a time of work that is out of its bounds, or of a reader whose queues have
// sinks of their own: the end of a chain knows nothing of them.
func (r Reader) validateTrack() error {
	switch {
	case r.Track == 0:
		return nil
	case r.Apart:
		return invalid.New(invalid.Clash, "track",
			"is set of a reader whose queues have sinks of their own")
	}
	return bounds.Check("track", r.Track, time.Second, xorack.MaxDeadline)
}

// validateDelays reports the first delay of a schedule that is out of its bounds.
func validateDelays(field string, delays []time.Duration) error {
	if len(delays) > request.MaxDelays {
		return invalid.New(invalid.OutOfRange, field,
			fmt.Sprintf("has %d times: at most %d are allowed", len(delays), request.MaxDelays))
	}
	for i, delay := range delays {
		err := bounds.Check(fmt.Sprintf("%s[%d]", field, i), delay, request.MinDelay, request.MaxDelay)
		if err != nil {
			return err
		}
	}
	return nil
}

// takes reports why this Deliverer cannot work for a reader.
func (d *Deliverer) takes(r Reader) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if r.Track > 0 && d.acker == nil {
		return errNoAcker
	}
	return nil
}
