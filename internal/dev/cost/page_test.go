package cost

import "testing"

// TestThePagesAreWhatIsCounted holds the tables of docs/reference/cost.md and the README's to the
// bills.
func TestThePagesAreWhatIsCounted(t *testing.T) {
	if err := Page("../../..", false); err != nil {
		t.Error(err)
	}
}
