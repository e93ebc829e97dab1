//go:build whole

package cursor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// byTime is a message of 100 bytes under a time to the millisecond.
func byTime(n int) cursor.Message {
	return cursor.Message{
		KeyParts: []any{time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC).Add(time.Duration(n) * 137 * time.Millisecond)}, KeyType: "time",
		Queue: arrivalQueue, ID: fmt.Sprintf("evt_%016x", n), Body: hundredBytes(n),
	}
}

// keyedMeter is metered tables with a keyed queue whose messages are due at once.
func keyedMeter(t *testing.T) *metered {
	t.Helper()
	m := newMetered(t, cursor.ModeSync)
	m.sorter = m.keyedProcess(0)
	return m
}

// keyedProcess is a Sorter of another process, whose clock is ahead.
func (m *metered) keyedProcess(ahead time.Duration) *cursor.Sorter {
	m.t.Helper()
	settings := cursor.DefaultSettings()
	settings.Settle = 0
	s, err := cursor.New(m.store, &cursor.Options{Defaults: &settings, Now: func() time.Time { return time.Now().Add(ahead) }})
	check.OK(m.t, err)
	return s
}

// stage puts messages in one call.
func (m *metered) stage(first, n int) {
	m.t.Helper()
	var all []cursor.Message
	for i := range n {
		all = append(all, byTime(first+i))
	}
	results := m.sorter.Put(m.t.Context(), all...)
	check.OK(m.t, results[0].Err)
	for _, r := range results {
		if r.Err != nil || r.Outcome != cursor.Waiting {
			m.t.Fatalf("%+v", r)
		}
	}
}

func (m *metered) settle(placed int) {
	m.t.Helper()
	did := check.Get(m.sorter.Settle(m.t.Context(), arrivalQueue, sortkey.EverySortKey))
	if did.Placed != placed {
		m.t.Fatalf("%d placed, want %d", did.Placed, placed)
	}
}

// atMost checks units a message.
func atMost(t *testing.T, what string, counts meter.Counts, n int, writes, reads float64) {
	t.Helper()
	total := counts.Total()
	w, r := total.Writes/float64(n), total.Reads/float64(n)
	t.Logf("%s: %.3f requests, %.3f write units, %.3f read units a message (%v)", what, float64(total.Requests)/float64(n), w, r, counts)
	check.That(t, w <= writes && r <= reads,
		"%s: %.3f write and %.3f read units a message, want %.2f and %.2f at most", what, w, r,
		writes, reads)
}

// TestKeyedFigures pins what keyed queues cost, for messages of 100 bytes.
func TestKeyedFigures(t *testing.T) {
	t.Run("one message a settle", func(t *testing.T) {
		m := keyedMeter(t)
		m.stage(0, 1)
		m.settle(1)
		const n = 2 * queuelog.OrderItemEntries
		counts := m.cost(func() {
			for i := range n {
				m.stage(1+i, 1)
				m.settle(1)
			}
		})
		atMost(t, "one a settle", counts, n, 2.1, 3)
		counts = m.cost(func() { m.settle(0) })
		atMost(t, "and a quiet spell", counts, 1, 1, 2)
		counts = m.cost(func() { m.settle(0) })
		atMost(t, "a settle of a quiet queue", counts, 1, 0, 2)
	})
	t.Run("100 a settle", func(t *testing.T) {
		m := keyedMeter(t)
		m.stage(0, 1)
		m.settle(1)
		counts := m.cost(func() {
			for i := range 4 {
				for chunk := range 4 {
					m.stage(1+100*i+25*chunk, 25)
				}
				m.settle(100)
			}
		})
		atMost(t, "100 a settle", counts, 400, 1.16, 0.2)
	})
	t.Run("a put of 25", func(t *testing.T) {
		m := keyedMeter(t)
		m.stage(0, 1)
		counts := m.cost(func() { m.stage(1, 25) })
		check.That(t, counts["PutItem"].Requests == 25 && counts["GetItem"].Requests == 1 &&
			counts.Total().Requests == 26 && counts.Total().Reads == 1,
			"%v, want 25 writes and a strong read", counts)
	})
	t.Run("a put by its receipt", func(t *testing.T) {
		m := keyedMeter(t)
		m.stage(0, 1)
		counts := m.cost(func() {
			received := byTime(1)
			received.KeyParts = []any{sortkey.Received(received.KeyParts[0].(time.Time))}
			check.OK(t, m.sorter.Put(t.Context(), received)[0].Err)
		})
		if total := counts.Total(); counts["PutItem"].Requests != 2 || total.Requests != 3 || total.Writes != 2 || total.Reads != 1 {
			t.Errorf("%v, want two writes of a unit and a strong read", counts)
		}
	})
	t.Run("reading 1,000 that were settled together", func(t *testing.T) {
		m := keyedMeter(t)
		for i := range 40 {
			m.stage(25*i, 25)
		}
		m.settle(1000)
		counts := m.cost(func() {
			n := 0
			for _, err := range m.sorter.Read(t.Context(), arrivalQueue, 0, 1000) {
				check.OK(t, err)
				n++
			}
			check.That(t, n == 1000, "%d were read", n)
		})
		atMost(t, "reading", counts, 1000, 0, 0.06)
	})
	t.Run("a late one", func(t *testing.T) {
		m := keyedMeter(t)
		for i := range 40 {
			m.stage(1+25*i, 25)
			m.settle(25)
		}
		counts := m.cost(func() {
			r := m.sorter.Put(t.Context(), byTime(0))[0]
			check.OK(t, r.Err)
			check.That(t, r.Outcome == cursor.Advanced && r.Late, "%+v", r)
		})
		atMost(t, "a late one", counts, 1, 2, 2)
	})
}
