package ddb_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/ddb"
)

// TestDecimal: a number of 128 bits is written as math/big writes it, and read
// again where it has at most 38 digits.
func TestDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hi, lo := rapid.Int64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")
		want := new(big.Int).Lsh(big.NewInt(hi), 64)
		want.Add(want, new(big.Int).SetUint64(lo))
		v := ddb.Int128(hi, lo)
		if got := v.Decimal(); got != want.String() {
			t.Fatalf("%s, want %s", got, want)
		}
		if want.CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)) < 0 && !ddb.ParseNumber(v.Decimal()).Equal(v) {
			t.Fatalf("%s is read as %s", want, ddb.ParseNumber(v.Decimal()))
		}
	})
}
