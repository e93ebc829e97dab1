//go:build whole

// Package bench_test measures what is the same on no two machines, beside what is: `make bench`
// writes it into docs/reference/figures.md. What a benchmark compares is measured in turn, so that
// what else the machine does slows both.
package bench_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// BenchmarkFunction measures the size of the enqueue function as it deploys, and its start, beside
// an empty handler's.
func BenchmarkFunction(b *testing.B) {
	m := &measured{b, figures.Table{
		Title: "The enqueue function",
		About: "Built as it deploys, for arm64, and started on this machine 20 times, in turn with its limit: a Go function that does nothing.",
		Case:  "what",
	}}
	const more = "it contains AWS's DynamoDB client, the sorter and the API"
	var size, zip [2]float64
	var here [2]string
	for i, source := range []string{"./functions/enqueue", "./verify/bench/empty"} {
		deployed := filepath.Join(b.TempDir(), "bootstrap")
		build(b, "arm64", source, deployed)
		size[i], zip[i] = sizes(b, deployed)
		here[i] = filepath.Join(b.TempDir(), "bootstrap")
		build(b, "", source, here[i])
	}
	var took [2][]time.Duration
	for range 20 {
		for i, path := range here {
			took[i] = append(took[i], start(b, path))
		}
	}
	row := func(name, format, unit string, of [2]float64, why string) {
		format += " " + unit
		m.row(figures.Row{Name: name, Limit: fmt.Sprintf(format, of[1]), Ours: fmt.Sprintf(format, of[0]),
			Ratio: of[0] / of[1], Why: why}, of[0], unit)
	}
	row("binary", "%.2f", "MB", size, more)
	row("zip, by gzip -9", "%.2f", "MB", zip, more)
	row("from its spawn to its first poll, median", "%.1f", "ms",
		[2]float64{median(took[0]), median(took[1])},
		"more is initialised, and it reads its settings and makes its client before it polls")
	m.end("function")
}

// build compiles a function with the flags of a deployment.
func build(b *testing.B, arch, source, target string) {
	b.Helper()
	command := exec.CommandContext(b.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-tags",
		"lambda.norpc,nethttpomithttp2",
		"-ldflags", "-s -w", "-o", target, source)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if arch != "" {
		command.Env = append(command.Env, "GOARCH="+arch)
	}
	out, err := command.CombinedOutput()
	check.Need(b, err == nil, "%v: %s", err, out)
}

// sizes are a binary's, and the same compressed, in MB.
func sizes(b *testing.B, path string) (size, zipped float64) {
	b.Helper()
	binary, err := os.ReadFile(path)
	check.OK(b, err)
	var out bytes.Buffer // which never fails
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = zip.Write(binary)
	_ = zip.Close()
	return float64(len(binary)) / 1e6, float64(out.Len()) / 1e6
}

// median is that of some times, in milliseconds, and percentile one of a hundred of them.
func median(times []time.Duration) float64 { return percentile(times, 50) }

func percentile(times []time.Duration, n int) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)*n/100].Seconds() * 1000
}

// start starts a function against a Runtime API that only sees it poll, and returns how long that
// took.
func start(b *testing.B, path string) time.Duration {
	b.Helper()
	polled := make(chan time.Time, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case polled <- time.Now():
		default:
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	process := exec.CommandContext(b.Context(), path)
	process.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + server.Listener.Addr().String(), "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x",
		"AWS_LAMBDA_FUNCTION_NAME=bench", "STREAMSORT_MESSAGES_TABLE=messages", "STREAMSORT_CURSORS_TABLE=cursors", "STREAMSORT_TROUBLE_TABLE=trouble",
	}
	began := time.Now()
	check.OK(b, process.Start())
	defer func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}()
	return (<-polled).Sub(began)
}
