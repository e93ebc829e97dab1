package xorack

import (
	"encoding/binary"
	"math/bits"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Sum is what a chain's edges add up to: the ids of those started less the ids of those ended, as a
// signed number of 128 bits. It is zero when all that was started has ended, and, but for a chance
// of 1 in 2^96, only then.
type Sum struct {
	// Hi and Lo are the upper and lower half, in two's complement.
	Hi int64
	Lo uint64
}

// sumOf is an edge's id as a number.
func sumOf(id [12]byte) Sum {
	return Sum{Hi: int64(binary.BigEndian.Uint32(id[:4])), Lo: binary.BigEndian.Uint64(id[4:])}
}

// plus adds. A chain has at most a thousand operations of a thousand edges of 96 bits each, so it
// never overflows.
func (s Sum) plus(o Sum) Sum {
	lo, carry := bits.Add64(s.Lo, o.Lo, 0)
	hi, _ := bits.Add64(uint64(s.Hi), uint64(o.Hi), carry)
	return Sum{Hi: int64(hi), Lo: lo}
}

func (s Sum) minus(o Sum) Sum {
	lo, borrow := bits.Sub64(s.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(uint64(s.Hi), uint64(o.Hi), borrow)
	return Sum{Hi: int64(hi), Lo: lo}
}

// IsZero reports whether nothing is left.
func (s Sum) IsZero() bool { return s == Sum{} }

// String is the number in decimal: at most 33 digits, of the 38 that DynamoDB keeps exactly.
func (s Sum) String() string { return s.value().Decimal() }

func (s Sum) value() ddb.Value { return ddb.Int128(s.Hi, s.Lo) }
