package cursor

import (
	"math"
	"strconv"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// MaxSeq is the highest seq that a message can have: 2^63-1.
const MaxSeq = math.MaxInt64

// ParseSeq reads a seq from its canonical decimal form: digits only, without leading zeros, from 0
// to [MaxSeq]. Everything else is an [InvalidError] of field "seq": a sign, a fraction, an
// exponent, spaces. Two spellings of one number would be two opinions on what the producer meant.
func ParseSeq(text string) (int64, error) {
	switch {
	case text == "":
		return 0, invalidSeq(invalid.Missing, "is empty")
	case len(text) > 1 && text[0] == '0':
		return 0, invalidSeq(invalid.Malformed, "has leading zeros")
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, invalidSeq(invalid.Malformed,
				"is not an integer from 0 to 9223372036854775807 written in plain digits")
		}
	}
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, invalidSeq(invalid.OutOfRange, "is over 9223372036854775807")
	}
	return seq, nil
}

func invalidSeq(code invalid.Code, problem string) error {
	return invalid.New(code, "seq", problem)
}

// Range is the seqs From < seq <= To.
type Range struct{ From, To int64 }

type seqSet map[int64]struct{}

// runEnd is the last seq of the longest run position+1, position+2, … inside the set; position
// itself where the run is empty.
func (s seqSet) runEnd(position int64) int64 {
	for position < MaxSeq {
		if _, ok := s[position+1]; !ok {
			break
		}
		position++
	}
	return position
}

// max is the highest seq of the set, NoSeq where it is empty.
func (s seqSet) max() int64 {
	highest := NoSeq
	for seq := range s {
		highest = max(highest, seq)
	}
	return highest
}
