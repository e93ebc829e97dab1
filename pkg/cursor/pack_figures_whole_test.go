//go:build whole

package cursor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// noise is a body that cannot be deflated, jsonBody one that can.
func noise(seq int64, size int) []byte {
	random := rand.New(rand.NewPCG(uint64(seq), 1))
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	return body
}

func jsonBody(seq int64, size int) []byte {
	random := rand.New(rand.NewPCG(uint64(seq), 1))
	text := fmt.Sprintf(`{"event":"order.updated","order":%08d,"customer":"c-%04d","amount":%d.95,"currency":"EUR"}`,
		random.IntN(1e8), random.IntN(1e4), random.IntN(1000))
	return fmt.Appendf(nil, "%-*s", size, text)
}

// run puts a batch of n messages from a seq on.
func (m *metered) run(body func(int64, int) []byte, first int64, n, size int) {
	m.t.Helper()
	var messages []cursor.Message
	for seq := first; seq < first+int64(n); seq++ {
		messages = append(messages, cursor.Message{Queue: "octo-org/octo-repo", Seq: seq, Body: body(seq, size)})
	}
	results, err := m.sorter.PutGroup(m.t.Context(), messages)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil || r.Outcome != cursor.Advanced {
			m.t.Fatal(r)
		}
	}
}

func newPacking(t *testing.T) *metered {
	m := newMetered(t, cursor.ModeSync)
	settings := cursor.DefaultSettings()
	settings.Packs = cursor.PacksOn
	s, err := cursor.New(m.store, &cursor.Options{Defaults: &settings})
	if err != nil {
		t.Fatal(err)
	}
	m.sorter = s
	return m
}

// TestPackFigures pins what packed runs cost: write units of a batch.
func TestPackFigures(t *testing.T) {
	for _, c := range []struct {
		name    string
		body    func(int64, int) []byte
		n, size int
		most    float64
	}{
		{"10 of 200 bytes", noise, 10, 200, 4},
		{"9 of 100 bytes, deflated", jsonBody, 9, 100, 2},
		{"10 of 100 bytes, deflated", jsonBody, 10, 100, 2},
		{"25 of 100 bytes", noise, 25, 100, 25 * 0.16},
		{"25 of 100 bytes, deflated", jsonBody, 25, 100, 25 * 0.08},
		{"100 of 100 bytes", noise, 100, 100, 100 * 0.14},
		{"100 of 100 bytes, deflated", jsonBody, 100, 100, 100 * 0.05},
		{"one", noise, 1, 100, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newPacking(t)
			m.run(c.body, 1, 2, c.size)
			cost := m.cost(func() { m.run(c.body, 3, c.n, c.size) }).Total()
			if cost.Writes > c.most || cost.Reads > 0 || cost.Requests != 2 {
				t.Errorf("%v, want at most %v write units in 2 requests, and no reads", cost, c.most)
			}
		})
	}
}

// TestPackReadFigure pins what reading 1,000 messages of 100 bytes costs, that were put by 100.
func TestPackReadFigure(t *testing.T) {
	for name, c := range map[string]struct {
		body func(int64, int) []byte
		most float64
	}{"raw": {noise, 16}, "deflated": {jsonBody, 6}} {
		t.Run(name, func(t *testing.T) {
			m := newPacking(t)
			for first := int64(1); first <= 1000; first += 100 {
				m.run(c.body, first, 100, 100)
			}
			read := 0
			cost := m.cost(func() {
				for _, err := range m.sorter.Read(t.Context(), "octo-org/octo-repo", 0, 1000) {
					if err != nil {
						t.Fatal(err)
					}
					read++
				}
			}).Total()
			if read != 1000 || cost.Reads > c.most {
				t.Errorf("%d messages for %v read units, want at most %v", read, cost.Reads, c.most)
			}
		})
	}
}

// TestAColdReadFigure pins that a reader that knows nothing of a queue without packed runs
// asks for nothing more, and what it asks for in one that has them.
func TestAColdReadFigure(t *testing.T) {
	for name, c := range map[string]struct {
		m        *metered
		requests int
	}{"without": {newMetered(t, cursor.ModeSync), 1}, "with": {newPacking(t), 2}} {
		t.Run(name, func(t *testing.T) {
			for first := int64(1); first <= 10; first += 2 {
				c.m.run(noise, first, 2, 100)
			}
			cold, err := cursor.New(c.m.store, nil)
			if err != nil {
				t.Fatal(err)
			}
			cost := c.m.cost(func() {
				if _, err := cold.ReadBatch(t.Context(), "octo-org/octo-repo", 2, 10); err != nil {
					t.Fatal(err)
				}
			}).Total()
			if cost.Requests != c.requests {
				t.Errorf("%v, want %d requests", cost, c.requests)
			}
		})
	}
}

// TestADisplacedPackFigure pins what a batch costs whose packed run another writer keeps from
// being moved over: twice the run's units, and one more a message and for the gap.
func TestADisplacedPackFigure(t *testing.T) {
	m := newPacking(t)
	m.run(noise, 1, 2, 200)
	const n = 10
	var messages []cursor.Message
	for seq := int64(3); seq < 3+n; seq++ {
		messages = append(messages, cursor.Message{Queue: "octo-org/octo-repo", Seq: seq, Body: noise(seq, 200)})
	}
	// Another writer parks a message, of which this one does not know.
	other, err := cursor.New(m.store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Put(t.Context(), cursor.Message{Queue: "octo-org/octo-repo", Seq: 50}); err != nil {
		t.Fatal(err)
	}
	cost := m.cost(func() {
		if _, err := m.sorter.PutGroup(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
	}).Total()
	const pack = 3
	if cost.Writes > 2*pack+n+1 {
		t.Errorf("%v, want at most %d write units: %v", cost, 2*pack+n+1, m.meter.Counts())
	}
}
