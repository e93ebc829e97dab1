package ddbtest

import (
	"context"
	"sync"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Meter is an engine that counts requests and what they are charged. It may be used by any number
// of goroutines.
type Meter struct {
	next ddb.Engine

	mu    sync.Mutex
	total Total
}

// Total is what passed a [Meter].
type Total struct {
	// Reads and Writes are requests, Units what they were charged: by AWS's rules on [ddb.Memory].
	Reads, Writes int
	Units         ddb.Units
}

// NewMeter returns a Meter in front of an engine.
func NewMeter(next ddb.Engine) *Meter { return &Meter{next: next} }

// Do implements [ddb.Engine].
func (m *Meter) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	a, err := m.next.Do(ctx, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if ddb.Writes(r) {
		m.total.Writes++
	} else {
		m.total.Reads++
	}
	m.total.Units = m.total.Units.Plus(a.Units)
	return a, err
}

// Take is what passed since the last call.
func (m *Meter) Take() Total {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.total
	m.total = Total{}
	return total
}
