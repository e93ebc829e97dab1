package big

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// skipped skips a gap as long as a queue can have by default: in one run of the sweep,
// which skips the short gap of another queue in the same run.
func skipped(w *world) error {
	ctx, missing := context.Background(), w.of(100_000-1)
	change := cursor.Change{Policy: new(cursor.PolicySkip), GapAfter: new(time.Minute)}
	for queue, seq := range map[string]int64{"big": missing + 1, "other": 2} {
		if err := w.invoke(&spent{}, oneByOne(time.Minute), func(s *cursor.Sorter) error {
			if _, err := s.Configure(ctx, queue, change); err != nil {
				return err
			}
			err := s.Put(ctx, cursor.Message{Queue: queue, Seq: seq, Body: []byte("1")})[0].Err
			return err
		}); err != nil {
			return err
		}
	}
	w.now = w.now.Add(time.Hour)
	var run spent
	// Half of a run of 4 minutes is what one queue gets of it.
	if err := w.invoke(&run, sideBySide(2*time.Minute), func(s *cursor.Sorter) error {
		_, err := s.Sweep(ctx, cursor.SweepOptions{Segments: 1})
		return err
	}); err != nil {
		return err
	}
	w.line("the run of the sweep", run)
	if w.position("other") != 2 {
		return errors.New("another queue's gap waits")
	}
	return errors.Join(
		atMost("requests", float64(run.requests), 1.01*float64(missing)+50),
		atMost("write units", run.units.Writes, 1.01*float64(missing)+50),
		atMost("read units", run.units.Reads, 0.1*float64(missing)+50),
		atMost("messages that still wait", float64(missing+1-w.position("big")), 0))
}
