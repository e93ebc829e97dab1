package big

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestShort runs every case at a hundredth of its size.
func TestShort(t *testing.T) {
	for _, c := range Cases {
		lines, err := c.Run(100)
		t.Logf("%s: %q", c.Name, lines)
		check.That(t, err == nil, "%s: %v", c.Name, err)
	}
}
