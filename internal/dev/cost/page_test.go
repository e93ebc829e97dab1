package cost

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestThePagesAreWhatIsCounted holds the tables of docs/reference/cost.md and the README's to the
// bills.
func TestThePagesAreWhatIsCounted(t *testing.T) {
	err := Page("../../..", false)
	check.That(t, err == nil, "%v", err)
}
