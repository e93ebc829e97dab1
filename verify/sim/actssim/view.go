package actssim

import (
	"context"
	"errors"
	"strings"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// view is the tables as one process sees them. What is not named here decides nothing, and is no point.
func (m *model) view(p *sim.Proc) ddb.Engine {
	if p == nil {
		return m.tables
	}
	points := simdb.Engine(p, m.tables, &simdb.Hooks{Perform: m.perform})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if q, lists := r.(ddb.Query); lists && strings.Contains(q.Partition.Str(), "/") {
			return m.tables.Do(ctx, r) // a shard of tenants, of which there are none
		}
		switch r.Name() {
		case "open acts", "create acts", "acts", "start acts", "stop acts", "save acts", "drop acts",
			"list trouble", "consumer", "begin act", "end act", "unblock", "rewind", "pause":
		default:
			return m.tables.Do(ctx, r)
		}
		a, err := points.Do(ctx, r)
		if err != nil {
			err = errors.Join(ddb.ErrUnavailable, err)
		}
		return a, err
	})
}

// perform has a request done, and checks what it did: B1, B2 and B3.
func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	before := m.batch()
	a, err := do()
	u, isUpdate := r.(ddb.Update)
	if !isUpdate || !a.Held {
		return a, err
	}
	switch r.Name() {
	case "unblock", "rewind", "pause":
		m.actedOn(u.Key.Get("queue").Str(), before.State)
	case "save acts":
		after := m.batch()
		if before.State == acts.Stopping && len(after.Page) > 0 && after.After != before.After {
			m.pages++
		}
		if m.pages > 1 {
			m.run.Violation("B3: %d pages were begun since the batch was stopped", m.pages)
		}
	}
	return a, err
}

// actedOn notes that a batch did something to a queue's consumer.
func (m *model) actedOn(queue string, state acts.State) {
	m.acted[queue]++
	switch {
	case m.acted[queue] > 1:
		m.run.Violation("B1: the consumer of %s was acted on %d times", queue, m.acted[queue])
	case m.left[queue] || queue == another:
		m.run.Violation("B2: the consumer of %s was acted on, and it is not selected", queue)
	case state != acts.Running && state != acts.Stopping:
		m.run.Violation("B3: the consumer of %s was acted on, and the batch is %s", queue, state)
	}
}
