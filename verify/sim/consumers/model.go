// Package consumers is what the simulators of pkg/delivery share: the tables of a run ([Tables]),
// and a consumer that claims, with what must hold of its claims ([Model]) and a [Database] of its
// own.
package consumers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// The one queue that is consumed, its consumer, and what its claims may take.
const (
	Queue    = "q"
	Consumer = "c"
	Lease    = 30 * time.Second
	// OverLease is a time after which a lease is over, Within one after which a claim in doubt goes
	// to quarantine.
	OverLease = Lease + time.Second
	Within    = time.Hour
)

// Model is a consumer that claims, pushed to or in two phases with a database of its own, and what
// the invariants need to know of it. A suite sets the functions.
type Model struct {
	*world.World
	*Tables
	DB *Database // nil where it is pushed to
	// Seen is the queues as a process sees them, Effect what its handler does.
	Seen   func(*sim.Proc) ddb.Engine
	Effect func(*sim.Proc, delivery.Batch) error
	// Check is the suite's, called where no step ends.
	Check func() error

	Messages int64
	Attempts int
	// Retention is how long messages are kept, Markers how many claims' markers are.
	Retention time.Duration
	Markers   int64
	// Was is the consumer when it was last checked, Ended how claims ended, and Ranges what each
	// was for.
	Was    delivery.Consumer
	Ended  map[delivery.Token]delivery.TokenOutcome
	Ranges map[delivery.Token][2]int64
	// requests counts those of each process, Announced the last sweep's announcements, Ever tells
	// those of all.
	requests  map[string]int
	Announced map[string]int
	Ever      map[string]bool
}

// NewModel returns a consumer of so many messages in empty tables.
func NewModel(run *sim.Run, messages int64) Model {
	tables := NewTables()
	return Model{
		World: tables.World(run), Tables: tables, Messages: messages, Markers: 1000,
		Ended: map[delivery.Token]delivery.TokenOutcome{}, Ranges: map[delivery.Token][2]int64{},
		requests: map[string]int{}, Announced: map[string]int{}, Ever: map[string]bool{},
	}
}

// Begin puts the messages, and makes the consumer.
func (m *Model) Begin() {
	sorter := m.Plain()
	for seq := int64(1); seq <= m.Messages; seq++ {
		sim.Must(0, sorter.Put(context.Background(), cursor.Message{Queue: Queue, Seq: seq})[0].Err)
	}
	m.Was = sim.Must(m.Deliverer(nil).Create(context.Background(), Queue, Consumer, delivery.First))
}

// Plain is a Sorter whose requests are no points, and whose messages stay.
func (m *Model) Plain() *cursor.Sorter {
	return sim.Must(cursor.New(m.Queues, &cursor.Options{
		ForEach: fanout.OneByOne, Now: m.Clock(nil), KeepForever: true, NewOp: func() []byte {
			return []byte("plain")
		},
	}))
}

// Deliverer is a process's.
func (m *Model) Deliverer(p *sim.Proc) *delivery.Deliverer {
	sorter := sim.Must(cursor.New(simdb.Queues(m.Seen(p)), &cursor.Options{
		ForEach: fanout.OneByOne, Now: m.Clock(p), Retention: m.Retention, NewOp: func() []byte {
			return []byte(p.Name())
		},
	}))
	return sim.Must(delivery.New(m.View(p), sorter, &delivery.Options{
		ForEach: fanout.OneByOne, Lease: Lease, Now: m.Clock(p), NewReq: func() string {
			return m.request(p)
		},
	}))
}

// request names a request that no other one has.
func (m *Model) request(p *sim.Proc) string {
	m.requests[p.Name()]++
	p.Knows().Int(int64(m.requests[p.Name()]))
	return fmt.Sprint(p.Name(), m.requests[p.Name()])
}

// View is the consumers' table as one process sees it. What no such process asks is no point.
func (m *Model) View(p *sim.Proc) *delivery.Store {
	tables := m.World.View(p, isPoint, simdb.Hooks{Older: m.Past.Older, Hash: m.HashAnswer})
	return On(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		a, err := tables.Do(ctx, r)
		if p == nil && ddb.Writes(r) {
			if wrong := m.Check(); wrong != nil {
				m.Run.Violation("%w", wrong)
			}
		}
		return a, err
	}))
}

// isPoint reports whether a request is a point: not what only an operator asks.
func isPoint(r ddb.Request) bool {
	switch r.Name() {
	case "create consumer", "consumers", "finish start", "unblock", "rewind", "pause", "remove",
		"record operation", "health", "learn":
		return false
	}
	return true
}

// Patience ends a process that waits.
type Patience struct {
	// Waits is how often it does, Points has each of them a point of the run.
	Waits  int
	Points bool
	// Claims, if not nil, is what the process has between itself and the tables.
	Claims func(delivery.Claims) delivery.Claims
	// Now is its clock.
	Now func() time.Time
}

// errEnough ends a process.
var errEnough = errors.New("enough")

