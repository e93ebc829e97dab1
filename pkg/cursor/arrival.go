package cursor

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Bounds of an arrival.
const (
	// MaxArrivalMessages is the most messages of an arrival.
	MaxArrivalMessages = 500
	// MaxArrivalBytes bounds all messages of an arrival of several together, as
	// they are framed: about 4 bytes a message more than what they hold.
	MaxArrivalBytes = MaxBody
)

// Arrival is what one request brings to a queue in arrival order: a message, or
// several that stay together, without seqs. It is stored once for its id, as
// long as it is kept; a repeat gets the outcome of the first.
type Arrival struct {
	// Queue is the queue's name, as in a Message.
	Queue string
	// ID is the producer's name for the request, by which a repeat is known:
	// 1 to 1,024 bytes of UTF-8. The store has arrivals without one: those that were put at a seq.
	ID string
	// Key is that of a message which waits in a keyed queue, and is alone; Prev is its
	// [Keyed].Prev. In arrival order both are empty.
	Key  Key
	Prev string
	// Messages are 1 to 500, of which Queue and Seq are left empty. A message
	// that has no ID of its own, and is alone, has the arrival's.
	Messages []Message

	// The store's part: a producer leaves it empty.

	// EnqueuedAt, ExpiresOn and Op are as in a Message. Digest is over all
	// messages.
	EnqueuedAt, ExpiresOn time.Time
	Digest, Op            []byte
	// Seen is a position that the queue had before the arrival was stored: its
	// seqs are higher.
	Seen int64
	// Era is that of the queue's keys when a message of a keyed queue was stored.
	Era Era
}

// entry is the arrival's place in the order, wherever that is.
func (a *Arrival) entry() Entry {
	return Entry{Key: a.sortKey(), Count: len(a.Messages), Seen: shortSeen(a.Seen)}
}

// sortKey is the key under which it is stored.
func (a *Arrival) sortKey() SortKey {
	switch {
	case a.Key != "":
		return a.Era.sortKey(a.Key, a.ID)
	case a.ID == "":
		return a.ownKey()
	}
	return HashOf(a.ID)
}

// validate reports the first field that is out of its bounds.
func (a *Arrival) validate() error {
	switch {
	case ValidateQueue(a.Queue) != nil:
		return ValidateQueue(a.Queue)
	case a.ID == "":
		return &InvalidError{Field: "id", Code: invalid.Missing, Problem: "is missing: without a seq, a message is known by it; it must have 1 to " + strconv.Itoa(MaxID) + " bytes"}
	case len(a.ID) > MaxID:
		return &InvalidError{Field: "id", Code: invalid.TooLarge, Problem: fmt.Sprintf("has %d bytes: it must have 1 to %d", len(a.ID), MaxID)}
	case !utf8.ValidString(a.ID):
		return &InvalidError{Field: "id", Code: invalid.Malformed, Problem: "is not valid UTF-8"}
	case len(a.Messages) == 0 || len(a.Messages) > MaxArrivalMessages:
		return &InvalidError{Field: "messages", Code: invalid.OutOfRange, Problem: fmt.Sprintf("are %d: an arrival has 1 to %d", len(a.Messages), MaxArrivalMessages)}
	}
	for i, m := range a.Messages {
		err := a.validateMessage(m)
		if err != nil && len(a.Messages) > 1 {
			err = invalid.Within("messages", i, err)
		}
		if err != nil {
			return err
		}
	}
	if size := len(frames(a.Messages)) + tracesSize(a.Messages); len(a.Messages) > 1 && size > MaxArrivalBytes {
		return &InvalidError{
			Field: "messages", Code: invalid.TooLarge, Queue: a.Queue, Size: size, Most: MaxArrivalBytes,
			Problem: fmt.Sprintf("have %d bytes together: at most %d are taken under one id", size, MaxArrivalBytes),
		}
	}
	return nil
}

func (a *Arrival) validateMessage(m Message) error {
	if m.Seq != 0 {
		return invalidSeq(invalid.Misplaced, "must not be given: "+KindArrival.takes())
	}
	if m.First != nil {
		return &InvalidError{Field: "first", Code: invalid.Misplaced, Problem: "must not be given without a seq: only a numbered queue starts with one that is chosen"}
	}
	m.Queue = a.Queue
	return m.Validate()
}

// digest is the arrival's Digest: over those of its messages, which are of one
// length.
func (a *Arrival) digest() []byte {
	hash := sha256.New()
	for _, m := range a.Messages {
		hash.Write(m.digest())
	}
	hash.Write([]byte(a.Prev))
	return hash.Sum(nil)[:digestSize]
}

// same reports whether two arrivals are the same request.
func (a *Arrival) same(other Arrival) bool {
	return a.ID == other.ID && bytes.Equal(a.Digest, other.Digest)
}

// messages are the arrival's messages as they stand in their queue, the first
// behind `after`.
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

// is reports whether an arrival is the one that an entry names, and not a later
// one under the same id.
func (a *Arrival) is(e Entry) bool { return shortSeen(a.Seen) == e.Seen && len(a.Messages) == e.Count }

// OrderItem is places of a queue that have left the tail of its cursor: OrderItemEntries in
// the order of arrival, and KeyedOrderEntries of a keyed queue.
type OrderItem struct {
	Queue string
	// Last is the seq of the last message of its last entry, under which it is
	// stored.
	Last    int64
	Entries Tail
	// ExpiresOn is when TTL may delete it, later than every arrival that it
	// names; the zero time means never.
	ExpiresOn time.Time `ddb:"expiresOn,omitzero,s"`
}

// after is the seq before its first.
func (o OrderItem) after() int64 { return o.Last - o.Entries.Seqs() }
