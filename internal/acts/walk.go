package acts

import (
	"context"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// walker finds who is selected.
type walker struct {
	rows      *trouble.Store
	sorter    *cursor.Sorter
	consumers *handoff.Store
}

// maxPageBytes is how long the names of a page are at most, and the failures that are kept: the item of a
// batch, which is written with each page, costs as much as it is long.
const maxPageBytes = 16 << 10

// sizeOf is how long something of this package's own is in the item of a batch.
func sizeOf(v any) int { return len(texts(v).Str()) }

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
	since := func(row trouble.Row) time.Time { return row.Since }
	if state != a.State {
		e, err := w.consumers.Evidence(ctx, a.Consumer, true)
		if err != nil {
			return nil, "", false, err
		}
		if e.Circuit.Open() { // each probe has a row begin anew
			since = func(trouble.Row) time.Time { return e.Circuit.Opened }
		}
		if e.Circuit.Open() && after == "" && a.inState(e.Circuit.Opened) {
			if page, err = w.failing(ctx, a, e); err != nil {
				return nil, "", false, err
			}
		}
	}
	rows, next, err := w.rows.Page(ctx, state, a.Prefix, after, limit)
	size := sizeOf(page)
	for i, row := range rows {
		one := One{row.Queue, row.Consumer}
		if a.Consumer != "" && row.Consumer != a.Consumer || !a.inState(since(row)) {
			continue
		}
		if size += sizeOf(one); size > maxPageBytes && i > 0 {
			return page, rows[i-1].Place(), false, err
		}
		page = append(page, one)
	}
	return page, next, next == "", err
}

// failing are the queues of a consumer whose circuit is open that are known to fail: those of them that no row
// says are held back, ten at most.
func (w walker) failing(ctx context.Context, a Ask, e record.Evidence) (page []One, err error) {
	for _, queue := range e.Failing {
		if !strings.HasPrefix(queue, a.Prefix) {
			continue
		}
		_, found, err := w.rows.Row(ctx, trouble.HeldBy(a.Consumer), queue, a.Consumer)
		if err != nil {
			return nil, err
		}
		if !found {
			page = append(page, One{queue, a.Consumer})
		}
	}
	return page, nil
}

// cursorsRead is how many cursors are read at once: not all of them may be asked for.
const cursorsRead = 1000

// queues are those of a page of all queues.
func (w walker) queues(ctx context.Context, a Ask, after string, limit int) (page []One, next string, all bool, err error) {
	read, err := w.sorter.Queues(ctx, after, cursorsRead)
	size := 0
	for i, it := range read.Cursors {
		one := One{it.Queue, a.Consumer}
		if !strings.HasPrefix(it.Queue, a.Prefix) || it.Erased() {
			continue
		}
		if size += sizeOf(one); len(page) > 0 && (size > maxPageBytes || len(page) == limit) {
			return page, read.Cursors[i-1].Queue, false, nil
		}
		page = append(page, one)
	}
	return page, read.Next, read.Next == "", err
}
