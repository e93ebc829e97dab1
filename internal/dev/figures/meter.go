package figures

import (
	"context"
	"strconv"
	"sync"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/pkg/table"
)

// Units are what one message, edge or batch takes.
type Units struct{ Writes, Reads float64 }

// Dollars is what a million of them cost.
func (u Units) Dollars() float64 { return meter.Count{Writes: u.Writes, Reads: u.Reads}.Dollars() }

// String is both, or the one that is not 0.
func (u Units) String() string {
	writes, reads := short(u.Writes), short(u.Reads)
	switch {
	case reads == "0":
		return writes + " W"
	case writes == "0":
		return reads + " R"
	}
	return writes + " W + " + reads + " R"
}

// short is a number in three digits, as far as it matters.
func short(x float64) string {
	if x < 0.0005 {
		return "0"
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// metered are tables in memory that count what is charged, indexes included.
type metered struct {
	*ddb.Memory
	mu    sync.Mutex
	total ddb.Units
}

func newMetered(tables ...table.Definition) *metered {
	return &metered{Memory: ddb.NewMemory(tables...)}
}

// Do implements [ddb.Engine].
func (m *metered) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	a, err := m.Memory.Do(ctx, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total = m.total.Plus(a.Units)
	return a, err
}

// of is what each of n takes of what do does.
func (m *metered) of(n int, do func() error) (Units, error) {
	before := m.total
	err := do()
	each := float64(n)
	return Units{
		Writes: (m.total.Writes + m.total.Index - before.Writes - before.Index) / each,
		Reads:  (m.total.Reads - before.Reads) / each,
	}, err
}
