package delivery

import (
	"context"
	"time"
)

// Claims is the two-phase protocol as a consumer with a database of its own speaks it: list what is
// ready, claim it, do the work in a transaction, ask by Prepare whether that may be committed,
// commit it, and say so. [NewClaims] speaks it on the tables, pullhttp.Client over HTTP; both are
// held to what is said here by the same tests. [Consume] is the whole loop.
//
// What can be expected is an [Answer]: its Outcome says how it went. An error means that nothing is
// known: the call may have taken effect, and is to be repeated. Every call repeated gives the same
// answer.
//
// A consumer that is not there is delivery.ErrNoConsumer, a queue that was never put to
// cursor.ErrNoQueue, and what is out of its bounds a *cursor.InvalidError.
type Claims interface {
	// Queues lists a page of the queues whose names begin with prefix, in no order. after is the
	// next of the page before, empty for the first page; next is empty after the last page. A page
	// may be empty and have a next.
	Queues(ctx context.Context, prefix, after string) (page []Queue, next string, err error)

	// Create creates a consumer that begins with the oldest message stored. A consumer that is
	// there stays as it is.
	Create(ctx context.Context, queue, consumer string) error

	// List shows what a claim would get now, without claiming it: all of it or nothing is to be
	// claimed then. OK, or what Claim would answer instead. ID, Seqs and Lease of the request do
	// not count.
	List(ctx context.Context, r Request) (Answer, error)

	// Claim gives the consumer the messages that wait first, exclusively until Answer.Until. OK, or
	// why there are none: Empty, Busy, Wait, InDoubt, Paused, Blocked, Missing. Seqs that do not
	// wait first are a *cursor.InvalidError.
	//
	// Repeated under the same ID while its claim is in flight it answers with the same messages;
	// after that, with how the claim ended.
	Claim(ctx context.Context, r Request) (Answer, error)

	// Extend sets the end of a claim's lease to a time from now: 30 seconds to 12 hours, the usual
	// lease where it is 0.
	Extend(ctx context.Context, h Held, lease time.Duration) (Answer, error)

	// Prepare asks whether the consumer's transaction may be committed. OK: yes, now. Anything
	// else, and an error: roll it back; after an error, settle.
	Prepare(ctx context.Context, h Held) (Answer, error)

	// Commit says that the consumer's transaction is committed. It does so for a claim that is in
	// doubt, or in quarantine, as well.
	//
	// The replies are stored before, exactly once however often Commit is repeated, where the claim
	// can be committed, and otherwise not at all: they must be those that the transaction kept with
	// its marker. Full: a queue that they go to is full, and nothing of the claim is changed,
	// though replies to other queues may be stored already; repeat it later, with the same replies.
	// A reply that can never be stored is refused: recorded among the operations of the consumer's
	// queue and announced, and the commit goes on. Replies out of the bounds that
	// [delivery.Batch.Reply] has are a *cursor.InvalidError, and nothing is stored.
	Commit(ctx context.Context, h Held, replies ...Reply) (Answer, error)

	// CommitAndClaim is Commit and then Claim, in one write where they can be one. done is what
	// Commit would answer, next what Claim would; next is the zero Answer where no claim was tried,
	// because nothing is known to wait, or because the commit did not go well: claim then, as ever.
	// r must be of the same queue and consumer, and name no Seqs.
	CommitAndClaim(ctx context.Context, h Held, r Request,
		replies ...Reply) (done, next Answer, err error)

	// Abort gives a claim back that was not prepared: its messages are handed out again, once as
	// they were and then by halves. InDoubt where it was prepared: only the consumer's database
	// knows then, so settle.
	Abort(ctx context.Context, h Held, reason string) (Answer, error)

	// Settle says how a claim ended, by the marker in the consumer's database: Committed or
	// Aborted, nothing else and by no other evidence. It is Commit, with the replies beside the
	// marker, or the end of the claim whatever it was at.
	Settle(ctx context.Context, h Held, outcome TokenOutcome, reason string,
		replies ...Reply) (Answer, error)
}

// Held names a claim.
type Held struct {
	Queue, Consumer string
	Token           Token
}

func heldBy(c Consumer) Held { return Held{c.Queue, c.Name, c.Token} }

// Held is the claim under which a batch is delivered.
func (b Batch) Held() Held { return Held{b.Queue, b.Consumer, b.Token} }

// Request is what a claim asks for.
type Request struct {
	Queue, Consumer string
	// ID names the request, 1 to 64 characters that no other request has: it becomes the token's
	// Req.
	ID string
	// MaxMessages is 1 to 1,000; 100 where it is 0.
	MaxMessages int
	// MaxBytes bounds the bodies, 1 to 16 MB; 4 MB where it is 0. A single message may have more.
	MaxBytes int
	// Seqs, where it is not empty, are the messages to claim, which must be those that wait first,
	// in order, as List showed them within the same bounds: these or none. There are MaxMessages at
	// most, and 1,000 where that is 0.
	Seqs []int64
	// Lease is how long the claim is valid, 30 seconds to 12 hours; the usual lease where it is 0.
	Lease time.Duration
}

// Answer is how a call went.
type Answer struct {
	Outcome Outcome
	// Reason tells outcomes of one kind apart, in a word: see [Outcome].
	Reason string
	// Batch is the claim's: its messages after OK of Claim and List, its token and range without
	// them otherwise; or the zero Batch.
	Batch
	// Until is the end of the lease, or until when to wait; the zero time where there is nothing to
	// say.
	Until time.Time
	// Committed is the highest number of a claim that is remembered to be committed, 0 for none: a
	// consumer's database that does not know it is not what it was.
	Committed int64
	// Unsettled are the claims in quarantine that are not settled.
	Unsettled []Held
	// Detail says more, to people. Where ReplyQueue is not empty, it is about the replies to that
	// queue, which is not in it. Over HTTP, it is.
	Detail     string
	ReplyQueue string
}

// judge says how a claim ended, or what it is at.
func judge(c Consumer, t Token) standing {
	if q, there := c.Quarantined(t); there {
		if q.unsettled() {
			return unsettled
		}
		return Aborted
	}
	switch out := c.Token == t; {
	case out && c.Deferred:
		return Deferred
	case out && c.State == Sending:
		return Committed // as good as
	case out && c.State == Started:
		return notPrepared
	case out && c.State == Prepared:
		return Prepared
	case out && c.State == InDoubt:
		return InDoubt
	}
	switch outcome, known := c.Outcome(t); {
	case known:
		return standing(outcome)
	case t != c.Token && t.N >= c.Token.N, c.knows(t.N):
		return foreign // the number was given to another
	}
	return forgotten
}

// answer is what is reported of a consumer, with the token and the range of the claim that is in
// flight.
func answer(c Consumer, at standing) Answer {
	a := Answer{Batch: Batch{Queue: c.Queue, Consumer: c.Name, Rewinds: c.Rewinds}}
	a.Outcome, a.Reason = at.outcome()
	if c.Claimed() {
		a.Token, a.From, a.To, a.Attempt = c.Token, c.From, c.To, c.attempt()
		a.Until = c.LeaseUntil
	}
	for _, r := range c.Outcomes {
		if r.Outcome == Committed {
			a.Committed = max(a.Committed, r.N)
		}
	}
	for _, q := range c.Quarantine {
		if q.unsettled() {
			a.Unsettled = append(a.Unsettled, Held{c.Queue, c.Name, q.Token})
		}
	}
	return a
}
