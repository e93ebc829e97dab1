package chains

import (
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Decoder reads what only chains have.
type Decoder struct{ ddb.Decoder }

// Eight reads eight bytes that may be missing: zeros then.
func (d *Decoder) Eight(name ddb.Path) (eight [8]byte) {
	value := d.BytesOr(name)
	if value != nil && len(value) != len(eight) {
		d.Fail(name, "is not of 8 bytes")
		return eight
	}
	copy(eight[:], value)
	return eight
}

// Set reads a set of members of one length that may be missing, sorted.
func (d *Decoder) Set(name ddb.Path, length int) [][]byte {
	members := d.MembersOr(name)
	for _, member := range members {
		if len(member) != length {
			d.Fail(name, fmt.Sprintf("has a member that is not of %d bytes", length))
			return nil
		}
	}
	return members
}

// MarkedStamps reads the stamps of a chain, each behind its mark, and their length: 0 for
// a chain of edges.
func (d *Decoder) MarkedStamps() (length int, marked [][]byte) {
	length = int(d.NumberOr(StampLen, 0))
	if length < 0 {
		d.Fail(StampLen, "is less than 0")
		return 0, nil
	}
	return length, d.Set(Stamps, StampMark+length)
}
