package streamsort

import (
	"encoding/json"
	"fmt"
	"os"
)

// readFile reads a file of lists that a prop names. The error is put behind the prop's name.
func readFile(path string, into any, strictly func(text []byte) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// Read strictly first: what is unknown there must not be lost here.
	if err = strictly(text); err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("is %s: %w", path, err)
	}
	return nil
}
