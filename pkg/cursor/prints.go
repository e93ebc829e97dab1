package cursor

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Prints are short names of entries: four characters each, one after the other.
// They tell for sure that an entry is not among those they are of; that it is,
// they can say wrongly.
//
// It is a text, in which a condition can ask for four characters; they need not
// begin where a name does. So of 48 names, one entry in 90,000 is believed to be
// among them that is not.
type Prints string

// printSize is the size of a short name, which says 3 bytes of the hash.
const printSize = 4

// maxPrints is how many entries that have left the tail a cursor still has the
// prints of. A writer that so many others overtook, between two of its requests,
// needs no search.
const maxPrints = 2 * OrderItemEntries

// printOf is an entry's short name.
func printOf(e Entry) Prints {
	return Prints(base64.RawURLEncoding.EncodeToString(e.Hash[:printSize*3/4]))
}

// len is how many entries they are of.
func (p Prints) len() int { return len(p) / printSize }

// mayHave is false where an entry is sure not to be among them.
func (p Prints) mayHave(e Entry) bool { return strings.Contains(string(p), string(printOf(e))) }

// prints are the short names of entries.
func (t Tail) prints() Prints {
	var p strings.Builder
	for i := range t.Len() {
		p.WriteString(string(printOf(t.At(i))))
	}
	return Prints(p.String())
}

// trimmed is the cursor without the first OrderItemEntries entries of its tail,
// of which it has the prints then.
func (c Cursor) trimmed() Cursor {
	first, rest := c.Tail.First(min(OrderItemEntries, c.Tail.Len()))
	kept := c.Prints
	if more := kept.len() + first.Len() - maxPrints; more > 0 {
		// Prints do not say how many seqs an entry takes. It is one at least, so
		// those that stay are of this many before the tail, or of more.
		kept = kept[more*printSize:]
		c.PrintsFrom = c.TailFrom - int64(kept.len())
	}
	c.Prints = kept + first.prints()
	c.TailFrom, c.Tail = c.TailFrom+first.Seqs(), rest
	return c
}

// checkPrints tells whether the prints can be of all places of the seqs from
// PrintsFrom+1 up to TailFrom: such as were left out would be given twice.
func (c Cursor) checkPrints() error {
	n, seqs := c.Prints.len(), c.TailFrom-c.PrintsFrom
	switch {
	case len(c.Prints)%printSize != 0 || n > maxPrints:
		return fmt.Errorf("has %d characters: it is up to %d prints of %d", len(c.Prints), maxPrints, printSize)
	case c.PrintsFrom < c.Settings.First-1 || seqs < int64(n) || seqs > int64(n*MaxArrivalMessages):
		return fmt.Errorf("is of %d places, which cannot be all from %d to %d", n, c.PrintsFrom, c.TailFrom)
	}
	return nil
}

// without reports whether an entry that has no place up to a seq is sure to have
// none before the tail.
func (c Cursor) without(e Entry, seen int64) bool {
	return c.TailFrom <= seen || c.PrintsFrom <= seen && !c.Prints.mayHave(e)
}
