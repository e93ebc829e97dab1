package acts

import (
	"context"
	"strings"

	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// walker finds who is selected.
type walker struct {
	rows   *trouble.Store
	sorter *cursor.Sorter
}

// page reads on from a place, and returns those of one page of rows, or of queues, that are selected; all is true
// behind the last one.
func (w walker) page(ctx context.Context, a Ask, after string, limit int) (page []One, next string, all bool, err error) {
	if a.State == "" {
		return w.queues(ctx, a, after, limit)
	}
	state := a.State
	if state == trouble.CircuitOpen {
		state = trouble.HeldBy(a.Consumer)
	}
	rows, next, err := w.rows.Page(ctx, state, a.Prefix, after, limit)
	for _, row := range rows {
		if (a.Consumer == "" || row.Consumer == a.Consumer) && a.inState(row.Since) {
			page = append(page, One{row.Queue, row.Consumer})
		}
	}
	return page, next, next == "", err
}

// cursorsRead is how many cursors are read at once: not all of them may be asked for.
const cursorsRead = 1000

// queues are those of a page of all queues.
func (w walker) queues(ctx context.Context, a Ask, after string, limit int) (page []One, next string, all bool, err error) {
	read, err := w.sorter.Queues(ctx, after, cursorsRead)
	for i, it := range read.Cursors {
		if strings.HasPrefix(it.Queue, a.Prefix) && !it.Erased() {
			page = append(page, One{it.Queue, a.Consumer})
		}
		if len(page) == limit && i < len(read.Cursors)-1 {
			return page, it.Queue, false, nil
		}
	}
	return page, read.Next, read.Next == "", err
}
