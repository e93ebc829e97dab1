//go:build whole

// Package bench_test measures what is the same on no two machines, beside what is: `make bench`
// writes it into docs/reference/figures.md. What a benchmark compares is measured in turn, so that
// what else the machine does slows both.
package bench_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

const root = "../.."

var write = flag.Bool("write", false, "write what is measured into docs/reference/figures.md")

// measured is the table of a benchmark, whose rows it reports as metrics.
type measured struct {
	*testing.B
	figures.Table
}

// row adds a row of ours, in a unit, and reports it.
func (m *measured) row(r figures.Row, ours float64, unit string) {
	m.ReportMetric(ours, strings.ReplaceAll(r.Name, " ", "_")+"-"+strings.ReplaceAll(unit, " ", "_"))
	m.Rows = append(m.Rows, r)
}

// end writes the table into the page, where that is asked for.
func (m *measured) end(name string) {
	m.Helper()
	m.ReportMetric(0, "ns/op") // says nothing
	text, err := m.Text()
	if err == nil && *write {
		err = figures.File(root).Measured(name, m.Table)
	}
	check.OK(m, err)
	m.Log("\n" + text)
}

const (
	rounds, each = 5, time.Second
	// writers are those of bare puts.
	writers = 8
)

// BenchmarkQueue measures how many messages a second one queue takes, beside bare conditional puts
// to one partition of the same server, and what its units allow on AWS.
func BenchmarkQueue(b *testing.B) {
	m := &measured{b, figures.Table{
		Title: "Messages a second of one queue",
		About: fmt.Sprintf("By the library, in turn with %d writers' bare conditional puts to one partition of DynamoDB Local, %d times %v each. "+
			"The limit is what those puts would store. It is a request a message and a move for all, or two requests for a hundred in one item.", writers, rounds, each),
		Case: "what", Others: []string{"bare conditional puts", "on AWS, by a partition's units",
			"SQS FIFO on AWS, a message group"},
	}}
	const alone = "one writer stores, and then moves the position; the puts come from all writers"
	for _, w := range []struct {
		name          string
		writers, size int // messages that each puts at once
		kind          cursor.Kind
		// requests are those that write a message at least: singles that are put at the same time
		// can have one move for all.
		requests, onAWS float64
		why             string
	}{
		{
			"singles", writers, 1, cursor.KindNumbered, 1 + 1.0/writers, cost.QueueRate,
			"each message is stored before the position moves over it; of concurrent moves all but one are refused, and read",
		},
		{"batches of 25", 1, 25, cursor.KindNumbered, 1 + 1.0/25, cost.QueueRate, alone},
		{
			"batches of 100, appended", 1, 100, cursor.KindArrival, 2.0 / 100,
			cost.Workload{Batch: 100, Disorder: cost.InOrder}.AppendRate(), alone,
		},
	} {
		server, err := localdb.Start(b.Context(), localdb.DynamoDBLocal, "")
		check.OK(b, err)
		sorter, err := cursor.New(freshStore(b, server.Endpoint), nil)
		check.OK(b, err)
		bareStore := freshStore(b, server.Endpoint)
		var ours, bare float64
		var next, nextBare atomic.Int64
		for round := range 1 + rounds { // the first is to warm up
			a := rate(b, w.writers, w.size, func(ctx context.Context) error {
				return sorter.Put(ctx, batch(next.Add(int64(w.size))-int64(w.size)+1, w.size, w.kind)...)[0].Err
			})
			c := rate(b, writers, 1, func(ctx context.Context) error {
				_, err := bareStore.Requests(queuelog.Inside{}).PutMessage(ctx, bareMessage(nextBare.Add(1)))
				return err
			})
			if round > 0 {
				ours, bare = ours+a/rounds, bare+c/rounds
			}
		}
		server.Close()
		limit := bare / w.requests
		m.row(figures.Row{
			Name: fmt.Sprintf("%s, %d at a time", w.name, w.writers), Why: w.why,
			Limit: aSecond(limit), Ours: aSecond(ours), Ratio: limit / ours,
			// A message group takes 300 calls, of ten messages at most.
			Others: []string{aSecond(bare), aSecond(w.onAWS), aSecond(float64(300 * min(w.size, 10)))},
		}, ours, "messages/s")
	}
	m.end("queue")
}

func aSecond(n float64) string { return fmt.Sprintf("%.0f a second", n) }

// rate is how many a second so many writers do, of which each does size at once.
func rate(b *testing.B, writers, size int, do func(context.Context) error) float64 {
	b.Helper()
	var done atomic.Int64
	began := time.Now()
	group, ctx := errgroup.WithContext(b.Context())
	for range writers {
		group.Go(func() error {
			for time.Since(began) < each {
				if err := do(ctx); err != nil {
					return err
				}
				done.Add(int64(size))
			}
			return nil
		})
	}
	check.OK(b, group.Wait())
	return float64(done.Load()) / time.Since(began).Seconds()
}

// freshStore is a store on tables of its own.
func freshStore(b *testing.B, endpoint string) *cursor.Store {
	b.Helper()
	client, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	check.OK(b, err)
	suffix := localdb.Suffix()
	names := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix,
		Trouble: "trouble" + suffix, Arrivals: "arrivals" + suffix}
	check.OK(b, table.Create(b.Context(), client, append(names.Tables(), names.ArrivalsTable())...))
	store, err := cursor.NewDynamo(client, names)
	check.OK(b, err)
	return store
}

// batch are messages of 100 bytes of JSON.
func batch(first int64, size int, kind cursor.Kind) []cursor.Message {
	messages := make([]cursor.Message, size)
	for i := range messages {
		seq := first + int64(i)
		text := fmt.Sprintf(`{"n":%d,"text":"as any other, `, seq)
		messages[i] = cursor.Message{Queue: "one", Seq: seq, Kind: kind,
			Body: []byte(text + strings.Repeat("-", 98-len(text)) + `"}`)}
	}
	return messages
}

// bareMessage is what a bare put stores.
func bareMessage(seq int64) cursor.Message {
	return cursor.Message{
		Queue: "one", Seq: seq, Body: fmt.Appendf(nil, "%-100d", seq), Digest: make([]byte, 16),
		Op: make([]byte, 8), EnqueuedAt: time.Now(),
	}
}
