package chains

// IsZero reports whether all bytes are.
func IsZero(stamp []byte) bool {
	for _, b := range stamp {
		if b != 0 {
			return false
		}
	}
	return true
}
