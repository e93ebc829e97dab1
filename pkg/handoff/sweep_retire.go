package handoff

import (
	"context"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// retire archives what every consumer is past, and deletes it, where that is
// wanted. What could not be archived stays.
//
// We die right after the archiving: what is archived is archived again by the
// next run, where the mark does not tell of it, and deleted then. We die within
// the deletion: the next run goes on.
func (r *sweepRun) retire(ctx context.Context, it cursor.Cursor) error {
	lowest, any, err := r.Delivered(ctx, it.Queue)
	if err != nil || !any {
		return err
	}
	due := r.now().Sub(it.FloorSince) >= cursor.DeleteAfter
	if r.options.Delete && !due {
		return nil
	}
	if r.options.Archive != nil {
		kept, err := r.options.Archive.Keep(ctx, it.Queue, min(lowest, it.Position), r.options.DeleteLimit)
		r.report.Archived += kept.Messages
		r.report.Lost += kept.Missing
		if err != nil {
			return err
		}
		lowest = min(lowest, kept.To)
	}
	if !r.options.Delete {
		return nil
	}
	return r.delete(ctx, it, lowest)
}

// delete deletes what every consumer is past. It goes in two steps, with time
// between them: the floor is raised to the lowest Delivered, and when it has
// stood for a while, what is under it is deleted. The consumers were listed
// again after the floor was raised: one that began meanwhile has seen the floor,
// or is seen in lowest.
func (r *sweepRun) delete(ctx context.Context, it cursor.Cursor, lowest int64) error {
	if it.Floor >= it.Settings.First {
		deleted, err := r.sorter.DeleteUpTo(ctx, it.Queue, min(it.Floor, lowest), r.options.DeleteLimit)
		r.report.Deleted += deleted
		if err != nil || deleted == r.options.DeleteLimit {
			return err
		}
	}
	if floor := min(lowest, it.Position); floor > it.Floor {
		if _, err := r.sorter.RaiseFloor(ctx, it.Queue, floor); err != nil {
			return err
		}
	}
	return nil
}
