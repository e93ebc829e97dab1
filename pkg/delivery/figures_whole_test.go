//go:build whole

package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// metered is a Deliverer on fresh tables of a real server, with a Meter between.
type metered struct {
	t      *testing.T
	meter  *meter.Meter
	queues *cursor.Store
	store  *delivery.Store
	sorter *cursor.Sorter
	d      *delivery.Deliverer
	now    time.Time
}

func newMetered(t *testing.T) *metered {
	t.Helper()
	m := &metered{t: t, meter: meter.New(dynamo.Transport()), now: time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)}
	clock := func() time.Time { return m.now }
	m.store, m.queues = freshTables(t, localdb.Choose(), &dynamo.Options{Transport: m.meter})
	m.sorter = check.Get(cursor.New(m.queues, &cursor.Options{Now: clock, KeepForever: true}))
	m.d = check.Get(delivery.New(m.store, m.sorter, &delivery.Options{Now: clock}))
	return m
}

func (m *metered) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

const meteredQueue = "octo-org/octo-repo"

// put puts messages of 100 bytes.
func (m *metered) put(first, last int64) {
	m.t.Helper()
	for ; first <= last; first += 100 {
		var group []cursor.Message
		for seq := first; seq <= min(last, first+99); seq++ {
			group = append(group, cursor.Message{Queue: meteredQueue, Seq: seq, Body: fmt.Appendf(nil, "%-100d", seq)})
		}
		m.must(m.sorter.Put(m.t.Context(), group...)[0].Err)
	}
}

// deliver delivers in batches of 100 messages. known is what a record shows.
func (m *metered) deliver(known int64) delivery.Delivery {
	m.t.Helper()
	done := m.d.Deliver(m.t.Context(), meteredQueue, delivery.Reader{
		Name: "billing", MaxMessages: 100, Handle: func(context.Context, delivery.Batch) error { return nil },
	}, known)
	m.must(done.Err)
	check.Need(m.t, ending(done) == endedCaughtUp, "it ended as %s", ending(done))
	return done
}

// cost is what fn's requests came to.
func (m *metered) cost(fn func()) meter.Counts {
	before := m.meter.Counts()
	fn()
	return m.meter.Counts().Sub(before)
}

func writes(c meter.Counts) meter.Count {
	put, update, remove := c["PutItem"], c["UpdateItem"], c["DeleteItem"]
	return meter.Count{Requests: put.Requests + update.Requests + remove.Requests, Writes: put.Writes + update.Writes + remove.Writes}
}

// TestFigures pins what a delivery of messages of 100 bytes costs, in batches
// of 100: a write to claim, one to commit, one in place of the two where it
// goes on; the range at 0.025 read units a message, and one read of the consumer, and of the
// position where no record shows it.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		name     string
		messages int64
		// known is whether a record shows the position.
		known  bool
		writes int
		reads  float64
	}{
		{"one message", 1, true, 2, 0.5 + 1},
		{"one batch", 100, true, 2, 100*0.025 + 1},
		{"three batches", 300, true, 1 + 2 + 1, 300*0.025 + 1},
		{"one batch, by the sweep's hint", 100, false, 2, 100*0.025 + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMetered(t)
			m.put(1, 1)
			m.deliver(-1)
			m.put(2, 1+c.messages)
			known := int64(-1)
			if c.known {
				known = 1 + c.messages
			}
			counts := m.cost(func() { m.deliver(known) })
			if w := writes(counts); w.Requests != c.writes || w.Writes != float64(c.writes) || counts.Total().Reads > c.reads {
				t.Errorf("want %d writes, and at most %.2f read units: %v", c.writes, c.reads, counts)
			}
		})
	}
}

// TestThousandMessagesFigure: 1,000 messages of a queue at 100 a batch cost at
// most 0.02 write units and 0.06 read units each.
func TestThousandMessagesFigure(t *testing.T) {
	m := newMetered(t)
	m.put(1, 1)
	m.deliver(-1)
	const count = 1000
	m.put(2, count+1)
	counts := m.cost(func() { m.deliver(count + 1) })
	total := counts.Total()
	t.Logf("%.4f WRU and %.4f RRU a message: %v", total.Writes/count, total.Reads/count, counts)
	if total.Writes/count > 0.02 || total.Reads/count > 0.06 {
		t.Errorf("%.4f write units and %.4f read units a message, want 0.02 and 0.06 at most: %v", total.Writes/count, total.Reads/count, counts)
	}
}

// TestWarmFigure: a process that handed the queue's last move on knows the consumer: of a message that comes next
// it reads nothing else.
func TestWarmFigure(t *testing.T) {
	m := newMetered(t)
	handle := check.Get(delivery.OnStream(m.d, cursor.Names{}, delivery.Reader{Name: "billing", Handle: func(context.Context, delivery.Batch) error { return nil }}))
	for n := range int64(3) {
		m.put(n+1, n+1)
		counts := m.cost(func() {
			answer, err := handle(t.Context(), table.StreamEvent{Records: []json.RawMessage{moved(int(n), meteredQueue, n, n+1)}})
			if m.must(err); len(answer.BatchItemFailures) > 0 {
				t.Errorf("%+v", answer)
			}
		})
		if total := counts.Total(); n > 0 && (total.Requests != 3 || total.Writes != 2 || total.Reads != 0.5) {
			t.Errorf("%d requests, %.1f write and %.1f read units; want 3, 2 and 0.5: %v", total.Requests, total.Writes, total.Reads, counts)
		}
	}
}

