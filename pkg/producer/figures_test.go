package producer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/pkg/producer"
)

// TestLingerFigures: how many messages of a queue come together, and in how many requests, where a
// thousand a second come one by one, at random: what internal/dev/cost takes for a lingering
// producer. Answers come at once, so that nothing is gathered while they are waited for.
func TestLingerFigures(t *testing.T) {
	const rate, seconds = 1000.0, 40
	for _, c := range []struct {
		queues int
		linger time.Duration
	}{{1, 10 * time.Millisecond}, {4, 20 * time.Millisecond}, {16, 10 * time.Millisecond},
		{16, 50 * time.Millisecond}, {16, 100 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{}
			p := newProducer(t, a, &producer.Options{Linger: c.linger})
			random := rand.New(rand.NewPCG(1, 2))
			for began := time.Now(); time.Since(began) < seconds*time.Second; {
				bubble.Sleep(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
				send(t, p, numbered(fmt.Sprint("q", random.IntN(c.queues)), 1))
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			messages, batches := 0, 0
			for _, r := range a.requests {
				queues := map[string]bool{}
				for _, m := range r {
					queues[m.Queue] = true
				}
				messages, batches = messages+len(r), batches+len(queues)
			}
			waits, most := 0.75, 2/c.linger.Seconds()
			if c.queues == 1 {
				waits = 1
			}
			want := 1 + rate/float64(c.queues)*waits*c.linger.Seconds()
			got, requests := float64(messages)/float64(batches), float64(len(a.requests))/seconds
			t.Logf("%d queues, %v: %.2f of a queue together, %.0f requests a second; the bill has %.2f, and %.0f at most", c.queues, c.linger, got, requests, want, most)
			longest := 1 + rate/float64(c.queues)*c.linger.Seconds() // if each waited for all of the linger
			if got < 0.95*want || got > 1.05*longest || requests > most {
				t.Errorf("%d queues, %v: %.2f of a queue together, %.0f requests a second; want %.2f, and %.0f at most", c.queues, c.linger, got, requests, want, most)
			}
		})
	}
}
