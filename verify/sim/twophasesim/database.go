package twophasesim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/verify/sim"
)

// database is a consumer's own: its markers, and what was done in it. A
// transaction is checked and takes effect at its commit, as in a database that
// is serializable without locks: what one with locks lets wait comes first or
// last here.
type database struct {
	name    string
	markers map[delivery.Held]delivery.TokenOutcome
	floor   int64
	// effects are what was committed, in that order.
	effects []effect
	// epoch rises when the database is restored: a transaction that began before
	// is gone.
	epoch int
	// lost are the claims that were committed and are not any more, because the
	// database was restored.
	lost []delivery.Token
}

// effect is a batch that was committed.
type effect struct {
	token    delivery.Token
	from, to int64
	rewinds  int64
}

func newDatabase(name string) *database {
	return &database{name: name, markers: map[delivery.Held]delivery.TokenOutcome{}}
}

// copied is the database as a backup has it.
func (d *database) copied() *database {
	c := newDatabase(d.name)
	for h, outcome := range d.markers {
		c.markers[h] = outcome
	}
	c.floor, c.effects = d.floor, slices.Clone(d.effects)
	return c
}

// last is the highest number that the database knows to be committed.
func (d *database) last() int64 {
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
func (d *database) check(h delivery.Held, committed int64) error {
	switch last := d.last(); {
	case last < committed:
		return &pull.RestoredError{Queue: h.Queue, Consumer: h.Consumer, Last: last, Committed: committed}
	case h.Token.N < d.floor:
		return errForgotten
	}
	return nil
}

// ahead is what Mark checks of the place: the last batch that is committed does
// not go further than this one begins.
func (d *database) ahead(b delivery.Batch) error {
	var last effect
	for _, e := range d.effects {
		if e.token.N >= last.token.N {
			last = e
		}
	}
	if last.rewinds > b.Rewinds || last.rewinds == b.Rewinds && last.to > b.From {
		return &pull.AheadError{Queue: b.Queue, Consumer: b.Consumer, From: b.From, To: last.to}
	}
	return nil
}

// commit ends a transaction.
func (d *database) commit(h delivery.Held, b delivery.Batch, epoch int, committed int64) error {
	if d.epoch != epoch {
		return errGone
	}
	if err := d.check(h, committed); err != nil {
		return err
	}
	if d.markers[h] != "" {
		return errSettled
	}
	d.markers[h] = delivery.Committed
	d.effects = append(d.effects, effect{h.Token, b.From, b.To, b.Rewinds})
	return nil
}

// settle is what Settle of package sqlmarker does.
func (d *database) settle(h delivery.Held, committed int64) (delivery.TokenOutcome, error) {
	if err := d.check(h, committed); err != nil {
		return "", err
	}
	if d.markers[h] == "" {
		d.markers[h] = delivery.Aborted
	}
	return d.markers[h], nil
}

func (d *database) forget(under int64) {
	d.floor = max(d.floor, under)
	for h := range d.markers {
		if h.Token.N < d.floor {
			delete(d.markers, h)
		}
	}
}

// connection is the database as one process sees it. p is nil for one that is
// no point.
type connection struct {
	*model
	p *sim.Proc
}

var _ pull.Database = connection{}

// Name implements [pull.Database].
func (c connection) Name() string { return c.db.name }

// Apply implements [pull.Database].
func (c connection) Apply(ctx context.Context, b delivery.Batch, committed int64, prepare func(context.Context) error) error {
	h, epoch := b.Held(), c.db.epoch
	if err := c.db.check(h, committed); err != nil {
		return err
	}
	if err := c.db.ahead(b); err != nil {
		return err
	}
	if c.refuses(b) {
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
		return true, c.db.commit(h, b, epoch, committed)
	})
	return err
}

// Settle implements [pull.Database].
func (c connection) Settle(_ context.Context, h delivery.Held, committed int64) (delivery.TokenOutcome, []delivery.Reply, error) {
	outcome, err := sim.Do(c.p, sim.Labelf("settle %v in the database", h.Token), true, func() (string, error) {
		outcome, err := c.db.settle(h, committed)
		return string(outcome), err
	})
	return delivery.TokenOutcome(outcome), nil, err
}

// Check implements [pull.Database].
func (c connection) Check(_ context.Context, queue, consumer string, committed int64) error {
	err := c.db.check(delivery.Held{Queue: queue, Consumer: consumer, Token: delivery.Token{N: c.db.floor}}, committed)
	c.p.Knows().Bool(err == nil)
	return err
}

// Forget implements [pull.Database].
func (c connection) Forget(_ context.Context, _, _ string, under int64) error {
	_, err := sim.Do(c.p, sim.Labelf("forget the markers under %d", under), true, func() (bool, error) {
		c.db.forget(under)
		return true, nil
	})
	return err
}

func (d *database) hash(s *sim.Digest) {
	s.Int(d.floor)
	s.Int(int64(d.epoch))
	s.Int(int64(len(d.effects)))
	for _, e := range d.effects {
		s.Text(fmt.Sprint(e))
	}
	var sum int64
	for h, outcome := range d.markers {
		var one sim.Digest
		one.Text(fmt.Sprint(h.Token, outcome))
		sum += one.Sum() // a map has no order
	}
	s.Int(sum)
}
