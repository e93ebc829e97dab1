// Package twophasesim plugs the two-phase delivery into the simulator: processes
// run [pull.Consume] on [delivery.NewClaims], against tables in memory and a
// database of their own, both of which fail, lose answers and outlive their
// processes. Its model checks after every step that
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
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

const (
	queue    = "q"
	consumer = "c"
	lease    = 30 * time.Second
	attempts = 3
	within   = time.Hour
)

// overLease is a time after which a lease is over.
const overLease = lease + time.Second

// consumersTable is the consumers'.
var consumersTable = delivery.Names{}.Tables()[0]

// sweepsTable is that of the sweep's notes.
var sweepsTable = cursor.Names{}.Tables()[2]

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// model is the two databases and what the invariants need to know.
type model struct {
	run    *sim.Run
	tables *consumers.Tables
	db     *database
	now    time.Time

	messages int64
	// poison is a message that no transaction takes; 0 for none.
	poison int64
	// keep is how many claims' markers are kept.
	keep int64
	// was is the consumer when it was last checked, ended how claims ended, and
	// ranges what each was for.
	was    delivery.Consumer
	ended  map[delivery.Token]delivery.TokenOutcome
	ranges map[delivery.Token][2]int64
	// orphans are the claims that are committed in the database, and that the
	// tables, which were restored, do not know of.
	orphans map[delivery.Token]bool
	// requests counts those of each process, announced the last sweep's
	// announcements.
	requests  map[string]int
	announced map[string]int
}

func newModel(run *sim.Run, messages int64) *model {
	m := &model{
		run: run, tables: consumers.NewTables(), now: start, db: newDatabase("db"), messages: messages, keep: 1000,
		ended: map[delivery.Token]delivery.TokenOutcome{}, ranges: map[delivery.Token][2]int64{},
		requests: map[string]int{}, announced: map[string]int{},
	}
	m.tables.Stale()
	ctx := context.Background()
	d := m.deliverer(nil)
	sorter, err := cursor.New(m.tables.Queues, &cursor.Options{ForEach: fanout.OneByOne, Now: m.clock(nil)})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	for seq := int64(1); seq <= messages; seq++ {
		if err := sorter.Put(ctx, cursor.Message{Queue: queue, Seq: seq})[0].Err; err != nil {
			panic(err) // unreachable: nothing goes wrong yet
		}
	}
	if m.was, err = d.Create(ctx, queue, consumer, delivery.First); err != nil {
		panic(err) // unreachable: the names are right
	}
	return m
}

// clock is a process's.
func (m *model) clock(p *sim.Proc) func() time.Time {
	return func() time.Time {
		p.Knows().Int(m.now.Unix()) // by no request
		return m.now
	}
}

// queues are the queues as a process sees them: a cursor that is not read strongly may be older.
func (m *model) queues(p *sim.Proc) *cursor.Store {
	points := simdb.Engine(p, m.tables.Memory, &simdb.Hooks{Older: m.tables.Past.Older})
	return simdb.Queues(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "get cursor" && !past.IsStrong(r) {
			return points.Do(ctx, r)
		}
		return m.tables.Do(ctx, r)
	}))
}

func (m *model) deliverer(p *sim.Proc) *delivery.Deliverer {
	sorter, err := cursor.New(m.queues(p), &cursor.Options{ForEach: fanout.OneByOne, Now: m.clock(p)})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	d, err := delivery.New(m.tables.View(p, m.wrote), sorter, &delivery.Options{
		ForEach: fanout.OneByOne,
		Lease:   lease, Now: m.clock(p), NewReq: p.Name, // it names what operators do: claims have names of their own
	})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	return d
}

// wrote is Check where no step ends.
func (m *model) wrote() {
	if wrong := m.Check(); wrong != nil {
		m.run.Violation("%w", wrong)
	}
}

// refuses reports whether a batch has the message that no transaction takes.
func (m *model) refuses(b delivery.Batch) bool {
	return b.From < m.poison && m.poison <= b.To
}

// errEnough ends a process.
var errEnough = errors.New("enough")

// consume is a process that consumes: rounds is how often it waits for
// something before it ends.
func (m *model) consume(p *sim.Proc, name string, rounds int) error {
	claims, err := delivery.NewClaims(m.deliverer(p), &delivery.ClaimsOptions{MaxAttempts: attempts})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	waits := 0
	ctx := context.Background()
	err = pull.Consume(ctx, claims, connection{m, p}, queue, consumer, &pull.ConsumeOptions{
		MaxMessages: 1, Lease: lease, Beat: -1, UntilEmpty: true, KeepMarkers: m.keep, Now: m.clock(p),
		NewReq: func() string {
			m.requests[name]++
			p.Knows().Int(int64(m.requests[name]))
			return fmt.Sprint(name, m.requests[name])
		},
		Wait: func(context.Context, time.Duration) error {
			if waits++; waits > rounds || p.Dead() {
				return errEnough
			}
			if p == nil {
				m.now = m.now.Add(overLease)
			}
			return nil
		},
	})
	var ahead *pull.AheadError
	if errors.As(err, &ahead) && m.orphans == nil {
		m.run.Violation("no table was restored: %w", ahead)
	}
	return err
}

