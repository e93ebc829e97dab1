package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// doubts handles a claim whose end is unknown: one that was prepared, and whose lease is over, and
// those in quarantine. It returns the consumer as it is then, and whether it must be looked at
// again although it lacks nothing.
func (r *sweepRun) doubts(ctx context.Context, c Consumer,
	it cursor.Cursor) (Consumer, bool, error) {
	now := r.now()
	if c.State == Prepared && c.LeaseUntil.Before(ddb.ToMillis(now)) {
		marked, _, err := r.store.MarkInDoubt(ctx, c, now)
		if err != nil {
			return c, true, err
		}
		c = marked
	}
	if old := now.Add(-r.options.SettleWithin); c.State == InDoubt &&
		c.LeaseUntil.Before(ddb.ToMillis(old)) {
		aside, _, err := r.store.Quarantine(ctx, c, old)
		if err != nil {
			return c, true, err
		}
		c = aside
	}
	if c.State == InDoubt {
		r.seen.Add(tallyInDoubt, 1)
		if err := r.announce(ctx, newDoubt(consumerInDoubt, c, aside(c), it.Position, now)); err != nil {
			return c, true, err
		}
	}
	if c.Quarantine[0] == (Quarantined{}) {
		return c, false, nil
	}
	r.seen.Add(tallyQuarantined, 1)
	for _, q := range c.Quarantine {
		if q == (Quarantined{}) {
			continue
		}
		if err := r.announce(ctx, newDoubt(consumerQuarantined, c, q, it.Position, now)); err != nil {
			return c, true, err
		}
	}
	return c, true, nil
}

func newDoubt(kind string, c Consumer, q Quarantined, position int64, now time.Time) Announcement {
	a := newAnnouncement(kind, c, position, q.Since, now)
	a.ID = fmt.Sprintf("%s/%d/%s/%d/%s/%v/%s", kind, len(c.Queue), c.Queue, len(c.Name), c.Name,
		q.Token, q.State)
	a.Token, a.From, a.To, a.State = q.Token, q.From, q.To, q.State
	return a
}
