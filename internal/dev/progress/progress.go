// Package progress waits for what an example shows on the local stack, says how far it is, and runs
// the stack's sweep meanwhile: call [Wait.Until].
package progress

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	lookEvery = 100 * time.Millisecond
	// tellEvery is the time between two lines, where something has moved.
	tellEvery = time.Second
	// sweepEvery is the time between two sweeps. On AWS their schedule runs them every five
	// minutes: they end dead claims, and wake up what a killed function left.
	sweepEvery = 2 * time.Second
	// still is how long nothing moves before that is explained.
	still = 4 * time.Second
)

// Wait is what is waited for.
type Wait struct {
	// Total is how many there are in the end, and What says of what: "messages are booked".
	Total int
	What  string
	// Patience is how long nothing may move, in looks, ten a second: on a slow machine it is
	// longer. It is more than the claims of killed processes take to run out.
	Patience time.Duration
	// Killed tells that processes are killed: why it waits is explained.
	Killed bool
	// Sweep runs the stack's sweep every two seconds, where its timer is not enough; nil leaves it
	// to its schedule.
	Sweep func(context.Context) error
	Out   io.Writer
}

// Look is how many there are now, and what is not done with yet, in words: "" where that is nothing
// but what is to come.
type Look func(context.Context) (count int, left string, err error)

// Until looks until there are all and nothing is left. It fails where a look does, where a sweep
// cannot be run, where nothing moves any more, and where the context ends.
func (w Wait) Until(ctx context.Context, look Look) error {
	next, began := time.Tick(lookEvery), time.Now()
	last, moved, reported, tellAt, sweepAt := -1, began, 0, began.Add(tellEvery), began.Add(sweepEvery)
	explained := false
	for looks := time.Duration(0); ; looks++ {
		count, left, err := look(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		if count != last {
			last, moved, looks, explained = count, now, 0, false
		}
		switch {
		case count >= w.Total && left == "":
			return nil
		case looks*lookEvery > w.Patience:
			if left != "" {
				left = ": " + left
			}
			return fmt.Errorf("%d of %d %s, and no more for %v%s", count, w.Total,
				w.What, w.Patience, left)
		case count != reported && now.After(tellAt):
			reported, tellAt = count, now.Add(tellEvery)
			fmt.Fprintf(w.Out, "    %d of %d %s\n", count, w.Total, w.What)
		case (w.Killed || w.Sweep != nil) && !explained && now.Sub(moved) > still:
			explained = true
			fmt.Fprintln(w.Out, "    waiting: what a killed process claimed is claimed again when its lease has ended")
		}
		if w.Sweep != nil && now.After(sweepAt) {
			sweepAt = now.Add(sweepEvery)
			// It may be killed like any other.
			if err := w.Sweep(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d %s: %w", count, w.Total, w.What, ctx.Err())
		case <-next:
		}
	}
}