// Check implements [sim.Model].
func (m *model) Check() error {
	is, _ := m.tables.Consumers.Requests(request.Inside{}).Consumer(context.Background(), queue, consumer)
	if is != m.was {
		if err := m.arrow(m.was, is); err != nil {
			return fmt.Errorf("%w\nwas %+v\nis  %+v", err, m.was, is)
		}
		m.was = is
	}
	return m.once(is)
}

// arrow checks H1, H2, H5, and notes how claims end.
func (m *model) arrow(was, is delivery.Consumer) error {
	for _, r := range is.Outcomes {
		if r.Outcome == "" {
			continue
		}
		for t := range m.ranges {
			if t.N != r.N {
				continue
			}
			if before, known := m.ended[t]; known && before != r.Outcome {
				return fmt.Errorf("H4: claim %v ended %s, and now %s", t, before, r.Outcome)
			}
			m.ended[t] = r.Outcome
		}
	}
	for _, q := range is.Quarantine {
		if q.State == delivery.State(delivery.Aborted) {
			m.ended[q.Token] = delivery.Aborted
		}
	}
	switch {
	case is.Token.N < was.Token.N:
		return errors.New("H2: a token's number fell")
	case is.Token.N == was.Token.N && is.Token != was.Token:
		return errors.New("H2: two tokens of one number")
	case is.Delivered < was.Delivered:
		return errors.New("H1: delivered fell")
	}
	if is.Token != was.Token && is.State == delivery.Started {
		m.ranges[is.Token] = [2]int64{is.From, is.To}
	}
	open := was.State == delivery.Prepared || was.State == delivery.InDoubt
	if open && is.Token == was.Token && is.State == delivery.Started {
		return errors.New("H1: a prepared claim is started again")
	}
	if open && (is.Token != was.Token || is.State == delivery.Idle || is.State == delivery.Blocked) {
		_, settled := m.ended[was.Token]
		for _, q := range is.Quarantine {
			settled = settled || q.Token == was.Token
		}
		if !settled {
			return fmt.Errorf("H5: claim %v was prepared, and nobody settled it", was.Token)
		}
	}
	if is.State == delivery.InDoubt && was.State != delivery.InDoubt && was.State != delivery.Prepared {
		return fmt.Errorf("H1: from %s to %s", was.State, is.State)
	}
	if is.State == delivery.Prepared && was.State != delivery.Prepared && (was.State != delivery.Started || was.Token != is.Token) {
		return fmt.Errorf("H1: from %s to %s", was.State, is.State)
	}
	return nil
}

// lost reports whether the database lost a claim that is committed.
func (m *model) lost() bool {
	return slices.ContainsFunc(m.db.lost, func(t delivery.Token) bool { return m.ended[t] == delivery.Committed })
}

