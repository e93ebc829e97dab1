package repliessim

import (
	"context"
	"errors"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/verify/sim"
)

// database is a consumer's own: its markers, each with its replies, as package
// sqlmarker keeps them.
type database struct {
	markers map[delivery.Held]marker
}

type marker struct {
	outcome delivery.TokenOutcome
	replies []delivery.Reply
}

// committed reports whether a claim is committed in the database.
func (d *database) committed(token string) bool {
	for h, row := range d.markers {
		if h.Token.String() == token {
			return row.outcome == delivery.Committed
		}
	}
	return false
}

// connection is the database as one process sees it; p is nil for one that is no
// point.
type connection struct {
	*model
	p *sim.Proc
}

var _ pull.Database = connection{}

var (
	errSettled = errors.New("settled already")
	errLost    = errors.New("the answer to the commit was lost")
)

// Name implements [pull.Database].
func (c connection) Name() string { return "db" }

// Apply implements [pull.Database].
func (c connection) Apply(ctx context.Context, b delivery.Batch, _ int64, prepare func(context.Context) error) error {
	h := b.Held()
	if err := c.replies(b); err != nil {
		c.run.Violation("a reply was not taken: %w", err)
	}
	if c.failing && c.p.Choose(sim.Labelf("the effect of %v", h.Token), nil, "", "fails") != 0 {
		return errors.New("no such account")
	}
	if err := prepare(ctx); err != nil {
		return err
	}
	tries := 0
	_, err := sim.Do(c.p, sim.Labelf("commit %d to %d under %v in the database", b.From, b.To, h.Token), true, func() (bool, error) {
		if tries++; tries > 1 {
			return false, errLost // nobody repeats a commit
		}
		if c.db.markers[h].outcome != "" {
			return false, errSettled
		}
		replies, _ := b.Replies() // with one that was refused the prepare fails
		c.db.markers[h] = marker{delivery.Committed, replies}
		return true, nil
	})
	return err
}

// Settle implements [pull.Database].
func (c connection) Settle(_ context.Context, h delivery.Held, _ int64) (delivery.TokenOutcome, []delivery.Reply, error) {
	var row marker
	_, err := sim.Do(c.p, sim.Labelf("settle %v in the database", h.Token), true, func() (string, error) {
		if c.db.markers[h].outcome == "" {
			c.db.markers[h] = marker{outcome: delivery.Aborted}
		}
		row = c.db.markers[h]
		return string(row.outcome), nil
	})
	return row.outcome, row.replies, err
}

// Check implements [pull.Database].
func (c connection) Check(context.Context, string, string, int64) error { return nil }

// Forget implements [pull.Database].
func (c connection) Forget(context.Context, string, string, int64) error { return nil }
