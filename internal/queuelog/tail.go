// Package queuelog is what the log of a queue that gives the seqs is made of: an [Entry] for each
// place, the [Tail] in the queue's cursor, and an [OrderItem] for those that have left it; and what
// pkg/cursor's requests about them ask for.
package queuelog

import (
	"encoding/binary"
	"iter"
	"time"

	"github.com/streamsort/streamsort/internal/sortkey"
)

// Mark is what an entry of a keyed queue says beside its place; 0 in arrival order.
type Mark uint8

// The marks, of which an entry can have several.
const (
	// MarkKeyed: the entry is of a keyed queue.
	MarkKeyed Mark = 1 << iota
	// MarkLate: the message came when a greater key had its place already.
	MarkLate
	// MarkDropped: it was late, and the queue's setting has such dropped.
	MarkDropped
	// MarkUnlinked: it names another message before it than the one that stands there.
	MarkUnlinked
	// MarkRestart: the queue's keys begin anew behind it. It has no message, and so MarkDropped
	// too.
	MarkRestart
)

// Entry is a place in the log of a queue in arrival order, or of a keyed one.
type Entry struct {
	// Key says which arrival has the place.
	Key sortkey.SortKey
	// Count is how many seqs it takes, 1 to MaxArrivalMessages.
	Count int
	// Seen is the low 23 bits of Arrival.Seen (see [shortSeen]). It identifies the arrival from an
	// earlier one under the same id, which has expired: what that one had seen is less, by less
	// than 2^23 where it got its place within seconds.
	Seen uint32
	Mark Mark
}

// Has reports whether the entry has a mark.
func (e Entry) Has(m Mark) bool { return e.Mark&m != 0 }

// countBits and seenBits are how much of 4 bytes an entry's Count and Seen take.
const (
	countBits = 9
	SeenBits  = 32 - countBits
)

// ShortSeen is what an entry says of a position.
func ShortSeen(position int64) uint32 { return uint32(position & (1<<SeenBits - 1)) }

// Tail is a run of entries, packed: it can be compared and used as a value, and one can be appended
// to another.
type Tail string

// Bounds of the tail of a cursor, in entries.
const (
	// MaxTail is the most entries that a cursor has in arrival order. With up to 38 of them, and
	// all fingerprints, it stays below 1 KB, which is one write unit, where the queue's name has up
	// to 64 bytes; it has more only while so many writers are at it that a unit more is cheaper
	// than a request that finds no room.
	MaxTail = 64
	// OrderItemEntries is how many entries an order item has. A tail is flushed when it has so
	// many.
	OrderItemEntries = 24
)

// packedHead is the size of an entry in a Tail, without its key: the key's length, the mark, the
// count and what was seen.
const packedHead = 2 + 1 + 2 + 4

// NewTail packs entries.
func NewTail(entries ...Entry) Tail {
	packed := make([]byte, 0, len(entries)*(packedHead+sortkey.HashSize))
	for _, e := range entries {
		packed = binary.BigEndian.AppendUint16(packed, uint16(len(e.Key)))
		packed = append(packed, byte(e.Mark))
		packed = binary.BigEndian.AppendUint16(packed, uint16(e.Count))
		packed = binary.BigEndian.AppendUint32(packed, e.Seen)
		packed = append(packed, e.Key...)
	}
	return Tail(packed)
}

// cut is the first entry, and what follows it.
func (t Tail) cut() (Entry, Tail) {
	end := packedHead + int(binary.BigEndian.Uint16([]byte(t[:2])))
	return Entry{
		Key: sortkey.SortKey(t[packedHead:end]), Mark: Mark(t[2]),
		Count: int(binary.BigEndian.Uint16([]byte(t[3:5]))),
		Seen:  binary.BigEndian.Uint32([]byte(t[5:9])),
	}, t[end:]
}

// All are the entries.
func (t Tail) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for t != "" {
			var e Entry
			if e, t = t.cut(); !yield(e) {
				return
			}
		}
	}
}

// Len is how many entries there are.
func (t Tail) Len() int {
	n := 0
	for ; t != ""; n++ {
		_, t = t.cut()
	}
	return n
}

// At is the entry at index i, from 0 to Len()-1.
func (t Tail) At(i int) Entry {
	_, rest := t.First(i)
	e, _ := rest.cut()
	return e
}

// First is the first n entries, and what follows them.
func (t Tail) First(n int) (first, rest Tail) {
	rest = t
	for range n {
		_, rest = rest.cut()
	}
	return t[:len(t)-len(rest)], rest
}

// Seqs is how many seqs the entries take.
func (t Tail) Seqs() int64 {
	seqs := int64(0)
	for e := range t.All() {
		seqs += int64(e.Count)
	}
	return seqs
}

// Same reports whether two entries are of the same arrival, however it is marked.
func (e Entry) Same(o Entry) bool {
	return e.Key == o.Key && e.Count == o.Count && e.Seen == o.Seen
}

// Contains reports whether an arrival's entry is among them.
func (t Tail) Contains(e Entry) bool {
	for there := range t.All() {
		if there.Same(e) {
			return true
		}
	}
	return false
}

// OfKeyed reports whether the entries are of a keyed queue.
func (t Tail) OfKeyed() bool { return t != "" && Mark(t[2]) != 0 }

// Last is the key of the last entry that has a message; empty where none exists.
func (t Tail) Last() sortkey.SortKey {
	var last sortkey.SortKey
	for e := range t.All() {
		if !e.Has(MarkDropped) {
			last = e.Key
		}
	}
	return last
}

// OrderItem is places of a queue that have left the tail of its cursor: OrderItemEntries.
type OrderItem struct {
	Queue string
	// Last is the seq of the last message of its last entry, under which it is stored.
	Last    int64
	Entries Tail
	// ExpiresOn is when TTL may delete it, later than every arrival that it names; the zero time
	// means never.
	ExpiresOn time.Time `ddb:"expiresOn,omitzero,s"`
}

// After is the seq before its first.
func (o OrderItem) After() int64 { return o.Last - o.Entries.Seqs() }
