package bounds_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestBounds: the bounds themselves are taken.
func TestBounds(t *testing.T) {
	check.OK(t, bounds.Check("n", time.Second, 0, time.Second))
	check.OK(t, bounds.Text("t", "ab", 0, 2))
	check.Is(t, bounds.Check("n", -1, 0, 3).Error(), "n is -1: it must be from 0 to 3")
	check.Is(t, bounds.Text("t", "abc", 0, 2).Error(), "t has 3 bytes: at most 2 are taken")
}
