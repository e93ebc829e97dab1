package streamsort

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestAliasesAreKnown: enqueue knows the aliases by which it puts, and does nothing else.
func TestAliasesAreKnown(t *testing.T) {
	text, err := os.ReadFile("../../../functions/enqueue/handler.go")
	for _, alias := range []string{putAlias, urlAlias} {
		if known := fmt.Sprintf("const %sAlias = %[1]q", alias); err != nil ||
			!strings.Contains(string(text), known) {
			t.Errorf("enqueue does not know the alias %s: %v", alias, err)
		}
	}
}
