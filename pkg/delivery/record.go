package delivery

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
)

// What is stored of a consumer, and what this package and package pull both work with.
// The types are defined in internal/record, so that both can work on the store; what
// they have is in their comments here, since go doc does not show it of an alias.
type (
	// Store has the consumers and the operations, on DynamoDB ([NewDynamo]) or in memory
	// ([NewMemory]). Its methods are for this package and package pull.
	Store = record.Store
	// Consumer is the durable record of a named reader of one queue: its lock, its
	// State and how far it is (Delivered). The zero Consumer means that there is none,
	// and Exists is false. Times are the zero Time where there is none.
	//
	//	Queue, Name string          whose it is
	//	Delivered int64             the last seq that was delivered and committed, or skipped
	//	State State                 what it is at
	//	Token Token                 that of the last claim
	//	From, To int64              its range: From < seq <= To
	//	LeaseUntil time.Time        when the claim may be taken over
	//	Deferred bool               whoever has its token, or its chain, commits or fails it
	//	Attempts int                how often the message behind Delivered was claimed
	//	Together int                how many of these claims had other messages with it
	//	Tried, TriedTo              how many claims failed, up to which seq: for Attempt
	//	IsolateTo int64             up to this seq claims are smaller, because a batch failed
	//	RetryAt time.Time           when a batch that failed is tried again
	//	Failed time.Time            when a batch last failed since the last commit
	//	Error string                why it failed
	//	Shown int                   how many bytes of Error the queue's tenant may read; 0 for all
	//	ReplyQueue string           the queue of the replies that Error is about; it does not name it
	//	Away int                    how often in a row its sink was away
	//	FailingSince time.Time      when the message behind Delivered, or a batch with it, first failed
	//	FailedAlone bool            it failed alone, FailingSince is when it first did so, and
	//	Taken int64                 what its sink was known to have taken then
	//	Proven bool                 it failed alone again after the sink took something else
	//	Answer Answer               what its sink answered to the last batch that it took
	//	BlockedSince time.Time      since when the State is Blocked
	//	Outcomes [4]                of the last claims, in the slot N mod 4: N int64, Outcome
	//	                            TokenOutcome, and Sum string, a hash of the token's Req
	//	Quarantine [10]Quarantined  claims that stayed in doubt too long; the rest are zero
	//	Outbox [10]                 queues that a Sending claim has replies for: Queue string,
	//	                            Numbered bool; the rest are zero
	//	Refused                     replies that could never be stored: N of them and Announced of
	//	                            these, By the last such claim, to Queue, Why and Since when
	//	Paused string               why nothing is claimed; "" where it is not paused
	//	PausedSince time.Time       since when
	//	Rewinds int64               how often it was set to another position
	//	Starting string             the operation that sets it to a place, until that is done
	//	KeptFrom int64              where it is not 0: while it is starting, all from here on is kept
	//	LastOp string               the last operation of an operator, or the one that made it
	//	Asked int64                 a position that a delivery knew of that was stopped by a claim
	//
	// Its methods:
	//
	//	Exists() bool                            false in the zero Consumer
	//	Claimed() bool                           a claim is in flight, in doubt or not
	//	Fails() bool                             the message behind Delivered failed, and is tried again
	//	Alone() bool                             the last claim had one message
	//	OwnAttempts() int                        the Attempts that had
	//	Attempt() int                            which try of its range the claim is
	//	FailedTo() int64                         IsolateTo, also of a claim whose process died
	//	ShownError() string                      what of Error the queue's tenant may read
	//	Cause() string                           Error, with the queue of replies named
	//	Outcome(Token) (TokenOutcome, bool)      how a claim ended, where that is remembered
	//	Quarantined(Token) (Quarantined, bool)   the claim, where it is in quarantine
	//	Knows(n int64) bool                      the claim of a number is remembered, or in quarantine
	Consumer = record.Consumer
	// State is what a consumer of a queue is at.
	State = record.State
	// Token says whose claim it is: a number N, and what the claimer called its
	// request, Req. The number rises with every claim of a consumer, so a sink that
	// remembers the highest number it has seen, and refuses lower ones, is safe from a
	// process that wakes up after its claim was taken over. String is the token as it
	// travels.
	//
	//	N int64      the claim's number, from 1 up
	//	Req string   1 to 64 characters
	Token = record.Token
	// TokenOutcome is how a claim ended.
	TokenOutcome = record.TokenOutcome
	// Quarantined is a claim that stayed in doubt too long. The messages behind it
	// are delivered; its own are kept until it is settled. Unsettled reports whether
	// nobody knows yet how it ended.
	//
	//	Token Token       whose claim it is
	//	From, To int64    its range: From < seq <= To
	//	State State       InDoubt, and ABORTED once it is settled so; one that was
	//	                  committed is gone
	//	Since time.Time   when its lease ran out
	Quarantined = record.Quarantined
	// Operation is what an operator did to a consumer, or asked for.
	//
	//	Queue, Consumer string  what it was done to
	//	At time.Time            when it was asked for, to the millisecond
	//	Op string               what the operator called it: the same Op is the same operation
	//	Kind string             skip, redrive, rewind, pause, resume, settle, release or remove; erase
	//	                        or restart-keys of a whole queue;
	//	                        reply where no operator made it: replies could never be stored
	//	Seq int64               the message or the place that it is about; -1 where there is none
	//	Reason string           why
	//	Request map[string]string what else was asked for, by its names in the request
	//	Who Who                 who asked
	//	Done bool, Error string that it was done, or why it was not; neither while it is in
	//	                        progress
	//	Chain string            the tag of the chain to wait for, where Error is that a claim
	//	                        is in flight
	//	ReplyQueue string       where the replies were to go that Error is about
	//
	// Key is where it stands in its queue, Ended whether it is known how it ended.
	Operation = record.Operation
	// Who asked for an operation, as far as somebody whom the caller cannot influence
	// says so.
	Who = record.Who
	// Answer is what a sink answered when it took a batch: its own Status, how long it Took, At when it came, and
	// the beginning of its Text.
	//
	//	Status int
	//	Took time.Duration   to the millisecond, where it is kept
	//	At time.Time
	//	Text string          at most 200 bytes, where it is kept
	//	Own bool             the queue's tenant set the sink itself, and may read Text
	Answer = record.Answer
	// Reply is a message that a consumer sends with the commit of a claim: it is
	// stored exactly once if the claim is committed, and not at all otherwise. Queue
	// is any queue of the same tables; one that is not there is made.
	//
	//	Queue string                  where it goes
	//	Seq *int64                    its place in a numbered queue; nil for one in arrival
	//	                              order. The replies of a claim to one queue have all a
	//	                              Seq, or none
	//	ID string                     as in a cursor.Message, as are the following; without one
	//	                              it gets an ID that is the same however often it is stored
	//	Body []byte
	//	ContentType string
	//	Attributes map[string]string
	//	Trace cursor.Trace
	Reply = record.Reply
	// ReplyError is why the replies of a claim to one queue are not stored. Error names
	// the queue, Unwrap returns Err.
	//
	//	Queue string  the queue that they go to, by its whole name
	//	Err error     why
	ReplyError = record.ReplyError
)

