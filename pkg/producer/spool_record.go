package producer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A record of the spool: 4 bytes with the length of what follows the next 4, and 4 with its
// checksum (CRC-32C), both little-endian; then a byte that says what it is, and
//
//   - of a message: its number, the length of its queue's name, the name, whether it has a seq (a
//     byte, 0 or 1), and its document;
//   - of answers: the numbers of messages that need not be sent any more;
//   - of a group: nothing. It stands before what is written at one time, where a file is synced, and says that what
//     is before it had been synced.
//
// Numbers and lengths are unsigned varints. Messages go in the order of their numbers. One that stands
// in two files has the same number in both.
const (
	recordMessage = 'm'
	recordAnswers = 'a'
	recordGroup   = 'g'
	recordHeader  = 8
	// maxRecord is more than any record has, in bytes.
	maxRecord = 4 << 20
	// mostAnswers is how many numbers one record of answers has at most.
	mostAnswers = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// begin leaves room for a record's header.
func begin(to []byte, kind byte) []byte {
	return append(to, 0, 0, 0, 0, 0, 0, 0, 0, kind)
}

// end writes the header of the record that begins at start.
func end(to []byte, start int) []byte {
	payload := to[start+recordHeader:]
	binary.LittleEndian.PutUint32(to[start:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(to[start+4:], crc32.Checksum(payload, castagnoli))
	return to
}

// appendMessageRecord appends the record of a message.
func appendMessageRecord(to []byte, number uint64, queue string, numbered bool, doc []byte) []byte {
	start := len(to)
	to = begin(to, recordMessage)
	to = binary.AppendUvarint(to, number)
	to = binary.AppendUvarint(to, uint64(len(queue)))
	to = append(to, queue...)
	has := byte(0)
	if numbered {
		has = 1
	}
	to = append(append(to, has), doc...)
	return end(to, start)
}

// appendGroup appends the record of a group.
func appendGroup(to []byte) []byte { return end(begin(to, recordGroup), len(to)) }

// appendAnswers appends records of answers.
func appendAnswers(to []byte, numbers []uint64) []byte {
	for len(numbers) > 0 {
		n := min(len(numbers), mostAnswers)
		start := len(to)
		to = begin(to, recordAnswers)
		for _, number := range numbers[:n] {
			to = binary.AppendUvarint(to, number)
		}
		to = end(to, start)
		numbers = numbers[n:]
	}
	return to
}

// record is a record that was read; its texts are parts of what was read.
type record struct {
	kind     byte
	number   uint64
	queue    string
	numbered bool
	doc      []byte
	answers  []uint64
}

// readRecord reads the first record, and how many bytes it has. ok is false where there is no whole one, or its
// checksum is another; the error is that of one that is whole, and is no record of ours.
func readRecord(from []byte) (r record, size int, ok bool, err error) {
	if len(from) < recordHeader {
		return r, 0, false, nil
	}
	length := int(binary.LittleEndian.Uint32(from))
	if length == 0 || length > maxRecord || length > len(from)-recordHeader {
		return r, 0, false, nil
	}
	payload := from[recordHeader : recordHeader+length]
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(from[4:]) {
		return r, 0, false, nil
	}
	size = recordHeader + length
	r.kind, payload = payload[0], payload[1:]
	switch r.kind {
	case recordGroup:
		return r, size, true, nil
	case recordAnswers:
		for len(payload) > 0 {
			number, n := binary.Uvarint(payload)
			if n <= 0 {
				return r, 0, false, fmt.Errorf("a record of answers with a broken number")
			}
			r.answers, payload = append(r.answers, number), payload[n:]
		}
		return r, size, true, nil
	case recordMessage:
		var n int
		if r.number, n = binary.Uvarint(payload); n <= 0 {
			return r, 0, false, fmt.Errorf("a message with a broken number")
		}
		payload = payload[n:]
		name, n := binary.Uvarint(payload)
		if n <= 0 || name >= uint64(len(payload)-n) {
			return r, 0, false, fmt.Errorf("message %d with a broken name of its queue", r.number)
		}
		payload = payload[n:]
		r.queue, r.numbered, r.doc = string(payload[:name]), payload[name] == 1, payload[name+1:]
		return r, size, true, nil
	}
	return r, 0, false, fmt.Errorf("a record of kind %q, which this version does not know", r.kind)
}
