package cursor

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Bounds of a message, in bytes.
const (
	MaxQueueName   = 1024
	MaxID          = 1024
	MaxBody        = 350 * 1024
	MaxContentType = 256
	// MaxAttributes bounds the names and values of all attributes together.
	MaxAttributes = 16 * 1024
)

// DefaultContentType is the content type of a message that names none. It is not stored, which
// saves a small message a tenth of its bytes.
const DefaultContentType = "application/json"

// Message is one message of a queue.
type Message struct {
	// Queue is the queue's name: valid UTF-8, 1 to 1,024 bytes, compared byte by byte.
	Queue string
	// Seq is the message's place in its queue, from 0 to MaxSeq, or NoSeq where the queue gives it:
	// in arrival order, and by keys.
	Seq int64
	// ID is the producer's name for the message: at most 1,024 bytes of UTF-8. A message without a
	// Seq is known by it; one with a Seq, or a PutID, may have none.
	ID string `ddb:"id,omitzero"`
	// Body is delivered exactly as it came: at most 350 KB.
	Body []byte `ddb:"body,omitzero"`
	// ContentType is the body's media type, at most 256 bytes; DefaultContentType where it is
	// empty.
	ContentType string `ddb:"contentType,omitzero"`
	// Attributes are the producer's own: at most 16 KB in all.
	Attributes map[string]string `ddb:"attributes,omitzero"`
	// Trace is the trace context that the message came with, if it did.
	Trace Trace
	// First, of a message with a Seq, is the seq that its queue starts with where the put makes it:
	// from 0 to MaxSeq, or FirstHere, its own, of several the least. nil is that of the defaults. A
	// queue that is there and starts with another one refuses the message; FirstHere fits any.
	First *int64
	// Kind, where it is not empty, is the kind that the queue of a message with a Seq must be of,
	// and is made of: KindArrival.
	Kind Kind
	// PutID, of messages for a queue in arrival order, is the producer's name for the put that
	// brings them: those of a queue that have it are stored together, and known by it.
	PutID string
	// KeyParts, of a message for a keyed queue, are the one to three parts of its key. KeyType is
	// that of the queue where the put makes it; it may be empty where the queue is there.
	KeyParts []any
	KeyType  sortkey.KeyType
	// Prev, where it is not empty, is the id of the message that should stand before this one in
	// its keyed queue. Where another does, readers get it marked as Unlinked.
	Prev string
	// Received, where it is not zero, is when a message came whose sender cannot repeat it: a time
	// in its key that is farther ahead than the queue's Ahead becomes that, as a [Received] does,
	// and the message is not refused.
	Received time.Time

	// The store's part: a producer leaves it empty.

	// Key is the message's key in a keyed queue. Late reports that it stands there behind greater
	// keys, Unlinked that it stands behind another message than its Prev.
	Key            sortkey.Key
	Late, Unlinked bool
	// EnqueuedAt is when the message was accepted, to the millisecond.
	EnqueuedAt time.Time `ddb:"enqueuedAt,optional"`
	// ExpiresOn is when the message may be deleted, to the second; the zero time means never.
	ExpiresOn time.Time `ddb:"expiresOn,omitzero,s"`
	// Tombstone, where it is not empty, says why this seq will never come. A tombstone has no body.
	Tombstone string `ddb:"tombstone,omitzero"`
	// Digest distinguishes two messages: the first 16 bytes of a SHA-256 over id, content type,
	// attributes and body. Empty in a tombstone.
	Digest []byte `ddb:"digest,omitzero"`
	// Op is the mark of the put that stored the message: a writer whose response was lost knows its
	// own message by it.
	Op []byte `ddb:"op,optional"`
}

// NoSeq is the [Message].Seq of one whose queue gives it, and the [Result].Seq of one that has none
// yet, or none that is known.
const NoSeq int64 = -1

// What the keys of keyed queues are.
type (
	// KeyType says what the parts of a queue's keys are, such as "time" or "number,text".
	KeyType = sortkey.KeyType
	// Received is a part of a key that is the time at which the message came, where its sender
	// gives none. The first time that a message came counts.
	Received = sortkey.Received
	// SortKey is a place in the order of a keyed queue, up to which [Sorter.Settle] looks.
	SortKey = sortkey.SortKey
)

// EverySortKey is greater than every sort key.
const EverySortKey = sortkey.EverySortKey

// FirstHere is the [Message].First by which a queue starts at the message that makes it.
const FirstHere int64 = -1

