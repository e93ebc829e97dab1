// Command sweep is the function that runs on a schedule and looks after all queues and their
// consumers: it heals, skips, settles keyed queues, keeps undelivered messages from expiring, wakes
// up consumers that lag, times chains out, and announces gaps, late messages and consumers that are
// stuck, and how chains end. Called with wake-ups of the timer, it does the same for the queues,
// consumers and chains that they name, and for nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/s3"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func main() { runtime.Main(newHandler) }

// headroom is how long before the function's time is over the sweep stops, so that it notes where
// it stopped.
const headroom = 5 * time.Second

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	acker := d.Acker()
	deliverer := d.Deliverer(delivery.Options{Acker: acker})
	announcer := d.Announcer()
	endpoints := endpoint.NewStore(dynamo.NewEngine(d.Client), d.Consumers.Tables(), time.Now)
	erase, err := eraseOthers(d.Buckets, endpoints.EraseQueue)
	if err != nil {
		return nil, err
	}
	s := &sweeper{
		tenants: d.TenantClaim != "", gapAfter: d.LagAfter, overdueAfter: d.SweepEvery + calls,
		sorter: d.Sorter(), deliverer: deliverer, acker: acker, timer: d.Timer,
		consumers: delivery.SweepOptions{
			Sorter: cursor.SweepOptions{
				Segments: d.SweepSegments, Every: max(d.SweepEvery-early, 0), FullEvery: d.FullSweepEvery,
				Announce: announcer.Queue,
			},
			LagAfter: d.LagAfter, SettleWithin: d.SettleWithin,
			Delete: d.DeleteDelivered, Erase: erase, Readers: d.Readers, Announce: announcer.Consumer,
		},
		chains: d.Ends(deliverer, announcer),
	}
	return runtime.Handle(d, headroom, s.handle), nil
}

type eraser func(ctx context.Context, queue string) (left bool, err error)

// eraseOthers deletes the endpoints of a queue, and what archives have of it, by the ARNs of their
// buckets.
func eraseOthers(buckets map[string]string, endpoints eraser) (eraser, error) {
	all := []eraser{endpoints}
	for consumer, arn := range buckets {
		a, err := s3.NewArchive(consumer, arn, awscall.Options{Timeout: kind.RequestTimeout})
		if err != nil {
			return nil, fmt.Errorf("the archive of consumer %q: %w", consumer, err)
		}
		all = append(all, a.Erase)
	}
	return func(ctx context.Context, queue string) (left bool, err error) {
		for _, erase := range all {
			some, failed := erase(ctx, queue)
			left, err = left || some, errors.Join(err, failed)
		}
		return left, err
	}, nil
}
