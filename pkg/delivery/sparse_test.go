package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// shuffledBy are the messages of many queues, each out of order by up to so many places.
func shuffledBy(places float64, queues int, each int64) []cursor.Message {
	random := rand.New(rand.NewPCG(20, 3))
	type placed struct {
		at float64
		cursor.Message
	}
	var all []placed
	for q := range queues {
		for seq := int64(1); seq <= each; seq++ {
			all = append(all, placed{float64(seq) + random.Float64()*places, cursor.Message{
				Queue: fmt.Sprintf("octo-org/repository-%03d", q), Seq: seq,
				Body: fmt.Appendf(nil, "%-100d", seq),
			}})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return int(1e6*a.at) - int(1e6*b.at) })
	messages := make([]cursor.Message, len(all))
	for i, it := range all {
		messages[i] = it.Message
	}
	return messages
}

// sparseJob is a way to deliver the messages of [TestSparseFigures], and what it may take a
// message.
type sparseJob struct {
	// quarters is for how many quarters of a second the cursors' stream is gathered, processes how
	// many deliver in turn, by lot.
	quarters, processes int
	most                sparseFigures
}

// sparseFigures are what a message takes, and after how long it was delivered, once it was in
// order.
type sparseFigures struct {
	requests, writes, reads float64
	// p50 and p99 are seconds.
	p50, p99 float64
}

// TestSparseFigures: 20,000 messages to 200 queues, one by one and out of order by up to 8 places,
// for two consumers, at 400 a second: the stream of the messages is gathered for a second, that of
// the cursors for so many quarters of one. The goal for this job, 6 requests, 2.9 write and 2.5
// read units, is what processBatchWindow 2s keeps to; four processes by lot take 0.14 read units
// more. Without the tag whole, only these two are run.
func TestSparseFigures(t *testing.T) {
	for name, job := range map[string]sparseJob{
		"default":                            {quarters: 1, most: sparseFigures{6.1, 3.45, 2.42, 0.13, 0.26}},
		"processBatchWindow 1s":              {quarters: 4, most: sparseFigures{5.6, 3.05, 2.36, 0.51, 1.01}},
		"processBatchWindow 2s":              {quarters: 8, most: sparseFigures{5.1, 2.65, 2.3, 1.01, 2.01}},
		"4 processes":                        {quarters: 1, processes: 4, most: sparseFigures{6.7, 3.45, 3.05, 0.13, 0.26}},
		"4 processes, processBatchWindow 2s": {quarters: 8, processes: 4, most: sparseFigures{5.45, 2.65, 2.65, 1.01, 2.01}},
	} {
		if whole.Tests || job.quarters == 8 {
			t.Run(name, func(t *testing.T) { newSparse(t, job).run() })
		}
	}
}

// sparse is a stack with a clock: of its streams, its timer and its consumers.
type sparse struct {
	*testing.T
	sparseJob
	now    time.Time
	meter  *ddbtest.Meter
	sorter *cursor.Sorter
	d      *delivery.Deliverer
	handle []func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error)
	random *rand.Rand
	// records are those of the cursors' stream that wait, positions where each queue is.
	records   []json.RawMessage
	positions map[string]int64
	moves     int
	// ready is when each message was in order, by queue; got how many of a queue each consumer got,
	// and late after how long it got each.
	ready   map[string][]time.Time
	got     map[string]int
	late    []time.Duration
	batches int // that the consumers got
}

func newSparse(t *testing.T, job sparseJob) *sparse {
	consumers := delivery.Names{}.Tables()
	s := &sparse{
		T: t, sparseJob: job, now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC),
		random:    rand.New(rand.NewPCG(1, 2)),
		meter:     ddbtest.NewMeter(ddb.NewMemory(append(cursor.Names{}.Tables(), consumers...)...)),
		positions: map[string]int64{}, ready: map[string][]time.Time{}, got: map[string]int{},
	}
	clock := func() time.Time { return s.now }
	store := check.Get(cursor.NewStore(s.meter, cursor.Names{}))
	s.sorter = check.Get(cursor.New(store, &cursor.Options{KeepForever: true, Now: clock}))
	for range max(job.processes, 1) {
		s.d = check.Get(delivery.New(delivery.NewStore(s.meter, consumers), s.sorter, &delivery.Options{
			ForEach: fanout.OneByOne, Now: clock,
		}))
		handle := check.Get(delivery.OnStream(s.d, cursor.Names{}, s.reader("a"), s.reader("b")))
		s.handle = append(s.handle, handle)
	}
	return s
}

