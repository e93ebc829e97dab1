package jsonseq_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/streamsort/streamsort/internal/jsonseq"
)

// What is written is read, and by every reader the same.
func TestReadsWhatIsWritten(t *testing.T) {
	for seq, want := range map[jsonseq.Seq]string{
		0: "0", 7: "7", 1 << 53: "9007199254740992", 1<<53 + 1: `"9007199254740993"`, math.MaxInt64: `"9223372036854775807"`,
	} {
		written, err := json.Marshal(seq)
		if err != nil || string(written) != want {
			t.Errorf("%d is written as %s, %v", seq, written, err)
		}
		if read, err := jsonseq.Read(written); err != nil || read != int64(seq) {
			t.Errorf("%s is read as %d, %v", written, read, err)
		}
	}
}

func TestReadIsStrict(t *testing.T) {
	for _, raw := range []string{`1.0`, `1e3`, `-1`, `01`, `"01"`, `"1 "`, `""`, `null`, `true`, `{}`,
		`"9223372036854775808"`, `"\ud800"`} {
		if seq, err := jsonseq.Read(json.RawMessage(raw)); err == nil {
			t.Errorf("%s is read as %d", raw, seq)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{`1`, `"1"`, `1.0`, `"\u0031"`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if seq, err := jsonseq.Read(raw); err == nil && seq < 0 {
			t.Errorf("%q is read as %d", raw, seq)
		}
	})
}
