//go:build whole

package cursor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestUnits holds the figures of the cost page (docs/reference/cost.md) to what is
// measured.
func TestUnits(t *testing.T) {
	for i, order := range figures.Orders() {
		name := cost.Orders()[i]
		for j, size := range cost.Batches {
			var m *metered
			sync := unitsOf(len(order.Seqs), func() meter.Counts {
				m = newMetered(t, cursor.ModeSync)
				return m.cost(func() { m.groups(order.Seqs, size) })
			})
			checkUnits(t, "sync", name, size, sync, cost.Producer[name][j])
			async := unitsOf(len(order.Seqs), func() meter.Counts {
				m = newMetered(t, cursor.ModeAsync)
				return m.cost(func() { m.heals(order.Seqs, size) })
			})
			checkUnits(t, "async", name, size, async, cost.Asynchronous[name][j])
		}
		theirs := unitsOf(len(order.Seqs), func() meter.Counts {
			m := newMetered(t, cursor.ModeSync)
			return m.cost(func() {
				old := figures.Older{Store: m.store}
				for _, seq := range order.Seqs {
					if err := old.Put(t.Context(), hundred(seq)); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
		checkUnits(t, "aws-stream-sort", name, 1, theirs, cost.Older[name])
	}
}

// TestUnitsOfSettling holds those of keyed queues to what is measured.
func TestUnitsOfSettling(t *testing.T) {
	for j, size := range cost.Batches {
		m := keyedMeter(t)
		m.stage(0, 1)
		m.settle(1)
		const n = 200
		var settled cost.Units
		for first := 1; first <= n; first += size {
			m.stage(first, size)
			total := m.cost(func() { m.settle(size) }).Total()
			settled.Writes += total.Writes / n
			settled.Reads += total.Reads / n
		}
		want := cost.Settling[j]
		if math.Abs(settled.Writes-want.Writes) > 0.0051 || math.Abs(settled.Reads-want.Reads) > 0.011 {
			t.Errorf("%d settled together: {%.3g, %.3g}, internal/dev/cost has {%.3g, %.3g}", size, settled.Writes, settled.Reads, want.Writes, want.Reads)
		}
	}
}

// TestUnitsOfAppends holds those of batches at their seqs to what is measured, and their bytes to what is stored.
func TestUnitsOfAppends(t *testing.T) {
	for _, size := range []int{2, 5, 8, 9, 10, 12, 13, 25, 50, 75, 100, 300} {
		m := newMetered(t, cursor.ModeSync)
		next := int64(1)
		m.appendAt(jsonBody, &next, 2)
		got := unitsOf(1, func() meter.Counts {
			return m.cost(func() {
				for range queuelog.OrderItemEntries {
					m.appendAt(jsonBody, &next, size)
				}
			})
		})
		got = cost.Units{Writes: got.Writes / queuelog.OrderItemEntries, Reads: got.Reads}
		checkUnits(t, "append", cost.InOrder, size, got, cost.Appended(float64(size)))
		want := cost.ItemBytes(float64(size))
		if got := lastBytes(t, "streamsort-arrivals", size); math.Abs(got-want) > 0.03*want {
			t.Errorf("%d of one item: %.0f bytes, internal/dev/cost has %.0f", size, got, want)
		}
	}
}

// TestBytesOfSingles holds those of a message that is an item to what is stored.
func TestBytesOfSingles(t *testing.T) {
	if got := lastBytes(t, "streamsort-messages", 1); math.Abs(got-cost.SingleBytes) > 0.02*cost.SingleBytes {
		t.Errorf("%.0f bytes, internal/dev/cost has %d", got, cost.SingleBytes)
	}
}

// jsonBody is a body of 100 bytes that can be deflated with others.
func jsonBody(seq int64) []byte {
	random := rand.New(rand.NewPCG(uint64(seq), 1))
	text := fmt.Sprintf(`{"event":"order.updated","order":%08d,"customer":"c-%04d","amount":%d.95,"currency":"EUR"}`,
		random.IntN(1e8), random.IntN(1e4), random.IntN(1000))
	return fmt.Appendf(nil, "%-100s", text)
}

// appendAt puts a batch of n messages from the next seq on.
func (m *metered) appendAt(body func(int64) []byte, next *int64, n int) {
	m.t.Helper()
	var messages []cursor.Message
	for range n {
		messages = append(messages, cursor.Message{Queue: arrivalQueue, Seq: *next, Body: body(*next), Kind: cursor.KindArrival})
		*next++
	}
	m.advanced(messages)
}

// advanced puts messages that are next.
func (m *metered) advanced(messages []cursor.Message) {
	m.t.Helper()
	results := m.sorter.Put(m.t.Context(), messages...)
	err := results[0].Err
	if err != nil {
		m.t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil || r.Outcome != cursor.Advanced {
			m.t.Fatal(r)
		}
	}
}

// lastBytes is what the item counts for by AWS's rules that a batch of n messages of JSON becomes, in its table.
func lastBytes(t *testing.T, table string, n int) float64 {
	t.Helper()
	tables := ddb.NewMemory(tablesOf(cursor.Names{})...)
	m := &metered{t: t, store: storeOn(t, tables, cursor.Names{})}
	var err error
	if m.sorter, err = cursor.New(m.store, nil); err != nil {
		t.Fatal(err)
	}
	next := int64(1)
	if table == "streamsort-messages" {
		m.advanced([]cursor.Message{{Queue: arrivalQueue, Seq: 1, Body: jsonBody(1)}})
	} else {
		m.appendAt(jsonBody, &next, n)
	}
	return float64(tables.Items(table)[0].Size())
}

func unitsOf(messages int, count func() meter.Counts) cost.Units {
	total := count().Total()
	return cost.Units{Writes: total.Writes / float64(messages), Reads: total.Reads / float64(messages)}
}

func checkUnits(t *testing.T, mode string, order cost.Order, size int, got, want cost.Units) {
	t.Helper()
	if math.Abs(got.Writes-want.Writes) > 0.0051 || math.Abs(got.Reads-want.Reads) > 0.011 {
		t.Errorf("%s, disorder %s, batches of %d: {%.3g, %.3g}, internal/dev/cost has {%.3g, %.3g}",
			mode, order, size, got.Writes, got.Reads, want.Writes, want.Reads)
	}
}

// groups puts messages in batches.
func (m *metered) groups(seqs []int64, size int) {
	m.t.Helper()
	for batch := range slices.Chunk(seqs, size) {
		var messages []cursor.Message
		for _, seq := range batch {
			messages = append(messages, hundred(seq))
		}
		if err := m.sorter.Put(m.t.Context(), messages...)[0].Err; err != nil {
			m.t.Fatal(err)
		}
	}
}

// heals puts messages, and moves the cursor once for so many of them.
func (m *metered) heals(seqs []int64, size int) {
	m.t.Helper()
	for batch := range slices.Chunk(seqs, size) {
		m.put(batch...)
		if _, err := m.sorter.Steps().Heal(m.t.Context(), hundred(1).Queue, batch...); err != nil {
			m.t.Fatal(err)
		}
	}
}
