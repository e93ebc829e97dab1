//go:build whole

package page

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/trouble"
)

// What BenchmarkPage measures with; QUEUES says how many.
const (
	manyQueues = 100_000
	rate       = 50 // messages a second, into the queue that is looked at
	samples    = 100
)

// BenchmarkPage measures on DynamoDB Local, where the consumers of many queues lag, how long the
// first page of a list takes and what it reads, and how long after a message is put a browser shows
// it, at 50 messages a second: `make bench ONLY=page`.
func BenchmarkPage(b *testing.B) {
	queues := manyQueues
	if text := os.Getenv("QUEUES"); text != "" {
		var err error
		queues, err = strconv.Atoi(text)
		check.Need(b, err == nil, "%v", err)
	}
	charged := meter.New(front.Transport())
	s := startStack(b, charged)
	s.lag(queues)
	tb := open(b, startBrowser(b), s)
	for b.Loop() {
		var units []float64
		first := measure(20, func() {
			before := charged.Count()
			response, err := http.Get(tb.at + "consumers?state=lagging")
			check.OK(b, err)
			err = response.Body.Close()
			check.Need(b, err == nil && response.StatusCode == http.StatusOK, "%v %v", response.Status, err)
			units = append(units, charged.Count().Sub(before).Reads)
		})
		slices.Sort(units)
		b.ReportMetric(first[len(first)/2].Seconds()*1000, "first-page-ms")
		b.ReportMetric(first[len(first)-1].Seconds()*1000, "first-page-max-ms")
		// the stack's own reads may fall into one
		b.ReportMetric(units[len(units)/2], "first-page-read-units")
		redraws, perSecond := s.redraws(tb)
		b.ReportMetric(perSecond, "puts/s")
		b.ReportMetric(redraws[len(redraws)/2].Seconds()*1000, "redraw-p50-ms")
		b.ReportMetric(redraws[len(redraws)*95/100].Seconds()*1000, "redraw-p95-ms")
	}
}

// lag has the consumers of so many queues listed as lagging.
func (s *stack) lag(queues int) {
	s.t.Helper()
	db := check.Get(dynamo.New(&dynamo.Options{Endpoint: s.Direct}))
	rows := trouble.NewStore(dynamo.NewEngine(db), trouble.Definition(trouble.DefaultName))
	var writers errgroup.Group
	writers.SetLimit(16)
	now := time.Now()
	for n := range queues {
		writers.Go(func() error {
			return rows.Put(s.t.Context(), trouble.Row{
				State: trouble.Lagging, Queue: fmt.Sprintf("octo-org/repository-%06d", n), Consumer: "billing",
				Since: now, N: 1,
			})
		})
	}
	check.OK(s.t, writers.Wait())
}

// measure is how long something takes, the quickest first.
func measure(times int, do func()) []time.Duration {
	took := make([]time.Duration, times)
	for i := range took {
		began := time.Now()
		do()
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took
}

// redraws is how long after a message was put the screen of its queue shows it, the quickest first,
// while others are put, and how many are a second.
func (s *stack) redraws(tb *tab) (took []time.Duration, perSecond float64) {
	const queue = "shop/busy"
	var mu sync.Mutex
	another := sync.NewCond(&mu)
	put := map[int64]time.Time{} // when the put was answered
	s.put(queue, 1, `{"busy":true}`)
	tb.goTo("queue?queue=" + queue)
	began, done := time.Now(), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		ticker := time.NewTicker(time.Second / rate)
		defer ticker.Stop()
		for seq := int64(2); ; seq++ {
			s.put(queue, seq, `{"busy":true}`)
			mu.Lock()
			put[seq] = time.Now()
			mu.Unlock()
			another.Signal()
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	})
	for shown := int64(1); len(took) < samples; {
		mu.Lock()
		for int64(len(put))+1 == shown { // it was looked at
			another.Wait()
		}
		latest := int64(len(put)) + 1
		mu.Unlock()
		shown = latest
		tb.until(fmt.Sprintf(`Number(document.querySelector("#content .cards b")?.innerText) >= %d`,
			latest))
		mu.Lock()
		took = append(took, time.Since(put[latest]))
		mu.Unlock()
	}
	close(done)
	writer.Wait()
	slices.Sort(took)
	return took, float64(len(put)) / time.Since(began).Seconds()
}
