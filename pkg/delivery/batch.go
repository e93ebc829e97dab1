package delivery

import (
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Batch is a part of a queue, in order and without a gap, delivered to one consumer under a claim.
type Batch struct {
	Queue    string
	Consumer string
	Token    Token
	// From and To: the batch is the seqs From < seq <= To.
	From, To int64
	// Messages are the messages of the range, in order; the skipped seqs are not among them.
	Messages []cursor.Message
	// Skipped are the seqs of the range that will never come, in order.
	Skipped []int64
	// Edges are, where the batch is tracked, the root edges of its chain's tree, one a message: its
	// work is done when [xorack.Acker.Done] was called for each of them, and of all that was
	// started under them. nil where it is not.
	Edges []xorack.Edge
	// Attempt is 1 the first time that the range is delivered, and rises each time until it is
	// committed, also where it comes by parts, but for the times that its sink was away.
	Attempt int
	// Rewinds is how often an operator set this consumer back. A sink that drops repeats has it in
	// the repeat's key, so that a replay goes through.
	Rewinds int64

	// answer is what the sink says that it answered; nil where nobody keeps it.
	answer *Response
	// deferred is for how long the handler left the commit to others; nil where it cannot.
	deferred *time.Duration
	// outbox gathers the replies of a batch that takes some: see Reply.
	outbox *outbox
}

// Defer leaves the commit of the batch to the worker that the handler passes the [Batch].Token on
// to, for so long, 1 second to 30 days: when the handler has returned nil, the claim stays in
// flight. The worker commits or fails it by [Claims] (Commit, Abort), or over HTTP, and may extend
// it. Where it does not in time, the batch failed, and comes again.
//
// For a tracked batch the chain's deadline counts. A batch that is deferred takes no replies.
func (b Batch) Defer(work time.Duration) error {
	if b.deferred == nil {
		return errors.New("no Deliverer claimed this batch: its claim is committed by its token anyway")
	}
	if err := bounds.Check("defer", work, time.Second, xorack.MaxDeadline); err != nil {
		return err
	}
	*b.deferred = work
	return nil
}

// errNoReplies: a batch that is tracked or deferred, or was not claimed by this package's own
// loops.
var errNoReplies = errors.New("this batch takes no replies: it is tracked or deferred, or its claim is committed by Claims.Commit, which takes them")

// Reply adds replies to the commit of the batch: they are stored exactly once if the batch is
// committed, in this order in each queue, and not at all otherwise. Call it before the handler, or
// the effect, returns. They are copied: what they were made from may be used again.
//
// The error is a *cursor.InvalidError, and none of the replies was added: one of them is out of its
// bounds, or they are too many. The batch fails, also where the handler does not return the error:
// a batch is not committed without a reply that it was to have.
func (b Batch) Reply(replies ...Reply) error {
	if b.outbox == nil {
		return errNoReplies
	}
	return b.outbox.add(replies...)
}

// Answered notes what the sink answered when it took the batch, the last time counts: it is kept
// with the consumer, by the commit's own write, for people to see. Its text is cut to 200 bytes.
func (b Batch) Answered(a Response) {
	if b.answer != nil {
		*b.answer = a
	}
}

// Replies are those that were added to the batch. The error is why some were refused: then the
// batch must not be committed, though its handler says so.
func (b Batch) Replies() ([]Reply, error) {
	if b.outbox == nil {
		return nil, nil
	}
	return b.outbox.all()
}

// Answerable is the batch, such that replies can be added to it: for who applies what was claimed,
// and for tests of handlers.
func (b Batch) Answerable() Batch {
	b.outbox = &outbox{}
	return b
}
