package big

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// behind has a consumer that was away for a week, and what waits for it kept, while each of
// 1,000 other queues has a dead claim: those are all ended in the first run of the sweep.
func behind(w *world) error {
	ctx, waiting, others := context.Background(), w.of(400_000), w.of(1_000)
	if err := w.backlog(waiting, 100); err != nil {
		return err
	}
	if err := w.consumer(delivery.First); err != nil {
		return err
	}
	if _, _, err := w.store.Requests(queuelog.Inside{}).Move(ctx, "big", cursor.Range{From: 0, To: waiting}, 0, w.now); err != nil {
		return err
	}
	w.now = w.now.Add(8 * 24 * time.Hour)
	for n := range others {
		if err := w.deadClaim(fmt.Sprint("other ", n)); err != nil {
			return err
		}
	}
	w.now = w.now.Add(time.Hour)
	var run spent
	kept, cancelled := 0, 0
	for kept < int(waiting) {
		if run.invocations > 1+int(waiting)/200_000 {
			return fmt.Errorf("after %d runs %d are kept", run.invocations, kept)
		}
		// What is killed with its time is no failure here: the next run goes on.
		_ = w.run(&run, sideBySide(4*time.Minute), w.sweeps(ctx, func(did delivery.SweepReport) {
			kept += did.Sorter.Kept
			if run.invocations == 0 {
				cancelled += did.Cancelled
			}
		}))
	}
	w.line(fmt.Sprintf("%d messages kept beside %d queues with a dead claim", waiting, others), run)
	return errors.Join(
		atMost("dead claims that the first run left", float64(int(others)-cancelled), 0),
		atMost("requests", float64(run.requests), 1.1*float64(waiting)+20*float64(others)+200))
}

// sweeps is a run of the sweep over the queues and their consumers, as the function makes it.
func (w *world) sweeps(ctx context.Context, note func(delivery.SweepReport)) func(ddb.Engine, *cursor.Sorter) error {
	return func(tables ddb.Engine, s *cursor.Sorter) error {
		d, err := delivery.New(delivery.NewStore(tables, delivery.Names{}.Tables()), s, &delivery.Options{Now: func() time.Time { return w.now }})
		if err != nil {
			return err
		}
		did, err := d.Sweep(ctx, delivery.SweepOptions{})
		note(did)
		return err
	}
}

// deadClaim makes a queue with a message, and a consumer whose process died with it.
func (w *world) deadClaim(queue string) error {
	ctx := context.Background()
	if err := w.invoke(&spent{}, oneByOne(time.Second), func(s *cursor.Sorter) error {
		err := s.Put(ctx, cursor.Message{Queue: queue, Seq: 1})[0].Err
		return err
	}); err != nil {
		return err
	}
	return w.deliver(&spent{}, oneByOne(time.Second), func(d *delivery.Deliverer) error {
		c, err := d.Create(ctx, queue, "c", delivery.First)
		if err != nil {
			return err
		}
		return w.dies(c, 1)
	})
}
