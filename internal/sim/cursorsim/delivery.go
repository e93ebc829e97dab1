package cursorsim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// What delivery asks of the sorter's tables. The sorter itself asks none of
// it.

func (s *store) Nudge(ctx context.Context, queue string, now time.Time) error {
	_, err := sim.Do(s.p, sim.Labelf("nudge %s", queue), true, func() (bool, error) {
		return true, s.memory.Nudge(ctx, queue, now)
	})
	return err
}

func (s *store) RaiseFloor(ctx context.Context, queue string, floor int64, now time.Time) (cursor.Cursor, error) {
	c, _, err := s.writeCursor(kindConfigure, sim.Labelf("raise floor of %s to %d", queue, floor), func() (cursor.Cursor, bool, error) {
		c, err := s.memory.RaiseFloor(ctx, queue, floor, now)
		return c, true, err
	})
	return c, err
}

func (s *store) DeleteMessages(ctx context.Context, queue string, seqs []int64) ([]int64, error) {
	_, err := sim.Do(s.p, sim.Labelf("delete %s/%d", queue, seqs), true, func() (bool, error) {
		s.changed = true
		_, err := s.memory.DeleteMessages(ctx, queue, seqs)
		return true, err
	})
	return nil, err
}
