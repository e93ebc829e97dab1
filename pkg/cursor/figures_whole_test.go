//go:build whole

package cursor_test

import (
	"net/http"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// metered is a Sorter on fresh tables of a real server, with a Meter between.
type metered struct {
	t      testing.TB
	store  *cursor.Store
	sorter *cursor.Sorter
	meter  *meter.Meter
}

func newMetered(t testing.TB, mode cursor.Mode) *metered {
	t.Helper()
	return newMeteredOver(t, mode, dynamo.Transport())
}

func newMeteredOver(t testing.TB, mode cursor.Mode, transport http.RoundTripper) *metered {
	t.Helper()
	m := &metered{t: t, meter: meter.New(transport)}
	m.store = freshTables(t, localdb.Choose(), &dynamo.Options{Transport: m.meter})
	m.sorter = m.process(mode)
	return m
}

// process is a Sorter that has seen no queue yet.
func (m *metered) process(mode cursor.Mode) *cursor.Sorter {
	m.t.Helper()
	settings := cursor.DefaultSettings()
	settings.Mode = mode
	return check.Get(cursor.New(m.store, &cursor.Options{Defaults: &settings}))
}

func (m *metered) put(seqs ...int64) {
	m.t.Helper()
	for _, seq := range seqs {
		check.OK(m.t, m.sorter.Put(m.t.Context(), hundred(seq))[0].Err)
	}
}

func (m *metered) group(first, last int64) {
	m.t.Helper()
	var messages []cursor.Message
	for seq := first; seq <= last; seq++ {
		messages = append(messages, hundred(seq))
	}
	results := m.sorter.Put(m.t.Context(), messages...)
	check.OK(m.t, results[0].Err)
	for _, r := range results {
		if r.Err != nil {
			m.t.Fatal(r.Err)
		}
	}
}

// cost is what fn's requests came to.
func (m *metered) cost(fn func()) meter.Counts {
	before := m.meter.Counts()
	fn()
	return m.meter.Counts().Sub(before)
}

// TestFigures pins what each operation costs, for messages of 100 bytes.
func TestFigures(t *testing.T) {
	type figure struct {
		writes, reads         int
		writeUnits, readUnits float64
	}
	upTo := func(got, want figure) bool {
		return got.writes == want.writes && got.reads <= want.reads && got.writeUnits == want.writeUnits && got.readUnits <= want.readUnits
	}
	for _, c := range []struct {
		name    string
		mode    cursor.Mode
		prepare func(*metered)
		do      func(*metered)
		want    figure
	}{
		{"in order, warm", cursor.ModeSync, func(m *metered) { m.put(1) }, func(m *metered) { m.put(2) }, figure{2, 0, 2, 0}},
		{"in order, warm, asynchronous", cursor.ModeAsync, func(m *metered) { m.put(1) }, func(m *metered) { m.put(2) }, figure{1, 0, 1, 0}},
		{"in order, cold", cursor.ModeSync, func(m *metered) { m.put(1); m.sorter = m.process(cursor.ModeSync) }, func(m *metered) { m.put(2) }, figure{2, 1, 2, 0.5}},
		{"beyond a gap that is known", cursor.ModeSync, func(m *metered) { m.put(1, 9) }, func(m *metered) { m.put(5) }, figure{1, 1, 1, 1}},
		{"beyond all that is parked", cursor.ModeSync, func(m *metered) { m.put(1, 5) }, func(m *metered) { m.put(9) }, figure{1, 1, 1, 1}},
		{"fills a gap, and more waits beyond the next", cursor.ModeSync, func(m *metered) { m.put(1, 3, 5) }, func(m *metered) { m.put(2) }, figure{2, 2, 2, 2}},
		{"opens a gap", cursor.ModeSync, func(m *metered) { m.put(1) }, func(m *metered) { m.put(3) }, figure{2, 1, 2, 1}},
		{"batch of 25", cursor.ModeSync, func(m *metered) { m.put(1) }, func(m *metered) { m.group(2, 26) }, figure{26, 0, 26, 0}},
		{"batch of 100", cursor.ModeSync, func(m *metered) { m.put(1) }, func(m *metered) { m.group(2, 101) }, figure{101, 0, 101, 0}},
		{"new queue", cursor.ModeSync, func(*metered) {}, func(m *metered) { m.put(1) }, figure{3, 1, 3, 0.5}},
		// 100 items of 200 bytes are 19.5 KB, 5 units; and two for pages that are not full.
		{"fills a gap with 100 parked", cursor.ModeSync, func(m *metered) { m.put(1); m.group(3, 102) }, func(m *metered) { m.put(2) }, figure{2, 4, 2, 5 + 2}},
		{"duplicate, passed", cursor.ModeSync, func(m *metered) { m.put(1, 2) }, func(m *metered) { m.put(1) }, figure{0, 1, 0, 1}},
		{"duplicate, parked", cursor.ModeSync, func(m *metered) { m.put(1, 3) }, func(m *metered) { m.put(3) }, figure{1, 1, 1, 1}},
		{"too far ahead", cursor.ModeSync, func(m *metered) { m.put(1) }, func(m *metered) { m.put(200_000) }, figure{0, 1, 0, 1}},
		{"heal, nothing to do", cursor.ModeSync, func(m *metered) { m.put(1) }, func(m *metered) {
			check.Get(m.sorter.Steps().Heal(m.t.Context(), hundred(1).Queue, 1))
		}, figure{0, 1, 0, 1}},
		{"heal of a batch of 50, asynchronous", cursor.ModeAsync, func(m *metered) { m.group(1, 50) }, func(m *metered) {
			var seqs []int64
			for seq := int64(1); seq <= 50; seq++ {
				seqs = append(seqs, seq)
			}
			check.Get(m.sorter.Steps().Heal(m.t.Context(), hundred(1).Queue, seqs...))
		}, figure{1, 6, 1, 1 + 1 + 4 + 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMetered(t, c.mode)
			c.prepare(m)
			counts := m.cost(func() { c.do(m) })
			total := counts.Total()
			writes := counts["PutItem"].Requests + counts["UpdateItem"].Requests
			got := figure{writes, total.Requests - writes, total.Writes, total.Reads}
			check.That(t, upTo(got, c.want),
				"%+v, want %+v (reads at most): %v", got, c.want, counts)
		})
	}
}

// TestVerifyFigures: the cursor twice, a request for each MB, and one for what is behind the
// position.
func TestVerifyFigures(t *testing.T) {
	m := newMetered(t, cursor.ModeSync)
	for first := int64(1); first < 1000; first += 25 {
		m.group(first, first+24)
	}
	counts := m.cost(func() {
		for _, err := range m.process(cursor.ModeSync).Verify(t.Context(), hundred(1).Queue, cursor.Range{To: all}) {
			check.OK(t, err)
		}
	}).Total()
	t.Logf("1,000 messages of 100 bytes: %d requests, %.1f read units", counts.Requests, counts.Reads)
	check.That(t, counts.Requests == 4 && counts.Writes == 0 && counts.Reads <= 75,
		"%+v; want 4 reads", counts)
}