// The states of a consumer.
const (
	// Idle: nobody has a claim.
	Idle = record.Idle
	// Started: a claim is in flight. It ends with its commit, its failure, or after
	// its lease by the next caller.
	Started = record.Started
	// Prepared: the claim's consumer may commit in its own database. Only that
	// database knows whether it did.
	Prepared = record.Prepared
	// InDoubt: the claim is in doubt: it was prepared, and then its lease ran
	// out. It is never handed out again before it is settled.
	InDoubt = record.InDoubt
	// Sending: the claim's range was delivered, and is as good as committed; its
	// replies are on their way. It ends in its commit, no matter by whom.
	Sending = record.Sending
	// Blocked: the message behind Delivered failed as often as it may. Nothing
	// is delivered until an operator skips or redrives it.
	Blocked = record.Blocked
)

// What becomes of a claim.
const (
	// Committed: the claim's range was delivered.
	Committed = record.Committed
	// Aborted: the holder of the claim gave it back.
	Aborted = record.Aborted
	// Cancelled: the claim's lease ran out, and another ended it.
	Cancelled = record.Cancelled
)

// The kinds of a Who.
const (
	// WhoIAM signed the request for IAM; Name is the ARN.
	WhoIAM = record.WhoIAM
	// WhoJWT sent a token; Name is its subject.
	WhoJWT = record.WhoJWT
	// WhoDirect invoked the function: Lambda does not say who that was.
	WhoDirect = record.WhoDirect
	// WhoNobody came through a gateway that verified nothing.
	WhoNobody = record.WhoNobody
)

// Bounds of the replies of one claim.
const (
	// MaxReplies is the most replies.
	MaxReplies = record.MaxReplies
	// MaxReplyQueues is the most queues that they go to.
	MaxReplyQueues = record.MaxReplyQueues
	// MaxReplyBytes bounds all that the replies hold together, 64 bytes a reply
	// and 4 an attribute for what is around them included.
	MaxReplyBytes = record.MaxReplyBytes
)

// NewDynamo returns the store on DynamoDB. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) *Store {
	return record.NewStore(dynamo.NewEngine(client), names.Tables())
}

// NewMemory returns a store in memory, for tests of code that uses this package:
// everything is gone with the process.
func NewMemory() *Store {
	tables := Names{Trouble: trouble.DefaultName}.Tables()
	return record.NewStore(ddb.NewMemory(tables...), tables)
}
