package cost

import (
	"os"
	"strings"
	"testing"
)

// TestThePageIsWhatIsCounted holds the tables of docs/reference/cost.md to the bills: these, and no others.
func TestThePageIsWhatIsCounted(t *testing.T) {
	const root = "../../.."
	all := tables(root)
	for part, table := range all {
		if err := part.Holds(table, "make cost PAGE=1"); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(file(root))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), begins); n != len(all) {
		t.Errorf("the page has %d tables, and %d are counted", n, len(all))
	}
}
