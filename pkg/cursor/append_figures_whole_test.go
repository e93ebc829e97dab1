//go:build whole

package cursor_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

const arrivalQueue = "octo-org/octo-repo"

// hundredBytes is a JSON document of 100 bytes.
func hundredBytes(n int) []byte {
	document := fmt.Sprintf(`{"order":%d,"customer":"c-%05d","status":"accepted","note":"`, n, n*7919%100_000)
	return []byte(document + strings.Repeat("x", 98-len(document)) + `"}`)
}

// alone is an arrival of one message.
func alone(n int) request {
	return request{
		Queue: arrivalQueue, ID: fmt.Sprintf("evt_%016x", n), Messages: []cursor.Message{{Body: hundredBytes(n)}},
	}
}

// together is an arrival of several.
func together(n, count int, body func(int) []byte) request {
	a := request{Queue: arrivalQueue, ID: fmt.Sprintf("req_%016x", n)}
	for i := range count {
		a.Messages = append(a.Messages, cursor.Message{Body: body(n*count + i)})
	}
	return a
}

func (m *metered) append(arrivals ...request) {
	m.t.Helper()
	for _, a := range arrivals {
		check.Get(appendTo(m.t.Context(), m.sorter, a))
	}
}

// TestAppendFigures pins what an append costs with writers in processes of their own: at most 2.2
// requests and 2.3 write units. No allocation of writers that take turns fails; where they come as
// they like, one may sleep for so long that it searches, or that the tail which it flushes fills
// up.
func TestAppendFigures(t *testing.T) {
	for _, c := range []struct {
		writers   int
		takeTurns bool
	}{{1, true}, {4, true}, {16, true}, {16, false}} {
		t.Run(fmt.Sprintf("%d writers, taking turns %v", c.writers, c.takeTurns), func(t *testing.T) {
			turns := newTurns(dynamo.Transport(), c.writers)
			m := newMeteredOver(t, cursor.ModeSync, turns)
			m.append(alone(0))
			const each = 60
			counts := m.cost(func() {
				var group sync.WaitGroup
				for w := range c.writers {
					group.Go(func() {
						ctx, leave := t.Context(), func() {}
						if c.takeTurns {
							ctx, leave = turns.writer(ctx)
						}
						defer leave()
						s := m.process(cursor.ModeSync)
						for i := range each {
							if _, err := appendTo(ctx, s, alone(1+w*each+i)); err != nil {
								t.Error(err)
							}
						}
					})
				}
				group.Wait()
			})
			cur, err := m.sorter.Status(t.Context(), arrivalQueue)
			check.That(t, err == nil && cur.Position == int64(1+c.writers*each),
				"position %d, %v", cur.Position, err)
			// Each put has one allocation that is given, each order item one trim.
			trims := int(cur.TailFrom) / queuelog.OrderItemEntries
			failed := counts["UpdateItem"].Requests - c.writers*each - trims
			total, n := counts.Total(), float64(c.writers*each)
			t.Logf("%d writers: ours %.3f requests, %.3f write units, %.3f read units a put, $%.2f a million (SQS FIFO: $0.50); %d allocations failed (%v)", c.writers,
				float64(total.Requests)/n, total.Writes/n, total.Reads/n, total.Dollars()/n, failed, counts)
			check.That(t, float64(total.Requests)/n <= 2.2 && total.Writes/n <= 2.3,
				"more than 2.2 requests or 2.3 units: %v", counts)
			check.That(t, !c.takeTurns || failed <= 0, "%d allocations failed", failed)
		})
	}
}

// TestFiguresOfAWriterThatWasOvertaken pins that one that was overtaken by what two order items
// hold needs no search, wherever the tail begins; and what it costs one that was overtaken by more.
func TestFiguresOfAWriterThatWasOvertaken(t *testing.T) {
	for _, c := range []struct{ before, others, searches int }{
		{1, 48, 0}, {11, 48, 0}, {22, 48, 0}, {24, 48, 0}, {24, 70, 0}, {23, 70, 1}, {24, 72, 1}, {1, 96, 1},
	} {
		t.Run(fmt.Sprintf("%d others after %d", c.others, c.before), func(t *testing.T) {
			m, n := newMetered(t, cursor.ModeSync), 0
			next := func() request {
				n++
				return alone(n)
			}
			for range c.before {
				m.append(next())
			}
			slow := m.sorter
			m.sorter = m.process(cursor.ModeSync)
			for range c.others {
				m.append(next())
			}
			m.sorter = slow
			counts := m.cost(func() { m.append(next()) })
			check.That(t, counts["Query"].Requests == c.searches &&
				counts["UpdateItem"].Requests == 1+c.searches && counts["PutItem"].Requests == 1,
				"%v; want the put, %d searches and an allocation more than that", counts,
				c.searches)
		})
	}
}

