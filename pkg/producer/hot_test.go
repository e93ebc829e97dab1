package producer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer"
)

// stored is the answer to a full batch, which nobody has to write for each.
var stored = func() map[int][]byte {
	all := map[int][]byte{}
	for n := 1; n <= 500; n++ {
		all[n] = []byte(`{"results":[` + strings.Repeat(`{"status":200,"outcome":"advanced"},`, n-1) + `{"status":200,"outcome":"advanced"}]}`)
	}
	return all
}()

// sink accepts everything at once.
type sink struct{}

func (sink) Put(_ context.Context, body []byte) (producer.Answer, error) {
	n := strings.Count(string(body), `{"queue":`)
	return producer.Answer{Status: 200, Body: stored[n]}, nil
}

// deaf takes requests and does not answer, so that nothing but Send is measured.
type deaf struct{}

func (deaf) Put(ctx context.Context, _ []byte) (producer.Answer, error) {
	<-ctx.Done()
	return producer.Answer{}, ctx.Err()
}

// hundred is a body of 100 bytes.
var hundred = []byte(`{"order":"0123456789","customer":"0123456789","total":"0123456789","items":[1,2,3,4,5,6,7,8,9,10,11]}`)

func hot(tb testing.TB, transport producer.Transport) *producer.Producer {
	p := check.Get(producer.New(transport, &producer.Options{MaxBytes: 4 << 30, QueueBytes: 2 << 30, RequestBytes: 4 << 20}))
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		if _, is := transport.(deaf); is {
			cancel()
		}
		defer cancel()
		_ = p.Close(ctx)
	})
	return p
}

// BenchmarkSend is a message from Send to its batch; Whole is all up to its answer, but for HTTP.
func BenchmarkSend(b *testing.B) {
	for _, kind := range []struct {
		name string
		to   producer.Transport
	}{{"Send", deaf{}}, {"Whole", sink{}}} {
		for _, queues := range []int{1, 16, 1000} {
			b.Run(fmt.Sprintf("%s/queues=%d", kind.name, queues), func(b *testing.B) {
				p := hot(b, kind.to)
				names := make([]string, queues)
				for i := range names {
					names[i] = fmt.Sprint("queue-", i)
				}
				b.ReportAllocs()
				began := cpu(b)
				i := int64(0)
				for b.Loop() {
					if _, err := p.Send(b.Context(), producer.Message{Queue: names[i%int64(queues)], Seq: &i, Body: hundred}); err != nil {
						b.Fatal(err)
					}
					i++
				}
				if _, is := kind.to.(deaf); !is {
					_ = p.Flush(b.Context())
				}
				b.ReportMetric(float64((cpu(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
