package cursor

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// fingerprints are short names of entries: four characters each, one after the other. They show for
// sure that an entry is not among those they are of; that it is, they can say wrongly.
//
// It is a text, in which a condition can ask for four characters; they need not begin where a name
// does. So of 48 names, one entry in 90,000 is believed to be among them that is not.
type fingerprints string

// fingerprintSize is the size of a short name, which says 3 bytes of the hash.
const fingerprintSize = 4

// maxFingerprints is how many entries that have left the tail a cursor still has the fingerprints
// of. A writer that so many others overtook, between two of its requests, needs no search.
const maxFingerprints = 2 * queuelog.OrderItemEntries

// fingerprintOf is an entry's short name.
func fingerprintOf(e queuelog.Entry) fingerprints {
	return fingerprints(base64.RawURLEncoding.EncodeToString([]byte(e.Key[:fingerprintSize*3/4])))
}

// len is how many entries they are of.
func (p fingerprints) len() int { return len(p) / fingerprintSize }

// trimmed is the cursor without the first n entries of its tail, of which it has the fingerprints
// then, in arrival order.
func (c Cursor) trimmed(n int) Cursor {
	first, rest := c.Tail.First(min(n, c.Tail.Len()))
	c.Tail, c.TailFrom = rest, c.TailFrom+first.Seqs()
	if keyed(c) {
		return c
	}
	kept := c.Fingerprints
	if more := kept.len() + first.Len() - maxFingerprints; more > 0 {
		// Fingerprints do not say how many seqs an entry takes. It is one at least, so those that
		// stay are of this many before the tail, or of more.
		kept = kept[more*fingerprintSize:]
		c.FingerprintsFrom = c.TailFrom - first.Seqs() - int64(kept.len())
	}
	for e := range first.All() {
		kept += fingerprintOf(e)
	}
	c.Fingerprints = kept
	return c
}

// checkFingerprints reports whether the fingerprints can be of all places of the seqs from
// FingerprintsFrom+1 up to TailFrom: such as were left out would be given twice.
func (c Cursor) checkFingerprints() error {
	n, seqs := c.Fingerprints.len(), c.TailFrom-c.FingerprintsFrom
	switch {
	case len(c.Fingerprints)%fingerprintSize != 0 || n > maxFingerprints:
		return fmt.Errorf("has %d characters: it is up to %d fingerprints of %d", len(c.Fingerprints),
			maxFingerprints, fingerprintSize)
	case c.FingerprintsFrom < c.Settings.First-1 || seqs < int64(n) ||
		seqs > int64(n*maxArrivalMessages):
		return fmt.Errorf("is of %d places, which cannot be all from %d to %d", n,
			c.FingerprintsFrom, c.TailFrom)
	}
	return nil
}

// without reports whether an entry that has no place up to a seq is sure to have none before the
// tail.
func (c Cursor) without(e queuelog.Entry, seen int64) bool {
	return c.TailFrom <= seen || !keyed(c) && c.FingerprintsFrom <= seen &&
		!strings.Contains(string(c.Fingerprints), string(fingerprintOf(e)))
}
