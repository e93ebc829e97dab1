package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// replies handles the replies of a consumer: it finishes a claim whose replies are on their way and
// whose lease is over, and announces what could not be stored. It returns the consumer as it is
// then.
func (r *sweepRun) replies(ctx context.Context, c Consumer, it cursor.Cursor) (Consumer, error) {
	now := r.now()
	if c.State == Sending && c.LeaseUntil.Before(ddb.ToMillis(now)) {
		finished, err := r.forward(ctx, c, nil)
		switch {
		case errors.Is(err, errFull):
			if now.Sub(c.LeaseUntil) < r.options.LagAfter {
				break
			}
			r.noteMore(ctx, rowOf(trouble.Replying, c, c.LeaseUntil))
			a := newAnnouncement(consumerReplying, c, it.Position, c.LeaseUntil, now)
			a.Token, a.From, a.To, a.State, a.Error = c.Token, c.From, c.To, c.State, err.Error()
			if err := r.announce(ctx, a); err != nil {
				return c, err
			}
		case err != nil:
			return c, err
		default:
			r.report.Sent++
			r.store.NoteOver(ctx, finished, trouble.Replying)
			c = finished
		}
	}
	if c.Refused.N <= c.Refused.Announced || r.announced >= maxAnnounced {
		return c, nil
	}
	a := newAnnouncement(consumerReplyRefused, c, it.Position, c.Refused.Since, now)
	a.ID = fmt.Sprintf("%s/%d/%s/%d/%s/%d", a.Kind, len(c.Queue), c.Queue,
		len(c.Name), c.Name, c.Refused.N)
	a.Error = fmt.Sprintf("%d replies were refused, the last of claim %s to queue %q: %s",
		c.Refused.N-c.Refused.Announced, c.Refused.By, c.Refused.Queue, c.Refused.Why)
	if err := r.announce(ctx, a); err != nil {
		return c, err
	}
	announced, _, err := r.store.AnnouncedRefused(ctx, c)
	return announced, err
}
