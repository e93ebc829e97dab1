package delivery

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// State is what a consumer of a queue is at.
type State string

const (
	// Idle: nobody has a claim.
	Idle State = "IDLE"
	// Started: a claim is in flight. It ends with its commit, its failure, or a takeover after its
	// lease.
	Started State = "STARTED"
	// Prepared: the claim's consumer may commit in its own database. Only that database knows
	// whether it did.
	Prepared = "PREPARED"
	// InDoubt: the claim is in doubt: it was prepared, and then its lease ran out. It is never
	// delivered again before it is settled.
	InDoubt = "IN_DOUBT"
	// Sending: the claim's range was delivered, and will be committed; its replies are being sent.
	// Any worker may finish the commit.
	Sending State = "SENDING"
	// Blocked: the message behind Delivered failed as often as it may. Nothing is delivered until
	// an operator skips or redrives it.
	Blocked = "BLOCKED"
)

// TokenOutcome is what became of a claim.
type TokenOutcome string

// Words of a consumer's state are those of verdicts and outcomes too, so they have no type.
const (
	// Committed: the claim's range was delivered.
	Committed = "COMMITTED"
	// Aborted: the process that had the claim gave it back.
	Aborted = "ABORTED"
	// Cancelled: the claim's lease ran out, and another ended it.
	Cancelled = "CANCELLED"
)

// refused is why an outcome cannot settle a claim.
func (o TokenOutcome) refused() error {
	if o == "" {
		return invalid.New(invalid.Missing, "outcome", "is missing: it must be COMMITTED or ABORTED")
	}
	return invalid.New(invalid.Unknown, "outcome",
		fmt.Sprintf("must be COMMITTED or ABORTED: it is %q", string(o)))
}

// remembered is how many claims' outcomes a consumer remembers.
const remembered = 4

// memory is what became of a claim; the zero value means no claim.
type memory struct {
	N       int64        `ddb:"n"`
	Outcome TokenOutcome `ddb:"outcome"`
	// Sum is a short hash of the token's request, so that a token of another request is known to be
	// none; empty in items of earlier versions.
	Sum string `ddb:"sum,optional"`
}

func remember(t Token, outcome TokenOutcome) memory {
	sum := sha256.Sum256([]byte(t.Req))
	return memory{t.N, outcome, base64.RawURLEncoding.EncodeToString(sum[:6])}
}

// Consumer is the durable record of a named reader of one queue: its lock, its state and how far it
// is. The zero Consumer means that it does not exist.
type Consumer struct {
	Queue string `ddb:"queue,key"`
	// Name is the consumer's: 1 to 128 bytes.
	Name string `ddb:"consumer,key"`
	// Delivered is the last seq that was delivered and committed, or skipped.
	Delivered int64 `ddb:"delivered"`
	State     State `ddb:"state,one=IDLE|STARTED|PREPARED|IN_DOUBT|SENDING|BLOCKED"`
	// Token is that of the last claim; an operation uses its number up too.
	Token Token `ddb:",inline"`

	Progress `ddb:",inline"`
	Control  `ddb:",inline"`
}

