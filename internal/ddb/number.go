package ddb

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"math/bits"
	"strconv"
	"unicode"
)

// The greatest number of 38 digits, 10^38 - 1, which is the most that DynamoDB keeps exactly.
const (
	maxHi = 0x4b3b4ca85a86c47a
	maxLo = 0x098a223fffffffff
)

// Int64 is a Number that fits into 64 bits.
func (v Value) Int64() (n int64, ok bool) {
	return int64(v.lo), v.kind == Number && v.hi == int64(v.lo)>>63
}

// Decimal is a Number in decimal digits.
func (v Value) Decimal() string {
	var buffer [40]byte
	if v.hi < 0 {
		buffer[0] = '-'
		return string(v.digits(buffer[:1]))
	}
	return string(v.digits(buffer[:0]))
}

// digits appends a Number's decimal digits, without its sign.
func (v Value) digits(to []byte) []byte {
	hi, lo := v.magnitude()
	if hi == 0 {
		return strconv.AppendUint(to, lo, 10)
	}
	const chunk, zeros = 1e19, "0000000000000000000"
	upper, lower := bits.Div64(hi, lo, chunk)
	to = append(strconv.AppendUint(to, upper, 10), zeros...)
	var buffer [len(zeros)]byte
	digits := strconv.AppendUint(buffer[:0], lower, 10)
	copy(to[len(to)-len(digits):], digits)
	return to
}

// ParseNumber reads decimal digits; anything but an integer of at most 38 of them is [Unreadable].
func ParseNumber(digits string) Value {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return Int(n)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || n.BitLen() > 127 {
		return Unreadable()
	}
	v := Int128(new(big.Int).Rsh(n, 64).Int64(),
		new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0))).Uint64())
	if !v.isStorable() {
		return Unreadable()
	}
	return v
}

// isStorable reports whether a Number has at most 38 digits.
func (v Value) isStorable() bool {
	hi, lo := v.magnitude()
	return hi < maxHi || hi == maxHi && lo <= maxLo
}

func (v Value) magnitude() (hi, lo uint64) {
	if v.hi >= 0 {
		return uint64(v.hi), v.lo
	}
	lo, borrow := bits.Sub64(0, v.lo, 0)
	hi, _ = bits.Sub64(0, uint64(v.hi), borrow)
	return hi, lo
}

// plus adds two Numbers; ok is false where the sum has more than 38 digits.
func (v Value) plus(o Value) (sum Value, ok bool) {
	lo, carry := bits.Add64(v.lo, o.lo, 0)
	hi, _ := bits.Add64(uint64(v.hi), uint64(o.hi), carry)
	sum = Int128(int64(hi), lo)
	overflow := v.hi >= 0 == (o.hi >= 0) && sum.hi >= 0 != (v.hi >= 0)
	return sum, !overflow && sum.isStorable()
}

// numberSize is one byte for each two significant digits, and one; and one for a sign. Zeros at the
// end are not significant.
func (v Value) numberSize() int {
	var buffer [40]byte
	size := (len(bytes.TrimRight(v.digits(buffer[:0]), "0"))+1)/2 + 1
	if v.hi < 0 {
		size++
	}
	return size
}

// printable is bytes as a text that can be read.
func printable(text string) string {
	for _, r := range text {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return "0x" + hex.EncodeToString([]byte(text))
		}
	}
	return text
}
