// Package jsonseq is seqs in JSON. [Seq] writes them so that every reader gets them exactly: as a
// number up to 2^53, as a decimal string beyond. [Read] reads those of callers, strictly, and
// [Asked] does in a document.
package jsonseq

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// maxExact is the highest integer that every JSON reader takes exactly.
const maxExact = 1 << 53

// Seq is a seq in a JSON document.
type Seq int64

// Or is the seq in decimal digits; a nil seq is the other text.
func (s *Seq) Or(none string) string {
	if s == nil {
		return none
	}
	return strconv.FormatInt(int64(*s), 10)
}

// OrZero is the seq; a nil one is 0.
func (s *Seq) OrZero() int64 {
	if s == nil {
		return 0
	}
	return int64(*s)
}

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

// Read reads a caller's seq: an integer, or a string of its canonical decimal digits. Its error is
// as those of package strictjson.
func Read(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		var err error
		if text, err = strictjson.Text(raw); err != nil {
			return 0, err
		}
	}
	seq, err := cursor.ParseSeq(text)
	if err != nil {
		return 0, invalid.Named("", err)
	}
	return seq, nil
}

// Asked is a seq in a caller's document.
type Asked int64

// UnmarshalJSON implements json.Unmarshaler, as [Read] does.
func (s *Asked) UnmarshalJSON(raw []byte) error {
	seq, err := Read(raw)
	*s = Asked(seq)
	return err
}

// First reads a [cursor.Message].First: a seq, or here. Its error is a *cursor.InvalidError of
// field "first".
func First(text string) (*int64, error) {
	first := cursor.FirstHere
	if text == "here" {
		return &first, nil
	}
	first, err := cursor.ParseSeq(text)
	if err != nil {
		wrong := invalid.Named("first", err)
		wrong.Problem += ", or here"
		return nil, wrong
	}
	return &first, nil
}
