// Package twophasesim plugs the two-phase delivery into the simulator: processes run [pull.Consume]
// on [delivery.NewClaims], against tables in memory and a database of their own, both of which
// fail, lose answers and outlive their processes. Its model checks after every step that
//
//	H1 a consumer moves only along the arrows of its state machine
//	H2 at most one token is good: its number rises with every claim
//	H3 what is committed is committed in the database under that token
//	H4 what ended otherwise is not, and never will be
//	H5 what is prepared is not handed out again before it is settled
//	H6 nothing vanishes and nothing is done twice: what is delivered has its
//	   effect in the database, once, or is in quarantine
//
// and in the end that
//
//	L  everything is committed, or announced
package twophasesim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

const (
	overLease = consumers.OverLease
	within    = consumers.Within
	attempts  = 3
)

var consumersTable = delivery.Names{}.Tables()[0]

// troubleTable has the sweep's notes.
var troubleTable = cursor.Names{}.Tables()[2]

// model is the consumer, and what more the invariants need to know.
type model struct {
	consumers.Model
	// poison is a message that no transaction takes; 0 for none.
	poison int64
	// orphans are the claims that are committed in the database, and that the tables, which were
	// restored, do not know of.
	orphans map[delivery.Token]bool
}

func newModel(run *sim.Run, messages int64) *model {
	m := &model{Model: consumers.NewModel(run, messages)}
	m.DB, m.Attempts = consumers.NewDatabase(), attempts
	m.Seen, m.Effect, m.Model.Check = m.queues, m.effect, m.Check
	m.Stale()
	m.Begin()
	return m
}

// queues are the queues as a process sees them: a cursor that is not read strongly may be older.
func (m *model) queues(p *sim.Proc) ddb.Engine {
	points := simdb.Engine(p, m.Memory, &simdb.Hooks{Older: m.Past.Older})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "get cursor" && !past.IsStrong(r) {
			return points.Do(ctx, r)
		}
		return m.Do(ctx, r)
	})
}

// effect fails where a batch has the message that no transaction takes.
func (m *model) effect(_ *sim.Proc, b delivery.Batch) error {
	if b.From < m.poison && m.poison <= b.To {
		return errors.New("no such account")
	}
	return nil
}

// consume is a process that consumes: rounds is how often it waits for something before it ends.
func (m *model) consume(p *sim.Proc, rounds int) error {
	err := m.Pull(p, consumers.Patience{Waits: rounds, Now: m.Clock(p)})
	var ahead *pull.AheadError
	if errors.As(err, &ahead) && m.orphans == nil {
		m.Run.Violation("no table was restored: %w", ahead)
	}
	return err
}

// Check implements [sim.Model].
func (m *model) Check() error {
	_, is, err := m.Look()
	return cmp.Or(err, m.once(is))
}

// lost reports whether the database lost a claim that is committed.
func (m *model) lost() bool {
	return slices.ContainsFunc(m.DB.Lost, func(t delivery.Token) bool {
		return m.Ended[t] == delivery.Committed
	})
}

// once checks H3, H4 and H6 in the database.
func (m *model) once(is delivery.Consumer) error {
	done := map[int64]delivery.Token{}
	for _, e := range m.DB.Effects {
		for seq := e.From + 1; seq <= e.To; seq++ {
			if other, twice := done[seq]; twice {
				return fmt.Errorf("H6: message %d is done twice, under %v and %v", seq, other, e.Token)
			}
			done[seq] = e.Token
		}
		if outcome, known := m.Ended[e.Token]; known && outcome != delivery.Committed &&
			!m.orphans[e.Token] {
			return fmt.Errorf("H4: claim %v ended %s, and it is committed in the database", e.Token, outcome)
		}
	}
	if m.lost() {
		return nil // what it does not know any more is lost
	}
	for t, outcome := range m.Ended {
		if r := m.Ranges[t]; outcome == delivery.Committed && done[r[1]] != t {
			return fmt.Errorf("H3: claim %v is committed, and not in the database", t)
		}
	}
	aside := map[int64]bool{}
	for _, q := range is.Quarantine {
		for seq := q.From + 1; seq <= q.To; seq++ {
			aside[seq] = true
		}
	}
	for seq := int64(1); seq <= is.Delivered; seq++ {
		if _, there := done[seq]; !there && !aside[seq] {
			return fmt.Errorf("H6: message %d is delivered, and neither done nor in quarantine", seq)
		}
	}
	return nil
}

