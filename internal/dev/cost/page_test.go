package cost

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// TestThePageIsWhatIsCounted holds the tables of docs/cost.md to the bills.
func TestThePageIsWhatIsCounted(t *testing.T) {
	root, err := localdb.Root()
	if err != nil {
		t.Fatal(err)
	}
	path, old, renewed, err := counted(root)
	if err != nil {
		t.Fatal(err)
	}
	if old != renewed {
		t.Errorf("%s is not what is counted now; make cost PAGE=1 writes it", path)
	}
}
