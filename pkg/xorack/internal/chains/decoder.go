package chains

import (
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
)

// CheckStamps checks the stamps of a chain that is read, each behind its mark, and their length: 0
// for a chain of edges.
func CheckStamps(d *ddb.Decoder, length int, marked [][]byte) {
	if length < 0 {
		d.Fail(StampLen, "is less than 0")
	}
	for _, stamp := range marked {
		if len(stamp) != StampMark+length {
			d.Fail(Stamps, fmt.Sprintf("has a member that is not of %d bytes", StampMark+length))
		}
	}
}
