// Package sortkey is the keys of messages: what a [KeyType] takes, how a [Key] is stored so that
// keys sort as their bytes do, and the [SortKey] under which a message waits in its queue.
package sortkey

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Key is what a message of a keyed queue is sorted by, in the form in which it is stored: of two
// keys of one [KeyType], that which sorts first is less as a string, and none is the beginning of
// another. [KeyType.Key] makes keys.
type Key string

// JSON is the key as readers get it: a number in plain decimal; a time in UTC, as RFC 3339 writes
// it; a text; a rank as its number, from 0; an array where it has several parts. It is null for
// what is no key.
func (k Key) JSON() json.RawMessage {
	parts, err := readKey(string(k))
	if err != nil {
		return json.RawMessage("null")
	}
	values := make([][]byte, len(parts))
	for i, part := range parts {
		values[i] = part.json()
	}
	if len(values) == 1 {
		return values[0]
	}
	return append(append([]byte("["), bytes.Join(values, []byte(","))...), ']')
}

// Times are its parts, as far as they are times; the zero time for others.
func (k Key) Times() []time.Time {
	parts, _ := readKey(string(k)) // what is no key has none
	times := make([]time.Time, len(parts))
	for i, part := range parts {
		if part.tag == tagTime {
			times[i] = timeOf(part.number)
		}
	}
	return times
}

// String is the key for people: its parts with commas between.
func (k Key) String() string {
	parts, err := readKey(string(k))
	if err != nil {
		return "0x" + hex.EncodeToString([]byte(k))
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.String()
	}
	return strings.Join(texts, ",")
}
