// Package jsonseq writes seqs into JSON so that every reader gets them exactly:
// as a number up to 2^53, as a decimal string beyond.
package jsonseq

import (
	"fmt"
	"strconv"
	"strings"
)

// maxExact is the highest integer that every JSON reader takes exactly.
const maxExact = 1 << 53

// Seq is a seq in a JSON document.
type Seq int64

// MarshalJSON implements json.Marshaler.
func (s Seq) MarshalJSON() ([]byte, error) {
	text := strconv.FormatInt(int64(s), 10)
	if s > maxExact {
		text = `"` + text + `"`
	}
	return []byte(text), nil
}

// UnmarshalJSON implements json.Unmarshaler: it reads what MarshalJSON writes.
func (s *Seq) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("seq %s: must be an integer", raw)
	}
	*s = Seq(n)
	return nil
}