// TestEmptyHintFigure: a hint that brings nothing new costs 2 reads at most.
func TestEmptyHintFigure(t *testing.T) {
	m := newMetered(t)
	m.put(1, 10)
	m.deliver(-1)
	for _, known := range []int64{-1, 3, 10} {
		total := m.cost(func() { m.deliver(known) }).Total()
		check.That(t, total.Requests <= 2 && total.Reads <= 2 && total.Writes <= 0,
			"%d requests, %.1f read units, %.1f write units", total.Requests, total.Reads, total.Writes)
	}
}

// TestNewConsumerFigure: the first delivery makes the consumer.
func TestNewConsumerFigure(t *testing.T) {
	m := newMetered(t)
	m.put(1, 1)
	counts := m.cost(func() { m.deliver(1) })
	if w := writes(counts); w.Requests > 2+2 || counts.Total().Reads > 8 {
		t.Errorf("want 2 writes for the consumer, and 2 for the batch: %v", counts)
	}
}

// TestOperatorsFigure: what operators do costs 5 writes: its id taken, asked for, done,
// noted, and the queue woken up; a rewind has one more for its end.
func TestOperatorsFigure(t *testing.T) {
	m := newMetered(t)
	m.put(1, 10)
	m.deliver(-1)
	o := delivery.Order{Queue: meteredQueue, Consumer: "billing", Reason: "why"}
	for name, c := range map[string]struct {
		do     func() error
		writes int
	}{
		"pause":  {func() error { _, err := m.d.Operate(t.Context(), does("pause", o)); return err }, 4},
		"resume": {func() error { _, err := m.d.Operate(t.Context(), does("resume", o)); return err }, 5},
		"rewind": {func() error { _, err := m.d.Operate(t.Context(), rewinds(o, delivery.At(5))); return err }, 6},
	} {
		// In any order: none of them depends on another.
		check.Get(m.d.Operate(t.Context(), does("resume", o)))
		counts := m.cost(func() { m.must(c.do()) })
		if w := writes(counts); w.Requests > c.writes {
			t.Errorf("%s: %d writes, want %d: %v", name, w.Requests, c.writes, counts)
		}
	}
}

// TestQuietSweepFigure: a sweep of 10,000 quiet queues with one consumer each
// costs 400 read units at most. A fifth of them is looked at here.
func TestQuietSweepFigure(t *testing.T) {
	m := newMetered(t)
	const count, part = 10_000, 5
	m.each(count/part, func(i int) error {
		queue := fmt.Sprintf("octo-org/repository-%05d", i)
		_, err := m.queues.Requests(queuelog.Inside{}).CreateCursor(t.Context(), cursor.Cursor{
			Queue: queue, Settings: cursor.DefaultSettings(), MovedAt: m.now, Announced: -1,
		})
		if err != nil {
			return err
		}
		_, _, err = m.store.Requests(request.Inside{}).CreateConsumer(t.Context(), delivery.Consumer{Queue: queue, Name: "billing", State: delivery.Idle, Control: delivery.Control{LastOp: "made"}})
		return err
	})
	sweep := func() delivery.SweepReport {
		m.now = m.now.Add(15 * time.Minute)
		report, err := m.d.Sweep(t.Context(), delivery.SweepOptions{})
		m.must(err)
		return report
	}
	// The first one looks at all: it does not know who moved.
	if report := sweep(); report.Queues != count/part {
		t.Fatalf("%+v", report)
	}
	counts := m.cost(func() {
		check.Is(t, sweep().Queues, 0)
	})
	t.Logf("%d queues: %v", count/part, counts)
	if reads := counts.Total().Reads * part; reads > 400 {
		t.Errorf("%.1f read units, want 400 at most: %v", reads, counts)
	}
}

// each does something count times, some at a time.
func (m *metered) each(count int, do func(i int) error) {
	m.t.Helper()
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		wrong error
	)
	next := make(chan int)
	for range 16 {
		wait.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					mu.Lock()
					wrong = err
					mu.Unlock()
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	wait.Wait()
	m.must(wrong)
}

// TestReplyFigures pins what three replies to one queue add to a push: the row for
// the three, the decision, and the ticket.
func TestReplyFigures(t *testing.T) {
	m := newMetered(t)
	n := 0
	deliver := func() {
		t.Helper()
		done := m.d.Deliver(t.Context(), meteredQueue, delivery.Reader{Name: "billing", Handle: func(_ context.Context, b delivery.Batch) error {
			replies := slices.Repeat([]delivery.Reply{{Queue: "x", Body: fmt.Appendf(nil, "%100d", 1)}}, n)
			return b.Reply(replies...)
		}}, -1)
		m.must(done.Err)
	}
	for i, c := range []struct {
		name            string
		replies, writes int
	}{
		{"the first, to a new queue", 3, 2 + 3 + 3},
		{"without replies", 0, 2},
		{"with 3 replies", 3, 2 + 3},
	} {
		m.put(int64(i)+1, int64(i)+1)
		n = c.replies
		counts := m.cost(deliver)
		w := writes(counts)
		t.Logf("%-28s %d writes of %.0f units, %.1f read units", c.name, w.Requests, w.Writes, counts.Total().Reads)
		check.That(t, i <= 0 || w.Requests == c.writes && w.Writes == float64(c.writes),
			"%s: %d writes of %.0f units, want %d: %v", c.name, w.Requests, w.Writes, c.writes, counts)
	}
}
