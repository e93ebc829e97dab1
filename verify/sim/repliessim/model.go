// Package repliessim plugs replies into the simulator: processes answer each
// message of a queue to another one, pushed ones by [delivery.Deliverer.Deliver],
// pulling ones by [pull.Consume] with a database of their own, and every
// request to the tables and to the database fails, is lost, or is their last. Its
// model checks after every step that
//
//	R1 a reply that is visible is of a claim that is to be committed, or is
//	R2 no reply is there twice, and no message is answered twice
//	R3 the replies of a claim that is committed are visible, but for those that
//	   could never be stored
//	R4 the replies of a claim are behind those of the claims before it, save for
//	   claims that were in quarantine
//	R5 what is decided is never claimed again, failed or aborted
//
// and in the end that
//
//	L  every message is answered, by the claim that is committed, and what was
//	   refused is on record and announced
package repliessim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

const (
	// queue is answered to target, and by numbers to numbers.
	queue, target, numbers = "q", "x", "n"
	consumer               = "c"
	lease                  = 30 * time.Second
	overLease              = lease + time.Second
	within                 = time.Hour
	keep                   = 24 * time.Hour
	attempts               = 4
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// answer is a reply that became visible.
type answer struct {
	queue string
	// seq is the message that it answers, token the claim that it is of.
	seq   int64
	token string
}

// model is the tables, the database, and what the invariants need to know.
type model struct {
	run    *sim.Run
	tables *consumers.Tables
	db     *database // nil where the consumer is pushed to
	now    time.Time

	messages int64
	// byNumber: the answers to numbers go with the others. taken is a seq there
	// that another message has; 0 for none.
	byNumber bool
	taken    int64
	// failing: the handler may fail after it has answered.
	failing bool

	was delivery.Consumer
	// ended is how claims ended, by their tokens; ranges what each was for; aside
	// those that were in quarantine.
	ended  map[string]delivery.TokenOutcome
	ranges map[string][2]int64
	aside  map[string]bool
	// visible are the answers in the order in which they became so.
	visible []answer
	seen    map[string]int64 // positions
	// rows are what stands in the arrivals table, and what is put to numbers.
	rows map[string]time.Time
	// calls counts what the processes are at: time that is long against that
	// passes only while it is 0.
	calls     int
	requests  map[string]int
	announced map[string]int
}

func newModel(run *sim.Run, messages int64) *model {
	m := &model{
		run: run, tables: consumers.NewTables(), now: start, messages: messages,
		ended: map[string]delivery.TokenOutcome{}, ranges: map[string][2]int64{}, aside: map[string]bool{},
		seen: map[string]int64{}, rows: map[string]time.Time{}, requests: map[string]int{},
		announced: map[string]int{},
	}
	ctx := context.Background()
	sorter := m.plain()
	for seq := int64(1); seq <= messages; seq++ {
		m.must(nil, sorter.Put(ctx, cursor.Message{Queue: queue, Seq: seq})[0].Err)
	}
	m.must(sorter.Configure(ctx, target, cursor.Change{Kind: kind(cursor.KindArrival)}))
	m.must(sorter.Configure(ctx, numbers, cursor.Change{Kind: kind(cursor.KindNumbered)}))
	c, err := m.deliverer(nil).Create(ctx, queue, consumer, delivery.First)
	m.must(c, err)
	m.was = c
	return m
}

func kind(k cursor.Kind) *cursor.Kind { return &k }

func (m *model) must(_ any, err error) {
	if err != nil {
		panic(err) // unreachable: nothing goes wrong yet, and the names are right
	}
}

// plain is a Sorter whose requests are no points, and whose messages stay.
func (m *model) plain() *cursor.Sorter {
	s, err := cursor.New(m.tables.Queues, &cursor.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return m.now }, KeepForever: true})
	m.must(s, err)
	return s
}

// deliverer is a process that has just begun; p is nil for one that is no point.
func (m *model) deliverer(p *sim.Proc) *delivery.Deliverer {
	now := func() time.Time {
		p.Knows().Int(m.now.Unix()) // by no request
		return m.now
	}
	sorter, err := cursor.New(simdb.Queues(m.queueView(p)), &cursor.Options{
		ForEach: fanout.OneByOne, Now: now, Retention: keep, NewOp: func() []byte { return []byte(p.Name()) },
	})
	m.must(sorter, err)
	d, err := delivery.New(m.tables.View(p, m.wrote), sorter, &delivery.Options{
		ForEach: fanout.OneByOne,
		Lease:   lease, Now: now, NewReq: func() string { return m.request(p) },
	})
	m.must(d, err)
	return d
}

