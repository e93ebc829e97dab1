package handoffsim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/verify/sim"
)

// window is that of the readers which have one, overWindow a tick after which what was put off is due.
const (
	window     = 10 * time.Second
	overWindow = window + time.Second
)

// gathering is a scenario whose readers have a window. A record that is put off is done with, so in the end it is
// for the timer, or the sweep.
func gathering(name string, faults int, messages int64, actors func(*model)) sim.Scenario {
	return scenario(name, faults, messages, func(m *model) {
		m.certain = false
		m.bound.BatchWindow, m.bound.MaxMessages = window, 3
		actors(m)
	})
}

// due is the alarm of what was put off: one for each position.
func due(queue string, upTo int64) string { return fmt.Sprintf("%s %d", queue, upTo) }

// windowed are the readers as the sweep and the timer know them, where they have a window.
func (m *model) windowed() []handoff.Reader {
	if m.bound.BatchWindow == 0 {
		return nil
	}
	r := m.bound
	r.Name = defaultConsumer
	return []handoff.Reader{r}
}

// wakeBatch does what the timer does with a wake-up of what was put off.
func (m *model) wakeBatch(d *handoff.Deliverer, queue string, upTo int64) error {
	_, err := d.WakeBatch(context.Background(), queue, upTo, handoff.SweepOptions{Readers: m.windowed()})
	return err
}

// batchTimer wakes up what was put off a number of times, each at any moment, up to these seqs.
func (m *model) batchTimer(upTo ...int64) {
	m.run.Go("timer", func(p *sim.Proc) {
		d, _ := m.deliverer(p, 0)
		for i, seq := range upTo {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("wake batches up to %d", seq), nil, "") < 0 {
				return
			}
			m.running++
			if m.wakeBatch(d, defaultQueue, seq) != nil {
				m.lost = m.alarms != nil // what fails is for the sweep
			}
			m.running--
			if p.Dead() {
				return
			}
		}
	})
}

// inWindow checks that nothing but a full batch is claimed before the window is over, where nothing
// failed. Of several processes, one that has waited for as long hands on what another's batch did not have.
func (m *model) inWindow(was, is handoff.Consumer) error {
	full := is.To-is.From >= int64(m.bound.MaxMessages)
	apart := is.BatchAt.Sub(was.BatchAt)
	if m.bound.BatchWindow == 0 || m.handlers > 1 || was.BatchAt.IsZero() || was.State != handoff.Idle || was.Attempts > 0 || was.FailedTo() > was.Delivered || full || apart >= window {
		return nil
	}
	return fmt.Errorf("window: %d to %d was claimed %v after the last batch, and more may come until %v", is.From, is.To, apart, window)
}

// windows are scenarios of readers that have one.
func windows() []sim.Scenario {
	return []sim.Scenario{
		gathering("a window and the timer alone", 1, 0, func(m *model) {
			timed(m)
			m.producer("A", defaultQueue, 1, 2, 3)
			m.process("P", 0)
			m.clock(1, overWindow)
		}),
		gathering("a window, a warm process and the timer alone", 1, 0, func(m *model) {
			timed(m)
			m.producer("A", defaultQueue, 1, 2, 3)
			m.warm("P")
			m.clock(1, overWindow)
		}),
		gathering("a window, two warm processes and the timer alone", 0, 0, func(m *model) {
			timed(m)
			m.producer("A", defaultQueue, 1, 2, 3)
			m.warm("P")
			m.warm("Q")
			m.clock(1, overWindow)
		}),
		gathering("a window, and wake-ups at any time", 0, 0, func(m *model) {
			m.producer("A", defaultQueue, 1, 2)
			m.warm("P")
			m.batchTimer(2, 2)
			m.clock(1, overWindow)
		}),
		gathering("a window, and other queues' records", 0, 0, func(m *model) {
			timed(m)
			m.open(otherQueue)
			m.consumer(otherQueue, defaultConsumer)
			m.producer("A", defaultQueue, 1, 2)
			m.producer("B", otherQueue, 1, 2)
			m.warm("P")
			m.clock(1, overWindow)
		}),
		gathering("a window and the sweep", 0, 0, func(m *model) {
			m.producer("A", defaultQueue, 1, 2)
			m.warm("P")
			m.sweeper(1, false)
			m.clock(1, overWindow)
		}),
		gathering("a window, paused and resumed", 0, 0, func(m *model) {
			timed(m)
			m.producer("A", defaultQueue, 1, 2)
			m.warm("P")
			m.clock(1, overWindow)
			m.operator("O", operation{kind: handoff.OpPause}, operation{kind: handoff.OpResume})
		}),
		gathering("a window and a zombie", 0, 0, func(m *model) {
			timed(m)
			m.producer("A", defaultQueue, 1, 2)
			m.warm("P")
			m.process("Q", 0)
			m.clock(1, overLease)
		}),
		gathering("a window and a message that no sink takes", 0, 0, func(m *model) {
			timed(m)
			m.poison, m.bound.MaxAttempts = 2, attempts+1
			m.producer("A", defaultQueue, 1, 2, 3)
			m.warm("P")
			m.clock(1, overWindow)
		}),
		twoQueues("a window, and the sink is away", 0, func(m *model) {
			m.bound.BatchWindow = window
			m.outage.away = []string{defaultQueue, otherQueue}
			m.warm("P")
			m.producer("A", defaultQueue, 2)
			m.clock(1, overLease)
		}),
		gathering("a window and a full batch", 0, 0, func(m *model) {
			m.bound.MaxMessages = 1
			m.certain = true // nothing waits
			m.producer("A", defaultQueue, 1, 2)
			m.warm("P")
		}),
	}
}
