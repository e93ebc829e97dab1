package sortkey

// ParseKey reads a key from JSON, as [KeyParts] does.
func (t KeyType) ParseKey(raw []byte) (Key, error) {
	parts, err := KeyParts(raw)
	if err != nil {
		return "", err
	}
	return t.Key(parts...)
}

// Has reports whether a key can be one of this type.
func (t KeyType) Has(k Key) bool {
	of, err := parseKeyType(string(t))
	if err != nil {
		return false
	}
	parts, err := readKey(string(k))
	if err != nil || len(parts) != len(of) {
		return false
	}
	for i, part := range parts {
		if part.tag != of[i].kind.tag || part.tag == tagRank && part.rank >= len(of[i].patterns) {
			return false
		}
	}
	return true
}
