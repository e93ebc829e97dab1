package actssim

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/record"
)

// rounds is how many turns may be needed in the end.
const rounds = 20

// Final implements [sim.Model]. From here on nothing goes wrong, time passes, and the sweep runs.
func (m *model) Final() error {
	for round := 0; m.open(); round++ {
		if round == rounds {
			return fmt.Errorf("B4: after %d turns the batch is %+v, and open", rounds, m.batch())
		}
		m.now = m.now.Add(overLease)
		if round == rounds/2 {
			m.now = m.now.Add(2 * acts.KeptDry) // what was never started is given up
		}
		if _, _, err := m.desk(nil).Open(context.Background()); err != nil {
			return fmt.Errorf("the last sweep: %w", err)
		}
	}
	if err := m.run.Err(); err != nil {
		return err
	}
	switch b := m.batch(); b.State {
	case acts.Done, acts.Stopped:
		return m.counted(b)
	case acts.Dry, "":
		if len(m.acted) > 0 {
			return fmt.Errorf("B3: %d consumers were acted on, and the batch is %q", len(m.acted), b.State)
		}
		return nil
	default:
		return fmt.Errorf("B4: nobody knows of the batch any more, and it is %s", b.State)
	}
}

// counted checks B5, B6 and B7.
func (m *model) counted(b acts.Batch) error {
	done := 0
	for _, queue := range append(m.queues, another) {
		c := m.consumer(queue)
		on, err := m.onRecord(queue)
		if err != nil {
			return err
		}
		acted := c.Act != ""
		if on.Done != acted {
			return fmt.Errorf("B7: the consumer of %s was acted on %v, and on record is %+v", queue, acted, on)
		}
		if acted {
			done++
		} else if b.State == acts.Done && queue != another && !m.left[queue] {
			return fmt.Errorf("B6: the consumer of %s was not acted on: %+v", queue, b.Progress)
		}
	}
	// Who left may be come upon by its row, refuse, or be in no row any more.
	most, least := len(m.queues), len(m.queues)-len(m.left)
	if b.State == acts.Stopped {
		least = 0
	}
	if came := b.Done + b.Failed + b.Passed; b.Done != done || b.Failed > len(m.left) || came < least || came > most {
		return fmt.Errorf("B5: %d of %d consumers were acted on, and the batch counts %+v", done, most, b.Progress)
	}
	return nil
}

// onRecord is the act of the batch that is on record of a queue; the zero Operation where none is.
func (m *model) onRecord(queue string) (found record.Operation, err error) {
	d, _ := m.process(nil)
	page, _, err := d.Audit(context.Background(), queue, "")
	if err != nil {
		return found, err
	}
	for _, o := range page {
		if o.Batch != m.id.ID {
			continue
		}
		if found.Batch != "" {
			return found, fmt.Errorf("B7: two acts of the batch are on record of %s", queue)
		}
		found = o
	}
	return found, nil
}
