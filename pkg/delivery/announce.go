package delivery

import (
	"fmt"
	"time"
)

const (
	// consumerBlocked: a message failed as often as it may.
	consumerBlocked = "consumer.blocked"
	// consumerFailing: a message failed as often as it may, and blocks after BlockAfter unless its
	// sink is at fault.
	consumerFailing = "consumer.failing"
	// consumerLags: the oldest message that waits is older than LagAfter.
	consumerLags = "consumer.lags"
	// consumerMissing: the next message is not stored any more.
	consumerMissing = "consumer.missing"
	// consumerInDoubt: a claim was prepared, and nobody says whether it was committed. The consumer
	// waits; its database settles it when it is back.
	consumerInDoubt = "consumer.in-doubt"
	// consumerQuarantined: a claim that stayed in doubt was quarantined. Its consumer settles it,
	// or an operator does.
	consumerQuarantined = "consumer.quarantined"
	// consumerReplying: the replies of a claim cannot be stored, because a queue that they go to is
	// full. The consumer waits.
	consumerReplying = "consumer.replying"
	// consumerReplyRefused: replies could never be stored, and are lost; the operations of the
	// queue say which. It is announced until that is noted, not longer.
	consumerReplyRefused = "consumer.reply-refused"
	// circuitOpen: the consumer's sink is away. Nothing is delivered, of whatever queue, but one
	// probe at a time; Attempts is how many there were. Like circuitClosed it is announced once,
	// and names no queue.
	circuitOpen = "consumer.circuit-open"
	// circuitClosed: the sink is back. What waited is delivered.
	circuitClosed = "consumer.circuit-closed"
)

// Announcement is what people should hear of a consumer. It goes out at least once, and with every
// run of the sweep until its cause is gone; a repeat has the same ID.
type Announcement struct {
	// Kind is consumer.blocked, consumer.failing, consumer.lags, consumer.missing,
	// consumer.in-doubt, consumer.quarantined, consumer.replying, consumer.reply-refused,
	// consumer.circuit-open or consumer.circuit-closed.
	Kind            string
	ID              string
	Queue, Consumer string
	// Delivered is the last seq that was delivered, Position the queue's.
	Delivered, Position int64
	// Since is since when it is so, Age how long that is.
	Since time.Time
	Age   time.Duration
	// Token, From and To are those of a claim that is in doubt or quarantined: the seqs From < seq
	// <= To. State is what a quarantined one is at: IN_DOUBT, or ABORTED, which was not delivered
	// and waits for an operator.
	Token    Token
	From, To int64
	State    State
	// Attempts and Error are those of a message that fails.
	Attempts int
	Error    string
}

func newAnnouncement(kind string, c Consumer, position int64, since, now time.Time) Announcement {
	return Announcement{
		Kind: kind,
		// The lengths keep any two queues' and consumers' ids apart, the rewinds two stays at one
		// place.
		ID: fmt.Sprintf("%s/%d/%s/%d/%s/%d/%d", kind, len(c.Queue), c.Queue, len(c.Name), c.Name,
			c.Delivered+1, c.Rewinds),
		Queue: c.Queue, Consumer: c.Name, Delivered: c.Delivered, Position: position,
		Since: since, Age: now.Sub(since), Attempts: c.Attempts, Error: c.Cause(),
	}
}
