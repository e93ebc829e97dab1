// Package digest distinguishes values by 128 bits: states of a simulation, items of a table.
// [Digest] is fed numbers, truths and texts in an order that the caller keeps to; it is quick, and
// no protection against an adversary.
package digest

import (
	"cmp"
	"encoding/binary"
	"math/bits"
)

// Digest distinguishes states: two that were fed the same values are equal. With 128 bits, two of a
// billion different ones are equal with a chance of 1 in 10^20. The zero Digest is ready to use.
type Digest struct{ a, b uint64 }

// Int feeds a number.
func (d *Digest) Int(n int64) {
	x := uint64(n)
	// Two multiplications with odd constants, each followed by a turn that brings the high bits
	// down. What is added is large: by 1, two zeros from the start would be one 1.
	d.a = bits.RotateLeft64((d.a^x)*0x9e3779b97f4a7c15, 29) + 0x2545f4914f6cdd1d
	d.b = bits.RotateLeft64((d.b+x)*0xc2b2ae3d27d4eb4f, 31) ^ d.a
}

// Bool feeds a truth.
func (d *Digest) Bool(truth bool) {
	if truth {
		d.Int(1)
		return
	}
	d.Int(2)
}

// Text feeds a text, its length first, so that joined texts do not look alike.
func (d *Digest) Text(text string) {
	d.Int(int64(len(text)))
	for len(text) > 0 {
		var word [8]byte
		text = text[copy(word[:], text):]
		d.Int(int64(binary.LittleEndian.Uint64(word[:])))
	}
}

// Digest feeds another Digest.
func (d *Digest) Digest(o Digest) {
	d.Int(int64(o.a))
	d.Int(int64(o.b))
}

// Compare orders Digests, in whatever order it is.
func (d Digest) Compare(o Digest) int {
	return cmp.Or(cmp.Compare(d.a, o.a), cmp.Compare(d.b, o.b))
}

// Sum is the Digest in 64 bits.
func (d *Digest) Sum() int64 { return int64(d.a ^ bits.RotateLeft64(d.b, 17)) }
