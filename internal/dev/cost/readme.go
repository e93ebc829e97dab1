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
	singles := singly(16)
	lines := []string{fmt.Sprintf("one message a request | %.2f | %.2f | %.2f", singles.per(ours), singles.per(ours), singles.per(theirs))}
	for _, size := range []int{25, 100} {
		busy, _ := inBatches(size)
		lines = append(lines, fmt.Sprintf("batches of %d | %.2f | %.2f | %.2f", size, busy.per(ours), busy.per(oursAppended), busy.per(theirs)))
	}
	return rows("1,000 messages a second, 16 queues | Streamsort, any order | Streamsort, sent in order | SQS FIFO", lines...)
}
