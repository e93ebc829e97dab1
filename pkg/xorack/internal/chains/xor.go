package chains

import "crypto/subtle"

// XOR is what stored stamps of a length come to: nil where there are none.
func XOR(marked [][]byte, length int) []byte {
	if len(marked) == 0 {
		return nil
	}
	state := make([]byte, length)
	for _, stamp := range marked {
		subtle.XORBytes(state, state, stamp[StampMark:])
	}
	return state
}

// IsZero reports whether all bytes are.
func IsZero(stamp []byte) bool {
	for _, b := range stamp {
		if b != 0 {
			return false
		}
	}
	return true
}
