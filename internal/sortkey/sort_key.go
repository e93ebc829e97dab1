package sortkey

import (
	"crypto/sha256"
	"encoding/binary"
)

// SortKey is the key of an arrival in its queue. In arrival order it is the first 10 bytes of the
// SHA-256 of its id: two of a billion ids have the same with a chance of 1 in two million; the
// later one gets Conflict then. In a keyed queue it is where the message belongs in the order: see
// [Era.SortKey].
type SortKey string

// HashSize is how many bytes of an id's hash are its SortKey in arrival order.
const HashSize = 10

// HashOf is the SortKey of an id in arrival order.
func HashOf(id string) SortKey {
	sum := sha256.Sum256([]byte(id))
	return SortKey(sum[:HashSize])
}

// keyedPrefix is the first byte of the sort keys of keyed queues, tieBreakSize the size of their
// last part, a hash of the id.
const (
	KeyedPrefix  = "\x01"
	TieBreakSize = 8
)

// ReceiptPrefix begins the sort keys of receipts, which are behind [EverySortKey]: no query for
// messages of a keyed queue finds them, and no wake-up comes of them.
const ReceiptPrefix = "\x03"

// NoSortKey is less than every sort key of a keyed queue. (DynamoDB compares no key with empty
// bytes.)
const NoSortKey SortKey = "\x00"

// EverySortKey is greater than every sort key of a keyed queue.
const EverySortKey SortKey = "\x02"

// Era says how often the keys of a queue have begun anew (cursor.Sorter.RestartKeys): it stands in
// each sort key between the first byte and the key. It is empty in the first era, and then 3 bytes:
// 15, which is greater than the tag of any key, and a number. (The stream's filter for keyed queues
// lets a sort key through by its first 12 bits, the last four of which are 0: so no more than 15.)
type Era string

const (
	eraTag = "\x0f"
	// LastEra is the greatest era: no more fit into its bytes.
	LastEra Era = eraTag + "\xff\xff"
)

// Next is the era behind this one.
func (e Era) Next() Era {
	if e == "" {
		return eraTag + "\x00\x00"
	}
	return Era(binary.BigEndian.AppendUint16([]byte(eraTag), binary.BigEndian.Uint16([]byte(e[1:]))+1))
}

// SortKey is the sort key of a message in the era.
func (e Era) SortKey(key Key, id string) SortKey {
	return KeyedPrefix + SortKey(e) + SortKey(key) + TieBreak(id)
}

// Begin is less than every sort key of the era.
func (e Era) Begin() SortKey {
	return KeyedPrefix + SortKey(e) + SortKey(make([]byte, TieBreakSize))
}

// Era is that of a sort key of a keyed queue.
func (k SortKey) Era() Era {
	if len(k) < 4 || k[1:2] != eraTag {
		return ""
	}
	return Era(k[1:4])
}

// TieBreak orders the messages of equal keys.
func TieBreak(id string) SortKey {
	sum := sha256.Sum256([]byte(id))
	return SortKey(sum[:TieBreakSize])
}

// Key is the key of the message whose sort key this is, in a keyed queue; empty where it is of
// another queue.
func (k SortKey) Key() Key {
	before := len(KeyedPrefix) + len(k.Era())
	if len(k) < before+TieBreakSize || k[:len(KeyedPrefix)] != KeyedPrefix {
		return ""
	}
	return Key(k[before : len(k)-TieBreakSize])
}

// IsOf reports whether the tie-break is that of an id.
func (k SortKey) IsOf(id string) bool {
	return len(k) >= TieBreakSize && k[len(k)-TieBreakSize:] == TieBreak(id)
}
