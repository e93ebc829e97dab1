package cursor

import (
	"errors"
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
	seq, err := strconv.ParseInt(text, 10, 64)
	code := invalid.Malformed
	switch {
	case text == "":
		code = invalid.Missing
	case seq < 0, errors.Is(err, strconv.ErrRange):
		code = invalid.OutOfRange
	case err == nil && text[0] >= '0' && (len(text) == 1 || text[0] > '0'):
		return seq, nil
	}
	return 0, outOfBounds("seq", code, text, firstBounds)
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
