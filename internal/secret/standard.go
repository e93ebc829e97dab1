package secret

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// StandardPrefix is what may stand before a secret that is written in base64, as Standard Webhooks
// has it.
const StandardPrefix = "whsec_"

// StandardKeys are the keys that secrets of Standard Webhooks stand for. The error says which one is
// none, and nothing of what is in it.
func StandardKeys(values [][]byte) ([][]byte, error) {
	keys := make([][]byte, len(values))
	for i, value := range values {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(value), StandardPrefix))
		if err != nil || len(key) < MinBytes {
			return nil, fmt.Errorf("secret %d of %d is not %s and %d bytes or more in base64, as the scheme has it", i+1, len(values), StandardPrefix, MinBytes)
		}
		keys[i] = key
	}
	return keys, nil
}