// Pull is a process that pulls. It ends well when it has waited often enough.
func (m *Model) Pull(p *sim.Proc, o Patience) error {
	claims := sim.Must(delivery.NewClaims(m.Deliverer(p),
		&delivery.ClaimsOptions{MaxAttempts: m.Attempts}))
	if o.Claims != nil {
		claims = o.Claims(claims)
	}
	waits := 0
	err := pull.Consume(context.Background(), claims, connection{m, p}, Queue, Consumer,
		&pull.ConsumeOptions{
			MaxMessages: 1, Lease: Lease, Beat: -1, UntilEmpty: true, KeepMarkers: m.Markers, Now: o.Now,
			NewReq: func() string { return m.request(p) },
			Wait: func(context.Context, time.Duration) error {
				if waits++; waits > o.Waits || p.Dead() ||
					o.Points && p.Choose(sim.Labelf("wait"), nil, "") < 0 {
					return errEnough
				}
				if p == nil {
					m.Now = m.Now.Add(OverLease)
				}
				return nil
			},
		})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Look notes how claims ended since it was called last, and returns what the consumer was then.
func (m *Model) Look() (was, is delivery.Consumer, err error) {
	was = m.Was
	if is, _ = m.Consumers.Requests(request.Inside{}).Consumer(context.Background(), Queue,
		Consumer); is == was {
		return was, is, nil
	}
	m.Was = is
	if err = m.arrow(was, is); err != nil {
		err = fmt.Errorf("%w\nwas %+v\nis  %+v", err, was, is)
	}
	return was, is, err
}

// arrow checks H1, H2, H5, and notes how claims end.
func (m *Model) arrow(was, is delivery.Consumer) error {
	for _, r := range is.Outcomes {
		if r.Outcome == "" {
			continue
		}
		for t := range m.Ranges {
			if t.N != r.N {
				continue
			}
			if before, known := m.Ended[t]; known && before != r.Outcome {
				return fmt.Errorf("H4: claim %v ended %s, and now %s", t, before, r.Outcome)
			}
			m.Ended[t] = r.Outcome
		}
	}
	for _, q := range is.Quarantine {
		if q.State == delivery.State(delivery.Aborted) {
			m.Ended[q.Token] = delivery.Aborted
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
		m.Ranges[is.Token] = [2]int64{is.From, is.To}
	}
	open := was.State == delivery.Prepared || was.State == delivery.InDoubt
	if open && is.Token == was.Token && is.State == delivery.Started {
		return errors.New("H1: a prepared claim is started again")
	}
	if open && (is.Token != was.Token || is.State == delivery.Idle || is.State == delivery.Blocked) {
		_, settled := m.Ended[was.Token]
		for _, q := range is.Quarantine {
			settled = settled || q.Token == was.Token
		}
		if !settled {
			return fmt.Errorf("H5: claim %v was prepared, and nobody settled it", was.Token)
		}
	}
	if is.State == delivery.InDoubt && was.State != delivery.InDoubt &&
		was.State != delivery.Prepared {
		return fmt.Errorf("H1: from %s to %s", was.State, is.State)
	}
	if is.State == delivery.Prepared && was.State != delivery.Prepared &&
		(was.State != delivery.Started || was.Token != is.Token) {
		return fmt.Errorf("H1: from %s to %s", was.State, is.State)
	}
	return nil
}

// Sweep runs the sweep, with a note of what it announces.
func (m *Model) Sweep(d *delivery.Deliverer) error {
	clear(m.Announced)
	_, err := d.Sweep(context.Background(), delivery.SweepOptions{
		Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: m.Attempts, SettleWithin: Within,
		Announce: func(_ context.Context, a delivery.Announcement) error {
			m.Announced[a.Kind]++
			m.Ever[a.Kind] = true
			return nil
		},
	})
	return err
}

// Sweeper runs the sweep a number of times. What fails is for the next run.
func (m *Model) Sweeper(times int) {
	m.Turns("sweep", times, sim.Labelf("sweep"), nil, func(p *sim.Proc) func(int) {
		d := m.Deliverer(p)
		return func(int) { _ = m.Sweep(d) }
	})
}

// ShuffledTime lets up to three times pass, and the sweep run up to twice.
func (m *Model) ShuffledTime(random *rand.Rand) {
	steps := make([]time.Duration, random.IntN(4))
	for i := range steps {
		steps[i] = []time.Duration{OverLease, Within + OverLease, 10 * time.Minute}[random.IntN(3)]
	}
	m.Ticks(steps...)
	m.Sweeper(random.IntN(3))
}

// Finish runs the last sweeps and a consumer that is back. From here on nothing goes wrong, time
// passes, and an operator hears the announcements: a consumer is blocked as well where its
// processes died too often.
func (m *Model) Finish(rounds int, poison int64, consumes func(*delivery.Deliverer) error) error {
	d := m.Deliverer(nil)
	for range rounds {
		m.Now = m.Now.Add(10 * time.Minute)
		if err := m.Sweep(d); err != nil {
			return fmt.Errorf("the last sweep: %w", err)
		}
		if m.Was.State == delivery.Blocked && m.Was.Delivered+1 != poison {
			if m.Announced["consumer.blocked"] == 0 {
				return errors.New("it is blocked, and not announced")
			}
			order := delivery.Order{Kind: "redrive", Queue: Queue, Consumer: Consumer,
				Seq: m.Was.Delivered + 1, Reason: "the end"}
			if _, err := d.Operate(context.Background(), order); err != nil {
				return fmt.Errorf("the last operator: %w", err)
			}
		}
		if err := consumes(d); err != nil {
			return fmt.Errorf("the last consumer: %w", err)
		}
		if m.Run.Err() != nil {
			return m.Run.Err()
		}
	}
	return nil
}

// Snapshot feeds what the tables and the database are known to have.
func (m *Model) Snapshot(d *sim.Digest) {
	d.Int(m.Now.Unix())
	m.Past.Snapshot(d)
	m.HashTables(d, "streamsort-consumers")
	d.Text(fmt.Sprint(m.requests, m.Ended)) // in the order of their keys
	if m.DB != nil {
		m.DB.Hash(d)
	}
}
