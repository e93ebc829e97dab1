package cursor

import "crypto/sha256"

// keyedPrefix is the first byte of the sort keys of keyed queues, tieBreakSize the size of
// their last part, a hash of the id.
const (
	keyedPrefix  = "\x01"
	tieBreakSize = 8
)

// receiptPrefix begins the sort keys of receipts, which are behind [EverySortKey]: no query
// for messages of a keyed queue finds them, and no wake-up comes of them.
const receiptPrefix = "\x03"

// noSortKey is less than every sort key of a keyed queue. (DynamoDB compares no key with
// empty bytes.)
const noSortKey SortKey = "\x00"

// EverySortKey is greater than every sort key of a keyed queue.
const EverySortKey SortKey = "\x02"

// KeyedSortKey is where a message belongs in the order of a keyed queue: by its key, and of
// equal keys by the hash of its id.
func KeyedSortKey(key Key, id string) SortKey {
	return keyedPrefix + SortKey(key) + tieBreak(id)
}

// tieBreak orders the messages of equal keys.
func tieBreak(id string) SortKey {
	sum := sha256.Sum256([]byte(id))
	return SortKey(sum[:tieBreakSize])
}

// Key is the key of the message whose sort key this is, in a keyed queue; empty where it is
// none of a keyed queue's.
func (k SortKey) Key() Key {
	if len(k) < len(keyedPrefix)+tieBreakSize || k[:len(keyedPrefix)] != keyedPrefix {
		return ""
	}
	return Key(k[len(keyedPrefix) : len(k)-tieBreakSize])
}

// isOf reports whether the tie-break is that of an id.
func (k SortKey) isOf(id string) bool {
	return len(k) >= tieBreakSize && k[len(k)-tieBreakSize:] == tieBreak(id)
}
