package trackedsim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/verify/sim"
)

// other is another queue of the consumer's, which failed before the run: the circuit opens with the
// next one.
const other = "r"

// outage is a sink that is away.
type outage struct {
	// shown tells that the scenario has one, away that it is not back yet, alone that nothing else stands in the
	// way: no chain is late, and the consumer is not made anew.
	shown, away, alone bool
	// took is how often the sink took each message.
	took map[int64]int
}

// sinkAway has the sink away from the beginning.
func (m *model) sinkAway(alone bool) {
	m.outage = outage{shown: true, away: true, alone: alone, took: map[int64]int{}}
	ctx := context.Background()
	_, _ = m.tables.Queues.Requests(queuelog.Inside{}).CreateCursor(ctx, cursor.Cursor{
		Queue: other, Settings: cursor.DefaultSettings(), Announced: -1, MovedAt: m.now, Notified: m.now,
	})
	_, _ = m.tables.Queues.Requests(queuelog.Inside{}).PutMessage(ctx, cursor.Message{Queue: other, Seq: 1, EnqueuedAt: m.now})
	_, _, _ = m.tables.Queues.Requests(queuelog.Inside{}).Move(ctx, other, cursor.Range{From: 0, To: 1}, 0, m.now)
	d, _ := m.deliverer(nil, 0)
	if done := d.Deliver(ctx, other, m.beside(), -1); !errors.Is(done.Cause, errSink) {
		panic(fmt.Sprintf("%+v", done)) // unreachable: it is away
	}
	m.now = m.now.Add(10 * time.Second) // since it failed: the circuit opens with the next queue
}

// comesBack has the sink back, at any moment; else it is in the end.
func (m *model) comesBack() {
	m.run.Go("sink", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("the sink is back"), nil, "") >= 0 {
			m.outage.away = false
		}
	})
}

// beside is the reader of the other queue, whose work nobody waits for.
func (m *model) beside() handoff.Reader {
	return handoff.Reader{
		Name: consumer, MaxAttempts: attempts, BlockAfter: time.Second, Circuit: handoff.Circuit{Queues: 2},
		Handle: func(context.Context, handoff.Batch) error {
			if m.outage.away {
				return errSink
			}
			return nil
		},
	}
}

// attempts is how often a message may fail: less often where the sink is away, which must not count.
func (m *model) attempts() int {
	if m.outage.alone {
		return attempts - 1
	}
	return attempts
}

// isAway reports whether the sink is away, as somebody finds who calls it.
func (m *model) isAway(p *sim.Proc) bool {
	p.Knows().Bool(m.outage.away)
	return m.outage.away
}

// takes notes what the sink took, and checks D9.
func (m *model) takes(b handoff.Batch) error {
	if !m.outage.shown {
		return nil
	}
	for _, message := range b.Messages {
		m.outage.took[message.Seq]++
		switch {
		case message.Seq > 1 && m.outage.took[message.Seq-1] == 0:
			return fmt.Errorf("D9: the sink took %d, under %v, and not the one before", message.Seq, b.Token)
		case m.outage.took[message.Seq] > 1 && m.outage.alone && !m.run.Failed():
			return fmt.Errorf("D9: nothing went wrong, and the sink took %d again, under %v", message.Seq, b.Token)
		}
	}
	return nil
}

// blocks checks D9 of a consumer as it is now.
func (m *model) blocks(is handoff.Consumer) error {
	if m.outage.alone && is.State == handoff.Blocked {
		return fmt.Errorf("D9: the consumer is blocked at %d, by its sink alone", is.Delivered)
	}
	return nil
}

// back is what is left to do once the sink is back: the other queue's message is delivered, and the circuit
// closed, by nobody but the functions. It reports what is still missing.
func (m *model) back(d *handoff.Deliverer) error {
	if !m.outage.shown {
		return nil
	}
	ctx := context.Background()
	if done := d.Deliver(ctx, other, m.beside(), -1); done.Err != nil {
		return done.Err
	}
	c, err := m.tables.Consumers.Consumer(ctx, other, consumer)
	if err != nil {
		return err
	}
	e, err := m.tables.Consumers.Health(ctx, consumer, true)
	if err == nil && (c.Delivered != 1 || e.Circuit.Open()) {
		err = fmt.Errorf("L1: the sink is back, the other queue is at %d, and its circuit is %+v", c.Delivered, e.Circuit)
	}
	return err
}

func (o outage) hash(d *sim.Digest, messages int64) {
	d.Bool(o.away)
	for seq := range messages {
		d.Int(int64(o.took[seq+1]))
	}
}