// Validate reports the first field that is out of its bounds.
func (m *Message) Validate() error {
	switch {
	case ValidateQueue(m.Queue) != nil:
		return ValidateQueue(m.Queue)
	case m.Seq < NoSeq:
		return outOfBounds("seq", invalid.OutOfRange, m.Seq, firstBounds)
	case m.First != nil && *m.First < FirstHere:
		return Change{First: m.First}.validate()
	case m.name() == "" && m.way() != KindNumbered:
		return invalid.New(invalid.Missing, "id", fmt.Sprintf("is missing: without a seq, a message is known by it; it must have 1 to %d bytes", MaxID))
	case max(len(m.ID), len(m.PutID)) > MaxID:
		return bounds.TooLarge("id", max(len(m.ID), len(m.PutID)), MaxID)
	case !utf8.ValidString(m.ID + m.PutID):
		return invalid.New(invalid.Malformed, "id", "is not valid UTF-8")
	case len(m.Body) > MaxBody:
		return bounds.TooLarge("body", len(m.Body), MaxBody)
	}
	if err := bounds.Text("contentType", m.ContentType, 0, MaxContentType); err != nil {
		return err
	}
	size := 0
	for name, value := range m.Attributes {
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return invalid.New(invalid.Malformed, "attributes",
				"must have non-empty names and be valid UTF-8")
		}
		size += len(name) + len(value)
	}
	if size > MaxAttributes {
		return invalid.New(invalid.TooLarge, "attributes",
			fmt.Sprintf("have %d bytes: at most %d are taken", size, MaxAttributes))
	}
	if m.Kind != KindNumbered && m.Kind != KindArrival {
		return invalid.New(invalid.Clash, "kind", "must be arrival beside a seq, or be left out: it is "+
			m.Kind.String())
	}
	if err := m.validateWay(); err != nil {
		return err
	}
	return m.Trace.validate()
}

// validateWay reports what a message must not have, or has to have, for the kind of its queue.
func (m *Message) validateWay() error {
	way := m.way()
	if way == KindKeyed {
		if len(m.KeyParts) == 0 {
			return invalid.New(invalid.Missing, "key", "is missing: "+way.takes())
		}
		if m.KeyType != "" {
			if _, err := m.KeyType.Key(m.KeyParts...); err != nil {
				return err
			}
		}
	}
	switch {
	case m.Seq > 0 && way == KindKeyed, m.Seq != NoSeq && m.PutID != "":
		return invalidSeq(invalid.Misplaced, "must not be given: "+way.takes())
	case m.First != nil && way != KindNumbered:
		return invalid.New(invalid.Misplaced, "first", "must not be given without a seq: only a numbered queue starts with one that is chosen")
	}
	return bounds.Text("prev", m.Prev, 0, MaxID)
}

// way is the kind of queue that the message is put to by what it has. By its seq, a queue in
// arrival order takes it too.
func (m *Message) way() Kind {
	switch {
	case m.KeyParts != nil || m.KeyType != "":
		return KindKeyed
	case m.Seq == NoSeq || m.PutID != "":
		return KindArrival
	}
	return KindNumbered
}

// name is what the message is known by in a queue that gives the seqs.
func (m *Message) name() string { return cmp.Or(m.PutID, m.ID) }

// ValidateQueue reports a queue name that cannot be used.
func ValidateQueue(queue string) error {
	switch {
	case queue == "":
		return invalid.New(invalid.Missing, "queue", "is missing: it must be a name of 1 to 1024 bytes")
	case len(queue) > MaxQueueName:
		return invalid.New(invalid.TooLarge, "queue",
			fmt.Sprintf("has %d bytes: it must be a name of 1 to %d bytes", len(queue), MaxQueueName))
	case !utf8.ValidString(queue):
		return invalid.New(invalid.Malformed, "queue", "is not valid UTF-8")
	case strings.HasPrefix(queue, reserved):
		return invalid.New(invalid.Malformed, "queue",
			fmt.Sprintf("must not begin with %q: items of the stack's own are there", reserved))
	}
	return nil
}

// reserved begins no queue's name. In the tables whose items are under queues' names, items of the
// stack's own are under names that begin so: a role may be kept from them.
const reserved = "endpoints "

// digest is the message's Digest. Each part is length-prefixed, so that no two different messages
// feed the hash the same bytes.
func (m *Message) digest() []byte {
	hash := sha256.New()
	part := func(bytes []byte) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(bytes)))
		hash.Write(size[:])
		hash.Write(bytes)
	}
	part([]byte(m.ID))
	part([]byte(m.contentType()))
	part(m.Body)
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		part([]byte(name))
		part([]byte(m.Attributes[name]))
	}
	return hash.Sum(nil)[:digestSize]
}

const digestSize = 16

// readUnit is how many bytes one strong read unit covers.
const readUnit = 4096

// size is about the size of the message's item. The attributes that every item has take some 130
// bytes.
func (m *Message) size() int {
	size := 130 + len(m.Queue) + len(m.ID) + len(m.ContentType) + len(m.Body) + m.Trace.size()
	for name, value := range m.Attributes {
		size += len(name) + len(value)
	}
	return size
}

func (m *Message) contentType() string {
	if m.ContentType == "" {
		return DefaultContentType
	}
	return m.ContentType
}
