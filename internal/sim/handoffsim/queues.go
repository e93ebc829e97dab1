package handoffsim

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// queueView is the sorter's tables as one process sees them. How far a walk
// over all cursors has come is no point: nothing is decided by it.
type queueView struct {
	*cursor.Memory
	*model
	p *sim.Proc
}

var _ cursor.Store = (*queueView)(nil)

// Cursor answers as late as it may: a read that is not strong, for which
// delivery has no use, gets what stood there before.
func (v *queueView) Cursor(ctx context.Context, queue string, strong bool) (cursor.Cursor, error) {
	answer, err := sim.Read(v.p, sim.Labelf("get cursor of %s", queue), func() (cursorAnswer, error) {
		if older := v.older[queue]; !strong && older.Exists() {
			return cursorAnswer{older}, nil
		}
		c, err := v.Memory.Cursor(ctx, queue, strong)
		return cursorAnswer{c}, err
	})
	return answer.Cursor, err
}

// write is a write of a cursor.
func (v *queueView) write(label sim.Label, request func() (cursor.Cursor, error)) (cursor.Cursor, error) {
	answer, err := write(v.model, v.p, label, func() (cursorAnswer, error) {
		c, err := request()
		return cursorAnswer{c}, err
	})
	return answer.Cursor, err
}

func (v *queueView) CreateCursor(ctx context.Context, c cursor.Cursor) (cursor.Cursor, error) {
	return v.write(sim.Labelf("create cursor of %s", c.Queue), func() (cursor.Cursor, error) {
		return v.Memory.CreateCursor(ctx, c)
	})
}

// Nudge makes a record each time: no two come in one millisecond, as they do
// in a simulation.
func (v *queueView) Nudge(ctx context.Context, queue string, now time.Time) error {
	v.nudging++
	defer func() { v.nudging-- }()
	_, err := v.write(sim.Labelf("nudge %s", queue), func() (cursor.Cursor, error) {
		it := v.cursor(queue)
		if v.streamed {
			v.records = append(v.records, record{older: it, newer: it})
		}
		return cursor.Cursor{}, v.Memory.Nudge(ctx, queue, now)
	})
	return err
}

func (v *queueView) RaiseFloor(ctx context.Context, queue string, floor int64, now time.Time) (cursor.Cursor, error) {
	return v.write(sim.Labelf("raise floor of %s to %d", queue, floor), func() (cursor.Cursor, error) {
		return v.Memory.RaiseFloor(ctx, queue, floor, now)
	})
}

func (v *queueView) Cursors(ctx context.Context, scan cursor.CursorScan) (cursor.CursorPage, error) {
	page, err := v.Memory.Cursors(ctx, scan)
	for _, c := range page.Cursors {
		hashCursor(v.p.Knows(), c)
	}
	return page, err
}

func (v *queueView) Messages(ctx context.Context, query cursor.Query) (cursor.Page, error) {
	label := sim.Labelf("query %s from %d to %d", query.Queue, query.First, query.Last)
	if query.Limit == 0 {
		query.Limit = v.page
	}
	page := func() (pageAnswer, error) {
		page, err := v.Memory.Messages(ctx, query)
		return pageAnswer{page}, err
	}
	if query.Strong {
		answer, err := sim.Read(v.p, label, page)
		return answer.Page, err
	}
	// A read that is not strong may miss any one message, or all.
	without := func(hidden func(i int) bool) func() (pageAnswer, error) {
		return func() (pageAnswer, error) {
			answer, err := page()
			at := -1
			answer.Messages = slices.DeleteFunc(answer.Messages, func(cursor.Message) bool { at++; return hidden(at) })
			return answer, err
		}
	}
	answer, err := sim.Read(v.p, label, page,
		without(func(int) bool { return true }), without(func(i int) bool { return i == 0 }), without(func(i int) bool { return i == 1 }))
	return answer.Page, err
}

func (v *queueView) KeepUntil(ctx context.Context, queue string, seq int64, until time.Time) (bool, error) {
	return write(v.model, v.p, sim.Labelf("keep %s/%d", queue, seq), func() (bool, error) {
		return v.Memory.KeepUntil(ctx, queue, seq, until)
	})
}

// DeleteMessages deletes, and checks that nobody needs what it deletes.
func (v *queueView) DeleteMessages(ctx context.Context, queue string, seqs []int64) ([]int64, error) {
	_, err := write(v.model, v.p, sim.Labelf("delete %s/%v", queue, seqs), func() (bool, error) {
		_, err := v.Memory.DeleteMessages(ctx, queue, seqs)
		return true, err
	})
	return nil, err
}