// wrote is Check where no step ends.
func (m *model) wrote() {
	if wrong := m.Check(); wrong != nil {
		m.run.Violation("%w", wrong)
	}
}

// request names a request that no other one has.
func (m *model) request(p *sim.Proc) string {
	name := p.Name()
	m.requests[name]++
	p.Knows().Int(int64(m.requests[name]))
	return fmt.Sprint(name, m.requests[name])
}

// replies are the answers to a batch.
func (m *model) replies(b delivery.Batch) error {
	for _, message := range b.Messages {
		body := fmt.Appendf(nil, "%d %v", message.Seq, b.Token)
		if err := b.Reply(delivery.Reply{Queue: target, Body: body}); err != nil {
			return err
		}
		if seq := message.Seq; m.byNumber {
			if err := b.Reply(delivery.Reply{Queue: numbers, Seq: &seq, Body: body}); err != nil {
				return err
			}
		}
	}
	return nil
}

// push is a process that is pushed to, a number of times.
func (m *model) push(p *sim.Proc, rounds int) {
	d := m.deliverer(p)
	reader := delivery.Reader{
		Name: consumer, MaxMessages: 1, MaxAttempts: attempts, BlockAfter: time.Second,
		Handle: func(_ context.Context, b delivery.Batch) error {
			if err := m.replies(b); err != nil {
				m.run.Violation("a reply was not taken: %w", err)
			}
			if m.failing && p.Choose(sim.Labelf("the handler of %v", b.Token), nil, "", "fails") != 0 {
				return errors.New("no")
			}
			return nil
		},
	}
	for range rounds {
		m.calls++
		d.Deliver(context.Background(), queue, reader, -1)
		m.calls--
		if p.Dead() || p.Choose(sim.Labelf("look again"), nil, "") < 0 {
			return
		}
	}
}

// errEnough ends a process.
var errEnough = errors.New("enough")

// pull is a process that pulls; rounds is how often it waits for something.
func (m *model) pull(p *sim.Proc, rounds int) error {
	puller, err := delivery.NewClaims(m.deliverer(p), &delivery.ClaimsOptions{MaxAttempts: attempts})
	m.must(puller, err)
	waits := 0
	return pull.Consume(context.Background(), counted{puller, m}, connection{m, p}, queue, consumer, &pull.ConsumeOptions{
		MaxMessages: 1, Lease: lease, Beat: -1, UntilEmpty: true,
		Now: func() time.Time { return m.now }, NewReq: func() string { return m.request(p) },
		Wait: func(context.Context, time.Duration) error {
			if waits++; waits > rounds || p.Dead() || p.Choose(sim.Labelf("wait"), nil, "") < 0 {
				return errEnough
			}
			if p == nil {
				m.now = m.now.Add(overLease)
			}
			return nil
		},
	})
}

// counted notes what a process is at.
type counted struct {
	delivery.Claims
	m *model
}

func (c counted) CommitAndClaim(ctx context.Context, h delivery.Held, r delivery.Request, replies ...delivery.Reply) (done, next delivery.Answer, err error) {
	c.m.calls++
	defer func() { c.m.calls-- }()
	return c.Claims.CommitAndClaim(ctx, h, r, replies...)
}

func (c counted) Settle(ctx context.Context, h delivery.Held, outcome delivery.TokenOutcome, reason string, replies ...delivery.Reply) (delivery.Answer, error) {
	c.m.calls++
	defer func() { c.m.calls-- }()
	return c.Claims.Settle(ctx, h, outcome, reason, replies...)
}

// sweep runs the sweep, with a note of what it announces.
func (m *model) sweep(d *delivery.Deliverer) error {
	_, err := d.Sweep(context.Background(), delivery.SweepOptions{
		Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: attempts, SettleWithin: within,
		Announce: func(_ context.Context, a delivery.Announcement) error {
			m.announced[a.Kind]++
			return nil
		},
	})
	return err
}
