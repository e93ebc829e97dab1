package jsonseq_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/jsonseq"
)

// What is written is read, and by every reader the same.
func TestReadsWhatIsWritten(t *testing.T) {
	for seq, want := range map[jsonseq.Seq]string{
		0: "0", 7: "7", 1 << 53: "9007199254740992", 1<<53 + 1: `"9007199254740993"`, math.MaxInt64: `"9223372036854775807"`,
	} {
		written := check.Get(json.Marshal(seq))
		check.Is(t, string(written), want, seq)
		check.Is(t, check.Get(jsonseq.Read(written)), int64(seq), want)
	}
}

func TestReadIsStrict(t *testing.T) {
	for _, raw := range []string{`1.0`, `1e3`, `-1`, `01`, `"01"`, `"1 "`, `""`, `null`, `true`, `{}`,
		`"9223372036854775808"`, `"\ud800"`} {
		seq, err := jsonseq.Read(json.RawMessage(raw))
		check.That(t, err != nil, "%s is read as %d", raw, seq)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{`1`, `"1"`, `1.0`, `"\u0031"`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		seq, err := jsonseq.Read(raw)
		check.That(t, err != nil || seq >= 0, "%q is read as %d", raw, seq)
	})
}
