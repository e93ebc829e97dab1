package consumers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/verify/sim"
)

// Database is a consumer's own: its markers with their replies, as package sqlmarker keeps them,
// and what was done in it. A transaction is checked and takes effect at its commit, as in a
// database that is serializable without locks: what one with locks lets wait comes first or last
// here.
type Database struct {
	markers map[delivery.Held]delivery.TokenOutcome
	replies map[delivery.Held][]delivery.Reply
	floor   int64
	// Effects are what was committed, in that order.
	Effects []Effect
	// Epoch rises when the database is restored: a transaction that began before is gone.
	Epoch int
	// Lost are the claims that were committed and are not any more, because the database was restored.
	Lost []delivery.Token
}

// Effect is a batch that was committed.
type Effect struct {
	Token    delivery.Token
	From, To int64
	rewinds  int64
}

// NewDatabase returns one in which nothing was done.
func NewDatabase() *Database {
	return &Database{markers: map[delivery.Held]delivery.TokenOutcome{},
		replies: map[delivery.Held][]delivery.Reply{}}
}

// Copied is the database as a backup has it.
func (d *Database) Copied() *Database {
	return &Database{markers: maps.Clone(d.markers), replies: maps.Clone(d.replies), floor: d.floor,
		Effects: slices.Clone(d.Effects)}
}

// Committed reports whether a claim is committed in the database.
func (d *Database) Committed(t delivery.Token) bool {
	return d.markers[delivery.Held{Queue: Queue, Consumer: Consumer, Token: t}] == delivery.Committed
}

// Last is the highest number that the database knows to be committed.
func (d *Database) Last() int64 {
	last := d.floor - 1
	for h, outcome := range d.markers {
		if outcome == delivery.Committed {
			last = max(last, h.Token.N)
		}
	}
	return max(last, 0)
}

var (
	errSettled   = errors.New("settled already")
	errForgotten = errors.New("under the floor")
	errGone      = errors.New("the transaction is gone")
	errLost      = errors.New("the answer to the commit was lost")
)

// check is what Mark of package sqlmarker checks.
func (d *Database) check(h delivery.Held, committed int64) error {
	switch last := d.Last(); {
	case last < committed:
		return &pull.RestoredError{Queue: h.Queue, Consumer: h.Consumer, Last: last, Committed: committed}
	case h.Token.N < d.floor:
		return errForgotten
	}
	return nil
}

// ahead is what Mark checks of the place: the last batch that is committed does not go further than
// this one begins.
func (d *Database) ahead(b delivery.Batch) error {
	var last Effect
	for _, e := range d.Effects {
		if e.Token.N >= last.Token.N {
			last = e
		}
	}
	if last.rewinds > b.Rewinds || last.rewinds == b.Rewinds && last.To > b.From {
		return &pull.AheadError{Queue: b.Queue, Consumer: b.Consumer, From: b.From, To: last.To}
	}
	return nil
}

// commit ends a transaction.
func (d *Database) commit(h delivery.Held, b delivery.Batch, epoch int, committed int64) error {
	if d.Epoch != epoch {
		return errGone
	}
	if err := d.check(h, committed); err != nil {
		return err
	}
	if d.markers[h] != "" {
		return errSettled
	}
	d.markers[h] = delivery.Committed
	d.replies[h], _ = b.Replies() // with one that was refused the prepare fails
	d.Effects = append(d.Effects, Effect{h.Token, b.From, b.To, b.Rewinds})
	return nil
}

// settle is what Settle of package sqlmarker does.
func (d *Database) settle(h delivery.Held, committed int64) (delivery.TokenOutcome, error) {
	if err := d.check(h, committed); err != nil {
		return "", err
	}
	if d.markers[h] == "" {
		d.markers[h] = delivery.Aborted
	}
	return d.markers[h], nil
}

func (d *Database) forget(under int64) {
	d.floor = max(d.floor, under)
	for h := range d.markers {
		if h.Token.N < d.floor {
			delete(d.markers, h)
		}
	}
}

// connection is the database as one process sees it. p is nil for one that is no point.
type connection struct {
	*Model
	p *sim.Proc
}

var _ pull.Database = connection{}

// Name implements [pull.Database].
func (c connection) Name() string { return "db" }

// Apply implements [pull.Database].
func (c connection) Apply(ctx context.Context, b delivery.Batch, committed int64,
	prepare func(context.Context) error) error {
	h, epoch := b.Held(), c.DB.Epoch
	err := cmp.Or(c.DB.check(h, committed), c.DB.ahead(b))
	c.p.Knows().Int(int64(epoch))
	c.p.Knows().Bool(err == nil)
	if err != nil {
		return err
	}
	if err := c.Effect(c.p, b); err != nil {
		return err
	}
	if err := prepare(ctx); err != nil {
		return err
	}
	tries := 0
	_, err = sim.Do(c.p, sim.Labelf("commit %d to %d under %v in the database", b.From, b.To, h.Token),
		true, func() (bool, error) {
			if tries++; tries > 1 {
				return false, errLost // nobody repeats a commit
			}
			return true, c.DB.commit(h, b, epoch, committed)
		})
	return err
}

// Settle implements [pull.Database].
func (c connection) Settle(_ context.Context, h delivery.Held,
	committed int64) (delivery.TokenOutcome, []delivery.Reply, error) {
	outcome, err := sim.Do(c.p, sim.Labelf("settle %v in the database", h.Token), true,
		func() (string, error) {
			outcome, err := c.DB.settle(h, committed)
			return string(outcome), err
		})
	return delivery.TokenOutcome(outcome), c.DB.replies[h], err
}

// Check implements [pull.Database].
func (c connection) Check(_ context.Context, queue, consumer string, committed int64) error {
	err := c.DB.check(delivery.Held{Queue: queue, Consumer: consumer,
		Token: delivery.Token{N: c.DB.floor}}, committed)
	c.p.Knows().Bool(err == nil)
	return err
}

// Forget implements [pull.Database].
func (c connection) Forget(_ context.Context, _, _ string, under int64) error {
	_, err := sim.Do(c.p, sim.Labelf("forget the markers under %d", under), true,
		func() (bool, error) {
			c.DB.forget(under)
			return true, nil
		})
	return err
}

// Hash feeds it.
func (d *Database) Hash(s *sim.Digest) {
	sim.Feed(s, d.floor, d.Epoch, fmt.Sprint(d.Effects))
	var sum int64
	for h, outcome := range d.markers {
		var one sim.Digest
		one.Text(fmt.Sprint(h.Token, outcome, len(d.replies[h])))
		sum += one.Sum() // a map has no order
	}
	s.Int(sum)
}
