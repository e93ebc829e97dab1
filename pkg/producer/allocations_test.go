//go:build !race

package producer_test

import (
	"context"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer"
)

// The race detector has pools forget at random, so this counts without it.

// deaf takes requests and does not answer, so that nothing but Send is measured.
type deaf struct{}

func (deaf) Put(ctx context.Context, _ []byte) (producer.Answer, error) {
	<-ctx.Done()
	return producer.Answer{}, ctx.Err()
}

// hundred is a body of 100 bytes.
var hundred = []byte(`{"order":"0123456789","customer":"0123456789","total":"0123456789","items":[1,2,3,4,5,6,7,8,9,10,11]}`)

// TestAllocations: a message is two allocations from Send to its batch: its future and its
// document.
func TestAllocations(t *testing.T) {
	for name, m := range map[string]producer.Message{
		"numbered": {Queue: "orders", Seq: new(int64(1)), ID: "o-1", Body: hundred},
		"arrival":  {Queue: "arrivals", Body: hundred},
		"keyed":    {Queue: "keys", Key: []byte(`"2026-05-06T07:08:09Z"`), KeyType: "time", ID: "e-1", Body: hundred},
		"binary":   {Queue: "bytes", Seq: new(int64(1)), Body: []byte{0, 1, 2}},
		"headed":   {Queue: "heads", Body: hundred, Attributes: map[string]string{"a": "b"}},
	} {
		p := check.Get(producer.New(deaf{}, &producer.Options{
			MaxBytes: 4 << 30, QueueBytes: 2 << 30, RequestBytes: 4 << 20,
		}))
		if n := testing.AllocsPerRun(5000, func() {
			if _, err := p.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}); n > 2 {
			t.Errorf("%s: %v allocations a message, want 2 at most", name, n)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_ = p.Close(over)
	}
}
