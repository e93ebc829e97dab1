package figures

import (
	"flag"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

var update = flag.Bool("update", false,
	"write the counted part of docs/reference/figures.md, and its pictures")

// TestThePageIsWhatIsCounted holds docs/reference/figures.md to a count: each count of requests.
func TestThePageIsWhatIsCounted(t *testing.T) {
	tables := Count()
	err := File("../../..").Counted(tables, *update)
	check.That(t, err == nil, "%v", err)
	for _, r := range tables[0].Rows {
		check.That(t, r.dollars[1] <= r.dollars[2], "%s %.3f %.3f", r.Name, r.dollars[1], r.dollars[2])
	}
}
