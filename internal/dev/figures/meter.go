package figures

import (
	"strconv"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
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

func (u Units) priced() string { return u.String() + ", $" + short(u.Dollars()) }

// short is a number in three digits, as far as it matters.
func short(x float64) string {
	if x < 0.0005 {
		return "0"
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// metered are tables in memory that count what is charged, indexes included.
type metered struct {
	*ddbtest.Meter
	memory *ddb.Memory
}

func newMetered(tables ...table.Definition) *metered {
	memory := ddb.NewMemory(tables...)
	return &metered{ddbtest.NewMeter(memory), memory}
}

func (m *metered) of(n int, do func()) Units {
	m.Take()
	do()
	total, each := m.Take().Units, float64(n)
	return Units{Writes: (total.Writes + total.Index) / each, Reads: total.Reads / each}
}
