package archive

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// eraseBatch is how many documents one Delete takes.
const eraseBatch = 25

// Erase deletes what is archived of a queue that was erased, for half of the time that the
// context has left, and reports whether something is left. Nothing is deleted before
// nobody can be archiving the queue any more: see [cursor.Sorter.Settled].
//
// It goes down from the mark, which it takes along, to the queue's first seq, and begins a
// little above: a Keep that died has put that much without a mark. It costs a Delete for
// each 25 seqs, whether or not they were archived, and a Put for each 1,000.
//
// We die right after any step: the next call goes on from the mark.
func (a *Archive) Erase(ctx context.Context, c cursor.Cursor) (left bool, err error) {
	to, err := a.To(ctx, c.Queue)
	if err != nil || to < 0 || !a.sorter.Settled(c) {
		return to >= 0, err
	}
	goOn := margin.Half(ctx)
	for top := to + markEvery; top >= c.Settings.First; {
		if !goOn() {
			return true, nil
		}
		for range markEvery * 10 / eraseBatch {
			var keys []string
			for ; len(keys) < eraseBatch && top >= c.Settings.First; top-- {
				keys = append(keys, messageKey(c.Queue, top))
			}
			if len(keys) == 0 {
				break
			}
			if err := a.store.Delete(ctx, keys); err != nil {
				return true, fmt.Errorf("erase the archive of queue %q: %w", c.Queue, err)
			}
		}
		if err := a.store.Put(ctx, markKey(c.Queue), encodeMark(c.Queue, max(top, 0))); err != nil {
			return true, fmt.Errorf("mark the archive of queue %q: %w", c.Queue, err)
		}
	}
	return false, a.store.Delete(ctx, []string{markKey(c.Queue)})
}
