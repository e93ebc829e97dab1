package cursor

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
)

// Hash is the key of an arrival in its queue: the first 10 bytes of the
// SHA-256 of its id. Two of a billion ids have the same with a chance of 1 in
// two million; the later one gets Conflict then.
type Hash [10]byte

// HashOf is the Hash of an id.
func HashOf(id string) Hash {
	sum := sha256.Sum256([]byte(id))
	return Hash(sum[:len(Hash{})])
}

// Entry is a place in the order of arrival.
type Entry struct {
	// Hash says which arrival has the place.
	Hash Hash
	// Count is how many seqs it takes, 1 to MaxArrivalMessages.
	Count int
	// Seen is the low 23 bits of Arrival.Seen (see [shortSeen]). It identifies the
	// arrival from an earlier one under the same id, which has expired: what that
	// one had seen is less, by less than 2^23 where it got its place within
	// seconds.
	Seen uint32
}

// countBits and seenBits are how much of 4 bytes an entry's Count and Seen take.
const (
	countBits = 9
	seenBits  = 32 - countBits
)

// shortSeen is what an entry says of a position.
func shortSeen(position int64) uint32 { return uint32(position & (1<<seenBits - 1)) }

// Tail is a run of entries, packed: it can be compared and used as a value.
type Tail string

// entrySize is the size of an Entry: hash, count and seen.
const entrySize = len(Hash{}) + 4

// Bounds of the tail of a cursor, in entries.
const (
	// MaxTail is the most entries that a cursor has. With up to 38 of them, and
	// all fingerprints, it stays below 1 KB, which is one write unit, where the queue's
	// name has up to 64 bytes; it has more only while so many writers are at it
	// that a unit more is cheaper than a request that finds no room.
	MaxTail = 64
	// OrderItemEntries is how many entries an order item has. A tail is flushed
	// when it has so many.
	OrderItemEntries = 24
)

// NewTail packs entries.
func NewTail(entries ...Entry) Tail {
	packed := make([]byte, 0, len(entries)*entrySize)
	for _, e := range entries {
		packed = append(packed, e.Hash[:]...)
		packed = binary.BigEndian.AppendUint32(packed, uint32(e.Count)<<seenBits|e.Seen)
	}
	return Tail(packed)
}

// Len is how many entries there are.
func (t Tail) Len() int { return len(t) / entrySize }

// At is the entry at index i, from 0 to Len()-1.
func (t Tail) At(i int) Entry {
	packed := t[i*entrySize : (i+1)*entrySize]
	var e Entry
	copy(e.Hash[:], packed)
	both := binary.BigEndian.Uint32([]byte(packed[len(e.Hash):]))
	e.Count, e.Seen = int(both>>seenBits), shortSeen(int64(both))
	return e
}

// First is the first n entries, and what follows them.
func (t Tail) First(n int) (first, rest Tail) { return t[:n*entrySize], t[n*entrySize:] }

// Seqs is how many seqs the entries take.
func (t Tail) Seqs() int64 {
	seqs := int64(0)
	for i := range t.Len() {
		seqs += int64(t.At(i).Count)
	}
	return seqs
}

// contains reports whether an entry is among them.
func (t Tail) contains(e Entry) bool {
	for i := range t.Len() {
		if t.At(i) == e {
			return true
		}
	}
	return false
}

// place is an entry and the seqs that it takes.
type place struct {
	Entry
	seqs Range
}

// places are the entries with their seqs, where the first one's is after+1.
func (t Tail) places(after int64) iter.Seq[place] {
	return func(yield func(place) bool) {
		for i := range t.Len() {
			e := t.At(i)
			at := Range{after, after + int64(e.Count)}
			if !yield(place{e, at}) {
				return
			}
			after = at.To
		}
	}
}

// find is the seqs that an arrival has among the entries. Those of an earlier
// arrival under the same id are at or before what this one had seen.
func (t Tail) find(after int64, e Entry, seen int64) (Range, bool) {
	for p := range t.places(after) {
		if p.Entry == e && p.seqs.From >= seen {
			return p.seqs, true
		}
	}
	return Range{}, false
}
