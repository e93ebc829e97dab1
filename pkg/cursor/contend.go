package cursor

import (
	"context"
	"time"
)

// Those who give places in a keyed queue at the same time compare the same position, and one of
// them gets it. The others wait, each for a time that chance decides, twice as long at most after
// each loss, so that they come one after the other: together they lose some moves each, and not one
// to each of the others.
const (
	// firstPause is the most that is waited after the first loss: about what a look and a move
	// take.
	firstPause = 10 * time.Millisecond
	// maxLosses is how many moves a late message loses before its call fails, and may be repeated:
	// it has waited for five seconds then, on average. A settle leaves the rest to the next one.
	maxLosses = 10
)

// waitAfterLoss waits until it is time for another try, after so many moves in a row were lost to
// others.
func (s *Sorter) waitAfterLoss(ctx context.Context, losses int) error {
	if losses == 0 {
		return nil
	}
	return s.pause(ctx, firstPause<<(losses-1))
}
