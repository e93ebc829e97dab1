package cost

import (
	"fmt"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/dev/pages"
)

// readme is the README's table of prices.
func readme(root string) pages.Part {
	return pages.Part{Path: filepath.Join(root, "README.md"), Begins: begins + "price -->\n", Ends: "<!-- end -->\n"}
}

// priceTable compares the default stack with SQS FIFO: 1,000 messages a second to 16 queues.
func priceTable() string {
	var lines []string
	for _, size := range []int{1, 25, 100} {
		ordered := singly(16)
		ordered.Batch = size
		late, name, one := ordered, fmt.Sprintf("batches of %d", size), oursAppended
		if late.Disorder = Window8; size == 1 {
			name, one = "one message a request", ours
		}
		lines = append(lines, fmt.Sprintf("%s | %.2f | %.2f | %.2f", name, late.per(ours), ordered.per(one), ordered.per(theirs)))
	}
	return rows("1,000 messages a second, 16 queues | Streamsort, up to 8 places late | Streamsort, in order | SQS FIFO", lines...)
}
