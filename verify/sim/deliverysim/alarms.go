package deliverysim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
)

// timed is a scenario in which the timer has to be enough.
func timed(m *model) { m.alarms = sim.Alarms{} }

// byTimer checks that no sweep is needed where no record is dropped and no wake-up fails:
// everything is delivered, or blocked.
func (m *model) byTimer(d *delivery.Deliverer, deliver handle) error {
	if m.alarms == nil || m.lost {
		return nil
	}
	m.records, m.late = append(m.late, m.records...), nil
	if err := m.deliverAll(deliver); err != nil {
		return err
	}
	if err := m.alarms.Run(&m.Now, func(thing string) (time.Time, error) {
		queue, consumer, _ := strings.Cut(thing, "/")
		_, next, err := d.Wake(context.Background(), queue, consumer,
			delivery.SweepOptions{MaxAttempts: attempts})
		if err != nil {
			return next, err
		}
		return next, m.deliverAll(deliver)
	}); err != nil {
		return err
	}
	for at, c := range m.consumers {
		position := m.cursor(at.queue).Position
		if c.State == delivery.Blocked {
			continue // for an operator
		}
		if c.State != delivery.Idle || c.Delivered != position {
			return fmt.Errorf("timer: every wake-up came, and %v is %s at %d of %d", at, c.State,
				c.Delivered, position)
		}
	}
	return nil
}

// deliverAll hands the records out that wait, each second again for half a minute.
func (m *model) deliverAll(deliver handle) error {
	taken := m.records
	m.records = nil
	for range 30 {
		failed, err := deliver(context.Background(), event(taken))
		if err != nil || len(failed) == 0 {
			return err
		}
		taken = taken[failed[0]:]
		m.Now = m.Now.Add(time.Second)
	}
	return nil
}