// Progress is what claims write of a consumer, and how they ended.
type Progress struct {
	// From and To are the range of the last claim: From < seq <= To.
	From int64 `ddb:"from"`
	To   int64 `ddb:"to"`
	// LeaseUntil is when a claim may be taken over, to the millisecond.
	LeaseUntil time.Time `ddb:"leaseUntil,omitzero"`
	// Deferred: the Started claim's batch was handed over, and the holder of the token commits or
	// fails it: the chain of its work, or a worker. The lease is that of the work.
	Deferred bool `ddb:"deferred,omitzero"`
	// Attempts is how often the message behind Delivered was claimed. It is counted by the claim,
	// so that a batch which kills its worker counts.
	Attempts int `ddb:"attempts"`
	// Together is how many of the Attempts had other messages with it: what ended one of these may
	// be the fault of another.
	Together int `ddb:"together,omitzero"`
	// Tried is how many claims failed that had messages up to TriedTo: the attempt goes on where a
	// batch comes by parts.
	Tried   int   `ddb:"tried,omitzero"`
	TriedTo int64 `ddb:"triedTo,omitzero"`
	// IsolateTo: up to this seq claims are smaller, because a batch up to there failed, or its
	// process died: by halves, until the bad message is alone.
	IsolateTo int64 `ddb:"isolateTo,omitzero"`
	// RetryAt is when a batch that failed is tried again; the zero time means at once.
	RetryAt time.Time `ddb:"retryAt,omitzero"`
	// Failed is when a batch last failed since the last commit, Error why. Where that is about
	// replies, ReplyQueue is the queue that they go to; it is not in Error.
	Failed     time.Time `ddb:"failed,omitzero"`
	Error      string    `ddb:"error,omitzero"`
	ReplyQueue string    `ddb:"replyQueue,omitzero"`
	// Shown is how many bytes of Error the queue's tenant may read; 0 for all.
	Shown int `ddb:"shown,omitzero"`
	// Away is how often in a row the sink was away when the message behind Delivered was tried:
	// such a try counts for nothing.
	Away int `ddb:"away,omitzero"`
	// FailingSince is when the message behind Delivered first failed alone.
	FailingSince time.Time `ddb:"failingSince,omitzero"`
	// Proven: when it last failed, the sink was known to take other batches, or no other queue
	// failed.
	Proven bool `ddb:"proven,omitzero"`
	// Last are the last attempts on the message behind Delivered that did not end with a commit,
	// the oldest first; the rest are zero.
	Last request.Attempts `ddb:"last,omitzero"`
	// Answer is what the sink answered when it took the last batch of which it said so.
	Answer Response `ddb:"answer,omitzero"`
	// BlockedSince is since when the state is Blocked.
	BlockedSince time.Time `ddb:"blockedSince,omitzero"`
	// Outcomes are those of the last claims, each in the slot N mod 4.
	Outcomes [remembered]memory
	// Quarantine are the claims that stayed in doubt too long, by their numbers from 0 on; the rest
	// are zero.
	Quarantine [maxQuarantined]Quarantined
	// Outbox are the queues that a Sending claim has replies for; the rest are zero.
	Outbox [maxReplyQueues]outgoing `ddb:"outbox,omitzero"`
	// Refused says which replies could not be stored.
	Refused refusals `ddb:",inline"`
	// Asked is a position that the queue has reached, noted while a claim was in flight by somebody
	// whom it stopped.
	Asked int64 `ddb:"asked,omitzero"`
}

// Control is what operators write of a consumer.
type Control struct {
	// Paused, where it is not empty, says why nothing is claimed, PausedSince since when.
	Paused      string    `ddb:"paused,omitzero"`
	PausedSince time.Time `ddb:"pausedSince,omitzero"`
	// Rewinds is how often the consumer was set to another position.
	Rewinds int64 `ddb:"rewinds"`
	// Starting, where it is not empty, is the operation that sets the consumer to a place: nothing
	// is claimed until it is sure that what lies behind that place is still stored.
	Starting string `ddb:"starting,omitzero"`
	// KeptFrom, where it is not 0, is the seq from which on that is sure.
	KeptFrom int64 `ddb:"keptFrom,omitzero"`
	// LastOp is the last operation of an operator, or the one that made the consumer.
	LastOp string `ddb:"lastOp"`
}

// outgoing is a queue for which a claim has replies. Their id derives from the claim and the queue.
type outgoing struct {
	Queue string `ddb:"queue"`
	// Numbered says that they have seqs.
	Numbered bool `ddb:"kind,omitzero,is=numbered"`
}

// refusals are the replies of a consumer that could never be stored, and are lost: a message with
// their seq was there, their queue is of the other kind.
type refusals struct {
	// N counts them, Announced is how many of them were announced.
	N         int64 `ddb:"refused,omitzero"`
	Announced int64 `ddb:"refusedAnnounced,omitzero"`
	// By is the last claim that had such ones. Queue is where the last one was to go to, Why what
	// became of it, Since when that was.
	By    string    `ddb:"refusedBy,omitzero"`
	Queue string    `ddb:"refusedQueue,omitzero"`
	Why   string    `ddb:"refusedWhy,omitzero"`
	Since time.Time `ddb:"refusedSince,omitzero"`
}

