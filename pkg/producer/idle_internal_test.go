package producer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// gate answers with successes, once it is open.
type gate chan struct{}

func (g gate) Put(ctx context.Context, body []byte) (Answer, error) {
	select {
	case <-g:
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	results := strings.Repeat(`{"status":200},`, strings.Count(string(body), `{"queue":`))
	return Answer{Status: 200, Body: []byte(`{"results":[` + strings.TrimSuffix(results, ",") + `]}`)},
		nil
}

// TestIdleQueues: no more than maxIdle queues with nothing to send are remembered, and a queue that
// a Send waits in is not forgotten: its messages would go beside those of another with its name.
func TestIdleQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(gate)
		p := check.Get(New(g, &Options{MaxBytes: 2 << 20, QueueBytes: 1 << 20}))
		large := func(queue string) Message { return Message{Queue: queue, Body: make([]byte, 250<<10)} }
		for _, queue := range []string{"a", "a", "a", "b", "b", "b"} { // all of the memory
			check.Get(p.Send(t.Context(), large(queue)))
		}
		go func() { _, _ = p.Send(t.Context(), large("waits")) }()
		synctest.Wait()
		p.mu.Lock()
		waits := p.queues["waits"]
		for i := range maxIdle + 10 {
			p.queueOf(fmt.Sprint("idle", i))
		}
		p.arrange(waits, time.Now())
		check.That(t, p.queues["waits"] == waits, "the queue with a Send is forgotten")
		for _, q := range p.queues {
			p.arrange(q, time.Now())
		}
		n := len(p.queues)
		check.That(t, n <= maxIdle, "%d queues are remembered", n)
		p.mu.Unlock()
		close(g)
		check.OK(t, p.Close(t.Context()))
	})
}
