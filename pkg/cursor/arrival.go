package cursor

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	// maxArrivalMessages is the most messages of an arrival.
	maxArrivalMessages = 500
	// maxArrivalBytes bounds all messages of an arrival of several together, as they are framed:
	// about 4 bytes a message more than what they hold.
	maxArrivalBytes = MaxBody
)

// Arrival is what is stored under one key of a queue with a log: a message, or in arrival order
// several that stay together, without seqs. It is stored once for its id, as long as it is
// retained; a repeat gets the outcome of the first.
type Arrival struct {
	// Queue is the queue's name, as in a Message.
	Queue string
	// ID is the producer's name for the request, by which a repeat is known: 1 to 1,024 bytes of
	// UTF-8. The store has arrivals without one: those that were put at a seq.
	ID string
	// Key is that of a message which waits in a keyed queue, and is alone; Prev is its Prev. In
	// arrival order both are empty.
	Key  sortkey.Key
	Prev string
	// Messages are 1 to 500, of which Queue and Seq are left empty. A message that has no ID of its
	// own, and is alone, has the arrival's.
	Messages []Message

	// The store's part: a producer leaves it empty.

	// EnqueuedAt, ExpiresOn and Op are as in a Message. Digest is over all messages.
	EnqueuedAt, ExpiresOn time.Time
	Digest, Op            []byte
	// Seen is a position that the queue had before the arrival was stored: its seqs are higher.
	Seen int64
	// Era is that of the queue's keys when a message of a keyed queue was stored.
	Era sortkey.Era
}

// entry is the arrival's place in the order, wherever that is.
func (a *Arrival) entry() queuelog.Entry {
	return queuelog.Entry{Key: a.sortKey(), Count: len(a.Messages), Seen: queuelog.ShortSeen(a.Seen)}
}

func (a *Arrival) sortKey() sortkey.SortKey {
	switch {
	case a.Key != "":
		return a.Era.SortKey(a.Key, a.ID)
	case a.ID == "":
		return a.ownKey()
	}
	return sortkey.HashOf(a.ID)
}

// validate reports what is wrong with the messages of an arrival together.
func (a *Arrival) validate() error {
	if len(a.Messages) > maxArrivalMessages {
		return invalid.New(invalid.OutOfRange, "messages",
			fmt.Sprintf("are %d: an arrival has 1 to %d", len(a.Messages), maxArrivalMessages))
	}
	size := len(frames(a.Messages)) + len(tracesOf(a.Messages).Value.Str())
	if len(a.Messages) > 1 && size > maxArrivalBytes {
		return &InvalidError{
			Field: "messages", Code: invalid.TooLarge, Queue: a.Queue, Size: size, Most: maxArrivalBytes,
			Problem: fmt.Sprintf("have %d bytes together: at most %d are taken under one id", size,
				maxArrivalBytes),
		}
	}
	return nil
}

// digest is the arrival's Digest: over those of its messages, which are of one length.
func (a *Arrival) digest() []byte {
	hash := sha256.New()
	for _, m := range a.Messages {
		hash.Write(m.digest())
	}
	hash.Write([]byte(a.Prev))
	return hash.Sum(nil)[:digestSize]
}

func (a *Arrival) same(other Arrival) bool {
	return a.ID == other.ID && bytes.Equal(a.Digest, other.Digest) &&
		len(a.Messages) == len(other.Messages)
}

// messages are the arrival's messages as they stand in their queue, the first behind `after`.
func (a *Arrival) messages(after int64) []Message {
	messages := make([]Message, len(a.Messages))
	for i, m := range a.Messages {
		after++
		m.Queue, m.Seq = a.Queue, after
		if m.ID == "" && len(a.Messages) == 1 {
			m.ID = a.ID
		}
		m.EnqueuedAt, m.ExpiresOn, m.Op, m.Key = a.EnqueuedAt, a.ExpiresOn, a.Op, a.Key
		messages[i] = m
	}
	return messages
}

// head is the arrival without what is in its messages.
func (a *Arrival) head() Arrival {
	head := *a
	head.Messages = make([]Message, len(a.Messages))
	return head
}

// is reports whether an arrival is the one that an entry names, and not a later one under the same
// id.
func (a *Arrival) is(e queuelog.Entry) bool {
	return queuelog.ShortSeen(a.Seen) == e.Seen && len(a.Messages) == e.Count
}
