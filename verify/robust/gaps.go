package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack"
)

// gaps opens a gap in each queue at once, waits until the sweep has announced all, and fills them
// at once: all that waited comes out of each sink. Batches of the streams are repeated, late and
// dropped, and DynamoDB's answers are lost.
func gaps(ctx context.Context, w *world) {
	queues := make([]string, w.number("QUEUES"))
	wanted, closed := make([]string, len(queues)), make([]string, len(queues))
	var waiting, missing []traffic.Message
	for i := range queues {
		queues[i] = fmt.Sprintf("gaps/%d", i)
		wanted[i], closed[i] = gapAnnounced("opened", queues[i], 1), gapAnnounced("closed", queues[i], 1)
		for seq := int64(1); seq <= 6; seq++ {
			m := traffic.Plain(queues[i], seq, fmt.Sprintf(`{"n":%d}`, seq), "")
			if seq == 1 {
				missing = append(missing, m)
			} else {
				waiting = append(waiting, m)
			}
		}
	}
	said := newAnnouncements(wanted, closed...)
	s := startSinks(ctx, w, said, localstack.Chaos{
		Seed: uint64(w.values["SEED"]), Duplicate: 0.05, Drop: 0.05, Late: 0.05, LateBy: 2 * time.Second,
	})
	for _, queue := range queues {
		s.configureGap(ctx, queue)
	}
	stop := s.run(ctx)
	s.network.disturb(true)
	err := check.Try(func() { s.openAndFill(ctx, waiting, missing) })
	s.network.disturb(false)
	err = cmp.Or(err, stop())
	s.report()
	check.Must(err)
}

func (s *sinks) openAndFill(ctx context.Context, waiting, missing []traffic.Message) {
	check.Must(s.SendAll(ctx, 4, batchSize, waiting))
	announced := progress.Wait{Total: len(missing), What: "gaps are announced",
		Patience: soakPatience, Out: s.Out}
	check.Must(announced.Until(ctx, func(context.Context) (int, string, error) {
		return announced.Total - len(s.said.missing()), "", nil
	}))
	if came := s.Came(); came > 0 {
		s.Not("%d messages came out from behind the gaps", came)
	}
	check.Must(s.SendAll(ctx, 4, batchSize, missing))
	check.Must(s.drain(ctx))
}