// Cause is why a batch last failed, in a sentence for a reader who may know the names of all
// queues.
func (c Consumer) Cause() string {
	if c.ReplyQueue == "" {
		return c.Error
	}
	return aboutReplies(c.ReplyQueue, c.Error)
}

// Exists is false in the zero Consumer.
func (c Consumer) Exists() bool { return c.Queue != "" }

// Fails reports whether the message behind Delivered failed, and is tried again.
func (c Consumer) Fails() bool {
	return c.State != Blocked && !c.Failed.IsZero()
}

// Retries reports whether the message behind Delivered was tried to no end, and is tried again: it
// failed, or its worker died.
func (c Consumer) Retries() bool {
	switch c.State {
	case Idle:
		return c.failed() || c.Attempts > 0
	case Started:
		return c.retried()
	}
	return false
}

// retried reports whether a claim, which a consumer has, is not the first of its message.
func (c Consumer) retried() bool { return c.failed() || c.Attempts > 1 }

// failed reports whether something is known to have failed since the last commit. A batch that was
// only too slow beside others says nothing.
func (c Consumer) failed() bool { return c.Fails() && c.Error != "" }

// alone reports whether the last claim had one message: only then is it known that its failure is
// that of the message behind Delivered.
func (c Consumer) alone() bool { return c.To == c.From+1 }

// ownAttempts is how often the message behind Delivered was claimed alone: only these count towards
// the bound at which it blocks.
func (c Consumer) ownAttempts() int { return max(c.Attempts-c.Together, 0) }

// triedBehind is how many claims failed, and up to which seq, of what is behind one.
func (c Consumer) triedBehind(seq int64) (n int, upTo int64) {
	if c.TriedTo <= seq {
		return 0, 0
	}
	return c.Tried, c.TriedTo
}

// attempt is which try of its range the claim is.
func (c Consumer) attempt() int {
	n, _ := c.triedBehind(c.Delivered)
	return max(c.Attempts, n+1)
}

// Tries is how often the message behind Delivered was tried, but for the times that its sink was
// away: the number of its last attempt that ended, where it is known to have failed.
func (c Consumer) Tries() int {
	if c.State == Blocked || c.Retries() {
		return cmp.Or(c.Last.Latest().N, c.Attempts)
	}
	return c.Attempts
}

// failedTo is the last seq of the batches that failed: IsolateTo, or that of a claim that is to be
// taken over, for its process died.
func (c Consumer) failedTo() int64 {
	if c.State == Started {
		return c.To
	}
	return c.IsolateTo
}

// holds reports whether the consumer's claim is that of this token.
func (c Consumer) holds(t Token) bool { return c.State == Started && c.Token == t }

// Outcome is what became of the claim of a token, where it is remembered.
func (c Consumer) Outcome(t Token) (TokenOutcome, bool) {
	r := c.Outcomes[t.N%remembered]
	return r.Outcome, c.numbered(t.N) && (r.Sum == "" || r == remember(t, r.Outcome))
}

// numbered reports whether the end of the claim of a number is remembered.
func (c Consumer) numbered(n int64) bool {
	r := c.Outcomes[n%remembered]
	return r.N == n && r.Outcome != ""
}

// knows reports whether the claim of a number is remembered, or in quarantine.
func (c Consumer) knows(n int64) bool {
	return c.numbered(n) || slices.ContainsFunc(c.Quarantine[:], func(q Quarantined) bool {
		return q.Token.N == n && n > 0
	})
}

// Claimed reports whether a claim is in flight, in doubt or not.
func (c Consumer) Claimed() bool {
	return c.State == Started || c.State == Prepared || c.State == InDoubt || c.State == Sending
}

// Bounds of what an operator says.
const (
	maxOp     = 64
	maxReason = 500
)

// maxError is how much is kept of why a batch failed, in bytes. The item stays under 1 KB with it,
// where names are short: a claim then costs 1 write unit.
const maxError = 300

// shorten shortens a text to a number of bytes, at the end of a character.
func shorten(s string, limit int) string {
	if !utf8.ValidString(s) {
		s = fmt.Sprintf("%q", s)
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
