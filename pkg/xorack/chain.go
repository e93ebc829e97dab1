package xorack

import (
	"crypto/subtle"
	"slices"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// End is how a chain ended.
type End string

const (
	// Open: it has not ended.
	Open End = ""
	// Done: every edge that was started has ended.
	Done End = "DONE"
	// Failed: one of its edges failed.
	Failed End = "FAILED"
	// TimedOut: its deadline passed, or it made no progress for too long.
	TimedOut End = "TIMED_OUT"
	// Deleted: it was deleted.
	Deleted End = "DELETED"
)

// Chain is the record of one tree of work. The zero Chain means that it is not there.
type Chain struct {
	Tag         string
	Incarnation Incarnation `ddb:"inc,omitzero"`

	// Sum is what the edges add up to, Edges how many were started, and Ops the marks of the
	// operations that counted, sorted. A chain of stamps has none of them.
	Sum   Sum   `ddb:"n,optional,int128"`
	Edges int64 `ddb:"edges,optional"`
	Ops   []Op  `ddb:"ops,omitzero"`
	// Splits identify the children that operations started, one for each that started any, sorted.
	Splits []split `ddb:"kids,omitzero"`

	// StampLen is the length of the stamps of a chain of stamps, 0 for edges. Stamps are they, each
	// behind the 6 bytes that mark its operation, sorted.
	StampLen int      `ddb:"stampLen,omitzero"`
	Stamps   [][]byte `ddb:"stamps,omitzero"`

	// Created is when the chain was created, to the millisecond as all times here; the zero time
	// where it was not, and operations came before.
	Created time.Time `ddb:"created,omitzero"`
	// Options identifies the options of its creation. A chain of stamps has none: its incarnation
	// identifies them.
	Options [8]byte `ddb:"cd,optional"`
	// Deadline is when the chain times out, Idle after which time without progress, where that is
	// not 0. Seen is when the last operation came.
	Deadline time.Time     `ddb:"deadline,omitzero"`
	Idle     time.Duration `ddb:"idle,omitzero"`
	Seen     time.Time     `ddb:"seen,omitzero"`
	// Due is when the sweep must look at the chain; the zero time where it need not.
	Due time.Time `ddb:"due,omitzero"`
	// LastOp is the operation that came last: the one that ended an ended chain.
	LastOp Op `ddb:"lastOp,optional"`

	// Recorded is the end as it stands in the record. [Chain.End] knows also of the end that
	// follows from the sum.
	Recorded End       `ddb:"st,omitzero"`
	Reason   string    `ddb:"reason,omitzero"`
	EndedAt  time.Time `ddb:"endedAt,omitzero"`
	// ExpiresOn is when the record may be deleted, to the second.
	ExpiresOn time.Time `ddb:"expiresOn,omitzero,s"`

	// Parent is the edge of another chain that ends with this chain, if any. Sub is true for a part
	// of that chain's tree, false for a chain of its own: a part's end is carried to the parent,
	// and announced to nobody else.
	Parent Edge
	Sub    bool

	// Data is what the chain's owner stores with it: [CreateOptions.Data].
	Data string `ddb:"data,omitzero"`
}

// Exists reports whether there is a record.
func (c Chain) Exists() bool { return c.Tag != "" }

// HasStamps reports whether this is a chain of stamps, not of edges.
func (c Chain) HasStamps() bool { return c.StampLen > 0 }

// IsCreated reports whether the chain was created; operations may come before.
func (c Chain) IsCreated() bool { return !c.Created.IsZero() }

// End is how the chain ended, or Open. It never changes once it is not Open. A chain of stamps is
// Done only once that is recorded.
func (c Chain) End() End {
	switch {
	case c.Recorded != Open:
		return c.Recorded
	case c.IsCreated() && !c.HasStamps() && c.Sum.IsZero():
		return Done
	}
	return Open
}

// Ended is when the chain ended, where it did.
func (c Chain) Ended() time.Time {
	if c.EndedAt.IsZero() {
		return c.Seen
	}
	return c.EndedAt
}

// Sealed reports whether nothing is left to do for the chain's end.
func (c Chain) Sealed() bool { return c.End() != Open && c.Due.IsZero() }

// Root is the ith root edge of the chain, from 0.
func (c Chain) Root(i int) Edge { return rootOf(c.Tag, c.Incarnation, i) }

// Has reports whether an operation counted.
func (c Chain) Has(op Op) bool {
	_, found := slices.BinarySearchFunc(c.Ops, op, compareOps)
	return found
}

// hasSplit reports whether an operation counted with these children.
func (c Chain) hasSplit(s split) bool {
	_, found := slices.BinarySearchFunc(c.Splits, s, compareSplits)
	return found
}

// EdgesEnded is how many of the started edges have ended.
func (c Chain) EdgesEnded() int {
	ended := 0
	for _, op := range c.Ops {
		if op[0]&opOfBatch == 0 {
			ended++
		}
	}
	return ended
}

func compareOps(a, b Op) int { return slices.Compare(a[:], b[:]) }

func compareSplits(a, b split) int { return slices.Compare(a[:], b[:]) }

// XOR is what the stamps come to: nil where there are none.
func (c Chain) XOR() []byte {
	if len(c.Stamps) == 0 {
		return nil
	}
	state := make([]byte, c.StampLen)
	for _, stamp := range c.Stamps {
		subtle.XORBytes(state, state, stamp[chains.StampMark:])
	}
	return state
}

// acked reports whether a chain of stamps is Done, recorded or not.
func (c Chain) acked() bool {
	return c.IsCreated() && len(c.Stamps) > 0 && chains.IsZero(c.XOR())
}

func seconds(t time.Time) time.Time { return time.Unix(t.Unix(), 0).UTC() }
