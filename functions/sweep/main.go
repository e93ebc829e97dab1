// Command sweep is the function that runs on a schedule and looks after all
// queues and their consumers: it heals, skips, settles keyed queues, keeps undelivered
// messages from expiring, wakes up consumers that lag, times chains out, and announces gaps,
// late messages and consumers that are stuck, and how chains end. Called with wake-ups of the timer, it does
// the same for the queues, consumers and chains that they name, and for nothing else.
package main

import (
	"time"

	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func main() { runtime.Main(newHandler) }

// headroom is how long before the function's time is over the sweep stops, so
// that it notes where it stopped.
const headroom = 5 * time.Second

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	acker := d.Acker()
	deliverer := d.Deliverer(handoff.Options{Acker: acker})
	announcer := d.Announcer()
	var shelf *archive.Archive
	if d.ArchiveTable != "" {
		shelf = archive.New(archive.NewDynamo(d.Client, archive.Names{Archive: d.ArchiveTable}), d.Sorter())
	}
	s := &sweeper{
		tenants: d.TenantClaim != "", gapAfter: d.GapAlarmAfter, overdueAfter: d.SweepEvery + calls,
		sorter: d.Sorter(), deliverer: deliverer, acker: acker, timer: d.Timer,
		consumers: handoff.SweepOptions{
			Sorter: cursor.SweepOptions{
				Segments: d.SweepSegments, Every: max(d.SweepEvery-early, 0), FullEvery: d.FullSweepEvery, Announce: announcer.Queue,
			},
			LagAfter: d.LagAfter, SettleWithin: d.SettleWithin,
			Delete: d.DeleteDelivered, Archive: shelf, Readers: d.Readers, Announce: announcer.Consumer,
		},
		chains: xorack.SweepOptions{Announce: d.Ends(deliverer, announcer)},
	}
	return runtime.Handle(d, headroom, s.handle), nil
}
