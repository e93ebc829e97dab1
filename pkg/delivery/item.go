package delivery

import (
	"fmt"
	"strconv"

	"github.com/streamsort/streamsort/internal/ddb"
)

// layout is the version of the items' layout, kept in each item's "v": a reader refuses those that
// it does not know.
const layout = 1

// The attributes that requests name; the tags of [Consumer], [Health] and [Operation] have all.
const (
	attrVersion ddb.Path = "v"
	attrQueue   ddb.Path = "queue"

	attrConsumer         ddb.Path = "consumer"
	attrDelivered        ddb.Path = "delivered"
	attrState            ddb.Path = "state"
	attrTokenN           ddb.Path = "tokenN"
	attrReq              ddb.Path = "req"
	attrFrom             ddb.Path = "from"
	attrTo               ddb.Path = "to"
	attrLeaseUntil       ddb.Path = "leaseUntil" // ms
	attrAttempts         ddb.Path = "attempts"
	attrTogether         ddb.Path = "together"
	attrTried            ddb.Path = "tried"
	attrTriedTo          ddb.Path = "triedTo"
	attrIsolateTo        ddb.Path = "isolateTo"
	attrRetryAt          ddb.Path = "retryAt" // ms
	attrFailed           ddb.Path = "failed"  // ms
	attrError            ddb.Path = "error"
	attrShown            ddb.Path = "shown"
	attrReplyQueue       ddb.Path = "replyQueue"
	attrAway             ddb.Path = "away"
	attrFailingSince     ddb.Path = "failingSince" // ms
	attrProven           ddb.Path = "proven"
	attrLast             ddb.Path = "last"
	attrBlockedSince     ddb.Path = "blockedSince" // ms
	attrOutcomes         ddb.Path = "outcomes"
	attrQuarantine       ddb.Path = "quarantine"
	attrPaused           ddb.Path = "paused"
	attrPausedSince      ddb.Path = "pausedSince" // ms
	attrRewinds          ddb.Path = "rewinds"
	attrStarting         ddb.Path = "starting"
	attrKeptFrom         ddb.Path = "keptFrom"
	attrLastOp           ddb.Path = "lastOp"
	attrAsked            ddb.Path = "asked"
	attrDeferred         ddb.Path = "deferred"
	attrOutbox           ddb.Path = "outbox"
	attrAnswer           ddb.Path = "answer"
	attrRefused          ddb.Path = "refused"
	attrRefusedAnnounced ddb.Path = "refusedAnnounced"
	attrRefusedBy        ddb.Path = "refusedBy"
	attrRefusedQueue     ddb.Path = "refusedQueue"
	attrRefusedWhy       ddb.Path = "refusedWhy"
	attrRefusedSince     ddb.Path = "refusedSince" // ms

	attrRev ddb.Path = "rev" // of a health

	attrOperation ddb.Path = "operation"

	attrN ddb.Path = "n" // of an outcome
)

var (
	consumers  = ddb.NewCodec[Consumer]("consumer", layout, layout)
	operations = ddb.NewCodec[Operation]("operation", layout, layout)
)

// slot is where a claim's outcome is remembered.
func slot(n int64) string { return strconv.FormatInt(n%remembered, 10) }

// encodeConsumer is the item of a consumer that has just been made: both maps are there, so that
// later updates can set what is in them.
func encodeConsumer(c Consumer) ddb.Item {
	return consumers.Item(&c, attrOutcomes.Set(ddb.MapOf(nil)), attrQuarantine.Set(ddb.MapOf(nil)))
}

// decodeConsumer takes an item; the zero Consumer for none.
func decodeConsumer(it ddb.Item) (Consumer, error) {
	return consumers.Decode(it, readOutcomes, readQuarantine)
}

func readOutcomes(c *Consumer, d *ddb.Decoder) {
	var r memory
	for name, value := range d.MapOr(attrOutcomes).All() {
		ddb.ReadValue(d, attrOutcomes, name, value, &r)
		if r.N < 0 {
			d.Fail(attrOutcomes.At(name), fmt.Sprintf("is of the claim %d", r.N))
			return
		}
		c.Outcomes[r.N%remembered] = r
	}
}

// idKey is where the operation of an id is found, behind all that operationKey gives.
func idKey(op string) string { return ids + op }

// ids begins the keys of idKey, and ends the audit log: those of operationKey begin with a digit.
const ids = "id "

// encodeOperation is the item of an operation, under a key of its queue.
func encodeOperation(key string, a Operation) ddb.Item {
	return operations.Item(&a, attrOperation.Set(ddb.Text(key)))
}

func decodeOperation(it ddb.Item) (Operation, error) { return operations.Decode(it) }
