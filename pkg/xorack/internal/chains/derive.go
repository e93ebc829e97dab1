package chains

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// What an id is made for: ids of different kinds never meet.
const (
	ForIncarnation = iota + 1
	ForRoot
	ForChild
	ForNamed
	ForBatch
	ForFan
	ForOptions
	ForStamps
	ForStamp
	ForEvent
	ForAdded
	ForSplit
)

// Derive is the hash of a kind and parts, each with its length before it.
func Derive(kind byte, parts ...[]byte) [32]byte {
	hash := sha256.New()
	hash.Write([]byte{kind})
	for _, part := range parts {
		hash.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		hash.Write(part)
	}
	return [32]byte(hash.Sum(nil))
}

// IsZero reports whether all bytes are.
func IsZero(stamp []byte) bool { return len(bytes.Trim(stamp, "\x00")) == 0 }

// Number is a part that is a number.
func Number(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