func (s *sparse) reader(name string) delivery.Reader {
	return delivery.Reader{Name: name, Handle: func(_ context.Context, b delivery.Batch) error {
		s.batches++
		for _, m := range b.Messages {
			key := name + " " + m.Queue
			if s.got[key]++; int64(s.got[key]) != m.Seq {
				return fmt.Errorf("%s: %d comes as number %d", key, m.Seq, s.got[key])
			}
			s.late = append(s.late, s.now.Sub(s.ready[m.Queue][m.Seq-1]))
		}
		return nil
	}}
}

func (s *sparse) put(batch []cursor.Message) {
	for _, m := range batch {
		s.now = s.now.Add(250 * time.Millisecond / time.Duration(len(batch)))
		result := s.sorter.Put(s.Context(), m)[0]
		check.OK(s, result.Err)
		for _, move := range result.Moves {
			s.moves++
			s.records = append(s.records, moved(s.moves, m.Queue, move.From, move.To))
			s.positions[m.Queue] = max(s.positions[m.Queue], move.To)
			for int64(len(s.ready[m.Queue])) < move.To {
				s.ready[m.Queue] = append(s.ready[m.Queue], s.now)
			}
		}
	}
}

func (s *sparse) deliver() {
	if len(s.records) > 0 {
		by := s.random.IntN(len(s.handle))
		answer, err := s.handle[by](s.Context(), table.StreamEvent{Records: s.records})
		check.Need(s, err == nil && len(answer.BatchItemFailures) == 0, "%v %v", answer, err)
		s.records = nil
	}
}

func (s *sparse) run() {
	const period, looks = 100, 4
	messages := shuffledBy(8, 200, 100)
	came := map[string][]int64{}
	periods := len(messages) / period
	for i := 0; i < periods || len(s.records) > 0; i++ {
		if i < periods {
			batch := messages[i*period : (i+1)*period]
			for _, m := range batch {
				came[m.Queue] = append(came[m.Queue], m.Seq)
			}
			s.put(batch)
		} else {
			s.now = s.now.Add(250 * time.Millisecond)
		}
		if i%looks == looks-1 {
			for queue, seqs := range came {
				check.Get(s.sorter.Inside(queuelog.Inside{}).Heal(s.Context(), queue, seqs...))
			}
			clear(came)
		}
		if i%s.quarters == s.quarters-1 || i >= periods {
			s.deliver()
		}
	}
	s.report(float64(len(messages)))
}

func (s *sparse) report(n float64) {
	for key, got := range s.got {
		check.That(s, got == 100, "%s got %d", key, got)
	}
	all := s.meter.Take()
	slices.Sort(s.late)
	is := sparseFigures{
		requests: float64(all.Reads+all.Writes) / n, writes: all.Units.Writes / n,
		reads: all.Units.Reads / n,
		p50:   s.late[len(s.late)/2].Seconds(), p99: s.late[len(s.late)*99/100].Seconds(),
	}
	s.Logf("all      %.2f requests, %.2f write and %.2f read units a message; %.2f moves, %.2f batches; delivered after %.2f s, p99 %.2f s, at most %.2f s",
		is.requests, is.writes, is.reads, float64(s.moves)/n, float64(s.batches)/n, is.p50, is.p99,
		s.late[len(s.late)-1].Seconds())
	most := s.most
	check.That(s, len(s.got) == 400 && is.requests <= most.requests && is.writes <= most.writes &&
		is.reads <= most.reads && is.p50 <= most.p50 && is.p99 <= most.p99,
		"%d queues; it took %.3f, want at most %v", len(s.got), is, most)
}
