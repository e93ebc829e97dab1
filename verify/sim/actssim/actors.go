package actssim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/verify/sim"
)

// look looks at a batch.
func (m *model) look(p *sim.Proc) error {
	looked, err := m.desk(p).Look(context.Background(), m.ask)
	if err == nil {
		m.id = looked.Name()
	}
	return err
}

// started has a batch looked at and started before the run.
func (m *model) started() {
	m.must(m.look(nil))
	m.now = m.now.Add(time.Second)
	_, err := m.desk(nil).Start(context.Background(), m.id, operator)
	m.must(err)
}

// starter starts the batch that was looked at before the run, and asks again as long as it is not answered.
func (m *model) starter() {
	m.must(m.look(nil))
	m.now = m.now.Add(time.Second)
	m.run.Go("starter", func(p *sim.Proc) {
		for range 2 {
			if _, err := m.desk(p).Start(context.Background(), m.id, operator); err == nil || p.Dead() {
				return
			}
		}
	})
}

// sweep goes on with all batches that are open, as the sweep does in each of its rounds.
func (m *model) sweep() {
	m.carrier("sweep", func(p *sim.Proc) { _, _, _ = m.desk(p).Open(context.Background()) })
}

// timer goes on with the batch, as a wake-up has it done.
func (m *model) timer() {
	m.carrier("timer", func(p *sim.Proc) { _, _ = m.desk(p).Turn(context.Background(), m.id) })
}

// carrier carries batches out whenever there is something to do; where it dies, another takes its place.
func (m *model) carrier(name string, turn func(*sim.Proc)) {
	m.run.Daemon(name, func(p *sim.Proc) {
		for {
			p.Forget()
			if p.Choose(sim.Labelf("a turn"), func() bool { return m.open() && m.due() }, "") < 0 {
				return
			}
			if turn(p); p.Dead() { // what fails is for the next turn
				return
			}
		}
	})
}

// stopper stops the batch, at any moment.
func (m *model) stopper() {
	m.run.Go("stopper", func(p *sim.Proc) { _, _ = m.desk(p).Stop(context.Background(), m.id) })
}

// helper is an operator who redrives one consumer, which leaves the state. Its row stays, as where who deletes it
// dies. With again it is blocked once more, later.
func (m *model) helper(queue string, again bool) {
	m.run.Go("helper", func(p *sim.Proc) {
		blocked := func() bool { return m.consumer(queue).State == handoff.Blocked && m.acted[queue] == 0 }
		if p.Choose(sim.Labelf("the consumer of %s is helped", queue), blocked, "") < 0 {
			return
		}
		m.left[queue] = true
		m.must(m.redrive(queue))
		if again && p.Choose(sim.Labelf("the consumer of %s is blocked again", queue), nil, "") >= 0 {
			m.block(queue)
		}
	})
}

// redrive is one of an operator's, by a library without the table of trouble.
func (m *model) redrive(queue string) error {
	_, sorter := m.process(nil)
	now := func() time.Time { return m.now }
	d, err := handoff.New(record.NewStore(m.tables, handoff.Names{}.Tables()), sorter, &handoff.Options{Now: now})
	m.must(err)
	_, err = d.Redrive(context.Background(), handoff.Order{Queue: queue, Consumer: consumer, Reason: "one", Op: "one"}, 1)
	return err
}

// consumer is a queue's as it stands.
func (m *model) consumer(queue string) handoff.Consumer {
	c, err := record.NewStore(m.tables, names.Tables()).Consumer(context.Background(), queue, consumer)
	m.must(err)
	return c
}

// breaker has the consumer of another queue blocked while the batch runs.
func (m *model) breaker() {
	m.run.Go("breaker", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("the consumer of %s is blocked", another), nil, "") >= 0 {
			m.block(another)
		}
	})
}

// overtaken is a wake-up that goes on with the batch once, while whoever had it is at a page for longer than
// the lease: that one has a turn, too, and none more.
func (m *model) overtaken() {
	turn := func(name string, ready func() bool) {
		m.run.Go(name, func(p *sim.Proc) {
			if p.Choose(sim.Labelf("a turn"), ready, "") >= 0 {
				_, _ = m.desk(p).Turn(context.Background(), m.id)
			}
		})
	}
	turn("slow", nil)
	held := func() bool { return len(m.batch().Page) > 0 }
	m.run.Clock(&m.now, held, overLease)
	turn("timer", func() bool { return held() && m.due() })
}

// clock lets time pass, at any moments.
func (m *model) clock(steps ...time.Duration) { m.run.Clock(&m.now, nil, steps...) }
