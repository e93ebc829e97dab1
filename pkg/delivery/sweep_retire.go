package delivery

import (
	"context"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

const retireStep = 200

// retire deletes what every consumer is past. It goes in two steps, with time between them: the
// floor is raised to the lowest Delivered, and when it has stood for a while, what is under it is
// deleted. The consumers are listed again after the floor was raised: one that began meanwhile has
// seen the floor, or is seen in lowest.
//
// We die within the deletion: the next run goes on.
func (r *sweepRun) retire(ctx context.Context, it cursor.Cursor) error {
	lowest, any, err := inside{r.Deliverer}.Delivered(ctx, it.Queue)
	if err != nil || !any || r.now().Sub(it.FloorSince) < cursor.DeleteAfter {
		return err
	}
	if it.Floor >= it.Settings.First {
		if more, err := r.deleteUpTo(ctx, it.Queue, min(it.Floor, lowest)); more || err != nil {
			return err
		}
	}
	if floor := min(lowest, it.Position); floor > it.Floor {
		_, err := r.sorter.Inside(queuelog.Inside{}).RaiseFloor(ctx, it.Queue, floor)
		return err
	}
	return nil
}

// deleteUpTo deletes up to a seq, for as long as the queue has time, and reports whether there may
// be more.
func (r *sweepRun) deleteUpTo(ctx context.Context, queue string,
	upTo int64) (more bool, err error) {
	for left := r.options.DeleteLimit; left > 0; left -= retireStep {
		step := min(left, retireStep)
		deleted, err := r.sorter.Inside(queuelog.Inside{}).DeleteUpTo(ctx, queue, upTo, step)
		r.report.Deleted += deleted
		if err != nil || deleted < step {
			return false, err
		}
		if !r.hasTime(ctx, r.until, r.margin) {
			r.more = true // the run goes on with it when the round is over
			break
		}
	}
	return true, nil
}