// Final implements [sim.Model].
func (m *model) Final() error {
	over := errors.New("nothing more is to be seen")
	err := m.Finish(4*attempts, m.poison, func(d *delivery.Deliverer) error {
		err := m.consume(nil, 10)
		var restored *pull.RestoredError
		var ahead *pull.AheadError
		switch {
		case errors.As(err, &ahead):
			return m.repair(context.Background(), d, ahead)
		case !errors.As(err, &restored) && !errors.Is(err, pull.ErrContradiction):
			return err
		case !m.lost():
			return fmt.Errorf("nothing was restored: %w", err)
		}
		return cmp.Or(m.Run.Err(), over)
	})
	switch {
	case errors.Is(err, over):
		return nil
	case err != nil:
		return err
	}
	return m.everything()
}

// repair does what docs/how-to/restore.md asks of an operator where the database is ahead of the
// tables.
func (m *model) repair(ctx context.Context, d *delivery.Deliverer, ahead *pull.AheadError) error {
	if m.orphans == nil {
		return fmt.Errorf("no table was restored: %w", ahead)
	}
	_, err := d.Operate(ctx, delivery.Order{Kind: "rewind", Queue: consumers.Queue,
		Consumer: consumers.Consumer, Start: delivery.At(ahead.To + 1),
		Reason: "the tables were restored"})
	return errors.Join(err, m.Check())
}

// tables are the tables as a backup has them, with what the model knows of them.
type tables struct {
	item     ddb.Item
	consumer delivery.Consumer
	ended    map[delivery.Token]delivery.TokenOutcome
	ranges   map[delivery.Token][2]int64
}

func (m *model) backup() tables {
	return tables{m.Items(consumersTable.Name)[0], m.Was, maps.Clone(m.Ended), maps.Clone(m.Ranges)}
}

// restore puts the tables back, while no transaction is under way: what was committed in the
// database since is known to it alone.
func (m *model) restore(t tables) {
	put := ddb.Put{Op: ddb.Op{Op: "restore", Table: &consumersTable}, Item: t.item}
	sim.Must(m.Do(context.Background(), put))
	// The sweep's notes go too: they say that it has seen what came since.
	for _, walk := range []string{"gaps", "full"} {
		note := ddb.Delete{Op: ddb.Op{Op: "restore", Table: &troubleTable},
			Key: trouble.Key(trouble.SweepKey, walk)}
		sim.Must(m.Do(context.Background(), note))
	}
	m.Was, m.Ended, m.Ranges, m.orphans = t.consumer, maps.Clone(t.ended), maps.Clone(t.ranges),
		map[delivery.Token]bool{}
	m.DB.Epoch++
	for _, e := range m.DB.Effects {
		if m.Ended[e.Token] != delivery.Committed {
			m.orphans[e.Token] = true
		}
	}
}

// everything checks L.
func (m *model) everything() error {
	c := m.Was
	// The limit that docs/internals/delivery.md states: a loss below a claim that the database
	// still knows is not seen.
	if slices.ContainsFunc(m.DB.Lost, func(t delivery.Token) bool {
		return m.Ended[t] == delivery.Committed && t.N > m.DB.Last()
	}) {
		return errors.New("in the end the database is not what it was, and nobody says so")
	}
	for _, q := range c.Quarantine {
		if q != (delivery.Quarantined{}) && q.State == delivery.InDoubt {
			return fmt.Errorf("in the end claim %v is in quarantine, and its database is there", q.Token)
		}
		if q != (delivery.Quarantined{}) && m.Announced["consumer.quarantined"] == 0 {
			return fmt.Errorf("in the end claim %v is in quarantine, and not announced", q.Token)
		}
	}
	switch {
	case m.poison > 0 && c.State == delivery.Blocked && c.Delivered == m.poison-1:
		return nil
	case m.poison > 0 || c.State != delivery.Idle || c.Delivered != m.Messages:
		return fmt.Errorf("in the end it is %s at %d of %d", c.State, c.Delivered, m.Messages)
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	m.Model.Snapshot(d)
	d.Text(fmt.Sprint(m.orphans)) // in the order of its keys
}
