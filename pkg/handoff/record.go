package handoff

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/record"
)

// What is stored of a consumer, and what this package and package pull both work with.
// The fields and methods of these types are described in internal/record.
type (
	// Store has the consumers and the operations, on DynamoDB ([NewDynamo]) or in memory
	// ([NewMemory]). Its methods are for this package and package pull.
	Store = record.Store
	// Consumer is the durable record of a named reader of one queue: its lock, its
	// State and how far it is (Delivered). The zero Consumer means that there is none.
	Consumer = record.Consumer
	// State is what a consumer of a queue is at.
	State = record.State
	// Token says whose claim it is: a number N, and what the claimer called its
	// request, Req. The number rises with every claim of a consumer, so a sink that
	// remembers the highest number it has seen, and refuses lower ones, is safe from a
	// process that wakes up after its claim was taken over. String is the token as it
	// travels.
	Token = record.Token
	// TokenOutcome is how a claim ended.
	TokenOutcome = record.TokenOutcome
	// Quarantined is a claim that stayed in doubt too long. The messages behind it
	// are delivered; its own are kept until it is settled.
	Quarantined = record.Quarantined
	// Operation is what an operator did to a consumer, or asked for.
	Operation = record.Operation
	// Reply is a message that a consumer sends with the commit of a claim: it is
	// stored exactly once if the claim is committed, and not at all otherwise. Queue
	// is any queue of the same tables; one that is not there is made. Seq is its place
	// in a numbered queue, nil for a queue in arrival order. ID, Body, ContentType and
	// Attributes are as in a cursor.Message; without an ID it gets one, which is the
	// same however often it is stored.
	Reply = record.Reply
	// ReplyError is why the replies of a claim to one queue are not stored.
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
	tables := Names{}.Tables()
	return record.NewStore(ddb.NewMemory(tables...), tables)
}