// once checks H3, H4 and H6 in the database.
func (m *model) once(is delivery.Consumer) error {
	done := map[int64]delivery.Token{}
	for _, e := range m.db.effects {
		for seq := e.from + 1; seq <= e.to; seq++ {
			if other, twice := done[seq]; twice {
				return fmt.Errorf("H6: message %d is done twice, under %v and %v", seq, other, e.token)
			}
			done[seq] = e.token
		}
		if outcome, known := m.ended[e.token]; known && outcome != delivery.Committed && !m.orphans[e.token] {
			return fmt.Errorf("H4: claim %v ended %s, and it is committed in the database", e.token, outcome)
		}
	}
	if m.lost() {
		return nil // what it does not know any more is lost
	}
	for t, outcome := range m.ended {
		if r := m.ranges[t]; outcome == delivery.Committed && done[r[1]] != t {
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

// Final implements [sim.Model]. From here on nothing goes wrong, time passes,
// the sweep runs, and a consumer is back.
func (m *model) Final() error {
	ctx := context.Background()
	d := m.deliverer(nil)
	for range 4 * attempts {
		m.now = m.now.Add(10 * time.Minute)
		if err := m.sweep(ctx, d); err != nil {
			return fmt.Errorf("the last sweep: %w", err)
		}
		if err := m.operate(ctx, d); err != nil {
			return fmt.Errorf("the last operator: %w", err)
		}
		err := m.consume(nil, "last", 10)
		var restored *pull.RestoredError
		var ahead *pull.AheadError
		if errors.As(err, &ahead) {
			if err := m.repair(ctx, d, ahead); err != nil {
				return err
			}
			continue
		}
		if errors.As(err, &restored) || errors.Is(err, pull.ErrContradiction) {
			if !m.lost() {
				return fmt.Errorf("nothing was restored: %w", err)
			}
			return m.run.Err()
		}
		if err != nil && !errors.Is(err, errEnough) {
			return fmt.Errorf("the last consumer: %w", err)
		}
		if m.run.Err() != nil {
			return m.run.Err()
		}
	}
	return m.everything()
}

// operate does in the end what an operator does who heard the announcements: a
// consumer is blocked as well where its processes died too often.
func (m *model) operate(ctx context.Context, d *delivery.Deliverer) error {
	if m.was.State != delivery.Blocked || m.was.Delivered+1 == m.poison {
		return nil
	}
	if m.announced[string("consumer.blocked")] == 0 {
		return errors.New("it is blocked, and not announced")
	}
	_, err := d.Operate(ctx, delivery.Order{Kind: "redrive", Queue: queue, Consumer: consumer, Seq: m.was.Delivered + 1, Reason: "the end"})
	return err
}

// repair does what docs/how-to/restore.md asks of an operator where the database is
// ahead of the tables.
func (m *model) repair(ctx context.Context, d *delivery.Deliverer, ahead *pull.AheadError) error {
	if m.orphans == nil {
		return fmt.Errorf("no table was restored: %w", ahead)
	}
	_, err := d.Operate(ctx, delivery.Order{Kind: "rewind", Queue: queue, Consumer: consumer, Start: delivery.At(ahead.To + 1), Reason: "the tables were restored"})
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
	return tables{m.tables.Items(consumersTable.Name)[0], m.was, maps.Clone(m.ended), maps.Clone(m.ranges)}
}

// restore puts the tables back, while no transaction is under way: what was
// committed in the database since is known to it alone.
func (m *model) restore(t tables) {
	put := ddb.Put{Op: ddb.Op{Op: "restore", Table: &consumersTable}, Item: t.item}
	if _, err := m.tables.Do(context.Background(), put); err != nil {
		panic(err) // unreachable: nothing goes wrong in memory
	}
	// The sweep's notes go too: they say that it has seen what came since.
	for _, walk := range []string{"gaps", "full"} {
		note := ddb.Delete{Op: ddb.Op{Op: "restore", Table: &sweepsTable}, Key: ddb.Fields{"name": ddb.Text(walk)}.Item()}
		if _, err := m.tables.Do(context.Background(), note); err != nil {
			panic(err) // unreachable: nothing goes wrong in memory
		}
	}
	m.was, m.ended, m.ranges, m.orphans = t.consumer, maps.Clone(t.ended), maps.Clone(t.ranges), map[delivery.Token]bool{}
	m.db.epoch++
	for _, e := range m.db.effects {
		if m.ended[e.token] != delivery.Committed {
			m.orphans[e.token] = true
		}
	}
}

// sweep runs the sweep, with a note of what it announces.
func (m *model) sweep(ctx context.Context, d *delivery.Deliverer) error {
	clear(m.announced)
	_, err := d.Sweep(ctx, delivery.SweepOptions{
		Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: attempts, SettleWithin: within,
		Announce: func(_ context.Context, a delivery.Announcement) error {
			m.announced[a.Kind]++
			return nil
		},
	})
	return err
}

// everything checks L.
func (m *model) everything() error {
	c := m.was
	// The limit that docs/internals/delivery.md states: a loss below a claim that the
	// database still knows is not seen.
	if slices.ContainsFunc(m.db.lost, func(t delivery.Token) bool {
		return m.ended[t] == delivery.Committed && t.N > m.db.last()
	}) {
		return errors.New("in the end the database is not what it was, and nobody says so")
	}
	for _, q := range c.Quarantine {
		if q != (delivery.Quarantined{}) && q.State == delivery.InDoubt {
			return fmt.Errorf("in the end claim %v is in quarantine, and its database is there", q.Token)
		}
		if q != (delivery.Quarantined{}) && m.announced[string("consumer.quarantined")] == 0 {
			return fmt.Errorf("in the end claim %v is in quarantine, and not announced", q.Token)
		}
	}
	switch {
	case m.poison > 0 && c.State == delivery.Blocked && c.Delivered == m.poison-1:
		return nil
	case m.poison > 0 || c.State != delivery.Idle || c.Delivered != m.messages:
		return fmt.Errorf("in the end it is %s at %d of %d", c.State, c.Delivered, m.messages)
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	if m.tables.Past != nil {
		m.tables.Past.Snapshot(d)
	}
	d.Int(m.now.Unix())
	consumers.Hash(d, m.was)
	m.db.hash(d)
	var sum int64
	for name, n := range m.requests {
		var one sim.Digest
		one.Text(name)
		one.Int(int64(n))
		sum += one.Sum()
	}
	for t := range m.orphans {
		var one sim.Digest
		one.Text(fmt.Sprint("orphan ", t))
		sum += one.Sum()
	}
	for t, outcome := range m.ended {
		var one sim.Digest
		one.Text(fmt.Sprint(t, outcome))
		sum += one.Sum()
	}
	d.Int(sum)
}
