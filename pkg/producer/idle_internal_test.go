package producer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
	return Answer{Status: 200, Body: []byte(`{"results":[` + strings.TrimSuffix(results, ",") + `]}`)}, nil
}

// TestIdleQueues: no more than maxIdle queues with nothing to send are remembered, and a queue that
// a Send waits in is not forgotten: its messages would go beside those of another with its name.
func TestIdleQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(gate)
		p, err := New(g, &Options{MaxBytes: 2 << 20, QueueBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		large := func(queue string) Message { return Message{Queue: queue, Body: make([]byte, 250<<10)} }
		for _, queue := range []string{"a", "a", "a", "b", "b", "b"} { // all of the memory
			if _, err := p.Send(t.Context(), large(queue)); err != nil {
				t.Fatal(err)
			}
		}
		go func() { _, _ = p.Send(t.Context(), large("waits")) }()
		synctest.Wait()
		p.mu.Lock()
		waits := p.queues["waits"]
		for i := range maxIdle + 10 {
			p.queueOf(fmt.Sprint("idle", i))
		}
		p.arrange(waits, time.Now())
		if p.queues["waits"] != waits {
			t.Error("the queue with a Send is forgotten")
		}
		for _, q := range p.queues {
			p.arrange(q, time.Now())
		}
		if n := len(p.queues); n > maxIdle {
			t.Errorf("%d queues are remembered", n)
		}
		p.mu.Unlock()
		close(g)
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