// scattered is 100 bytes that cannot be compressed.
func scattered(n int) []byte {
	out, x := make([]byte, 100), uint64(n)*0x9e3779b97f4a7c15+1
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

// TestBatchFigures pins what batches under one id cost.
func TestBatchFigures(t *testing.T) {
	for _, c := range []struct {
		name  string
		count int
		body  func(int) []byte
		units float64
	}{
		{"25, as they are", 25, scattered, 5},
		{"100, as they are", 100, scattered, 14},
		{"100, deflated", 100, hundredBytes, 6},
	} {
		m := newMetered(t, cursor.ModeSync)
		m.append(alone(0))
		counts := m.cost(func() { m.append(together(1, c.count, c.body)) })
		total := counts.Total()
		t.Logf("batch of %s: ours %d requests, %.1f write units; $%.3f a million messages (SQS FIFO, batches of ten: $0.05)",
			c.name, total.Requests, total.Writes, total.Dollars()/float64(c.count))
		check.That(t, total.Requests == 2 && total.Writes <= c.units,
			"%s: %v; want 2 requests, %v units at most", c.name, counts, c.units)
	}
}

// TestArrivalReadFigures pins what reading a range costs.
func TestArrivalReadFigures(t *testing.T) {
	for _, c := range []struct {
		name   string
		append func(*metered)
		units  float64
	}{
		{"single", func(m *metered) {
			for first := 0; first < 1000; first += 25 {
				var group []request
				for i := range 25 {
					group = append(group, alone(first+i))
				}
				check.Get(appendGroup(m.t.Context(), m.sorter, group))
			}
		}, 0.6},
		{"in batches of 100", func(m *metered) {
			for i := range 10 {
				m.append(together(i, 100, scattered))
			}
		}, 0.025},
	} {
		m := newMetered(t, cursor.ModeSync)
		c.append(m)
		s, read := m.process(cursor.ModeSync), 0
		cost := m.cost(func() {
			for _, err := range s.Read(t.Context(), arrivalQueue, 0, 1000) {
				check.OK(t, err)
				read++
			}
		})
		per := cost.Total().Reads / 1000
		t.Logf("read of 1,000 %s: ours %.4f read units a message in %d requests, $%.3f a million messages (SQS FIFO, batches of ten: $0.05)",
			c.name, per, cost.Total().Requests, cost.Total().Dollars()/1000)
		check.That(t, read == 1000 && per <= c.units,
			"%s: %d messages at %.4f units each, want 1000 at %v or less: %v", c.name, read, per,
			c.units, cost)
	}
}

// TestOtherAppendFigures pins what the rarer ways of an append cost.
func TestOtherAppendFigures(t *testing.T) {
	group := func(first, n int) []request {
		var arrivals []request
		for i := range n {
			arrivals = append(arrivals, alone(first+i))
		}
		return arrivals
	}
	for _, c := range []struct {
		name    string
		prepare func(*metered)
		do      func(*metered)
		// writes and reads are requests, the others units.
		writes, reads         int
		writeUnits, readUnits float64
	}{
		{"warm", func(m *metered) { m.append(alone(0)) }, func(m *metered) { m.append(alone(1)) }, 2, 0, 2, 0},
		{"cold", func(m *metered) { m.append(alone(0)); m.sorter = m.process(cursor.ModeSync) }, func(m *metered) { m.append(alone(1)) }, 2, 1, 2, 0.5},
		{"new queue", func(*metered) {}, func(m *metered) { m.append(alone(0)) }, 3, 1, 3, 0.5},
		{"group of 25", func(m *metered) { m.append(alone(0)) }, func(m *metered) {
			check.Get(appendGroup(m.t.Context(), m.sorter, group(1, 25)))
		}, 28, 0, 28, 0},
		{"repeat", func(m *metered) { m.append(alone(0), alone(1)) }, func(m *metered) { m.append(alone(0)) }, 2, 0, 2, 0},
		{"late repeat", func(m *metered) { m.append(group(0, 100)...) }, func(m *metered) { m.append(alone(3)) }, 2, 1, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMetered(t, cursor.ModeSync)
			c.prepare(m)
			counts := m.cost(func() { c.do(m) })
			total := counts.Total()
			writes := counts["PutItem"].Requests + counts["UpdateItem"].Requests
			check.That(t, writes == c.writes && total.Requests-writes == c.reads &&
				total.Writes == c.writeUnits && total.Reads == c.readUnits,
				"%v; want %+v", counts, c)
		})
	}
}

// TestACursorStaysBelowAWriteUnit: the cursor of a queue in arrival order with 38 entries, a name
// of 64 bytes and all else that a cursor can have is one unit.
func TestACursorStaysBelowAWriteUnit(t *testing.T) {
	m := newMetered(t, cursor.ModeSync)
	settings := cursor.DefaultSettings()
	settings.Kind, settings.First = cursor.KindArrival, 1_000_000_007
	now := time.Now()
	var entries []queuelog.Entry
	for i := range 38 {
		entries = append(entries, queuelog.Entry{Key: sortkey.HashOf(fmt.Sprint(i)), Count: 500, Seen: 1<<23 - 1})
	}
	check.Get(m.store.Inside().CreateCursor(t.Context(), cursor.Cursor{
		Queue: strings.Repeat("q", 64), Settings: settings, Position: 1_000_043_006, MaxParked: 1_000_000_006, MovedAt: now, Announced: -1,
		Floor: 1_000_000_007, FloorSince: now, Notified: now, TailFrom: 1_000_024_006, Tail: queuelog.NewTail(entries...),
		FingerprintsFrom: 1_000_000_006, Fingerprints: cursor.Fingerprints(strings.Repeat("abcd", 2*queuelog.OrderItemEntries)),
	}))
	if units := m.meter.Counts()["PutItem"].Writes; units != 1 {
		t.Errorf("%v units, want 1", units)
	}
}
