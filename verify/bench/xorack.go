package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// acking measures what the last stamps of a chain cost, ours beside the algorithm
// of xor-ack-dynamodb, on one server; what lost responses do to both; and what
// a tree of 100,000 edges costs.
func acking(ctx context.Context) (figures.Measured, error) {
	m := figures.Measured{
		Title: "Acks as they come",
		About: "Workers that finish one chain at once: units an edge or stamp, without creating and sealing it, and the time of all. " +
			"The limit is a write each. xor-ack-dynamodb retries at once, or by full jitter.",
		Case: "workers", Others: []string{"ours, stamps of 8 bytes", "xor-ack-dynamodb, at once", "xor-ack-dynamodb, full jitter"},
	}
	server, err := localdb.Start(ctx, localdb.Choose(), "")
	if err != nil {
		return m, err
	}
	defer server.Close()
	m.About += " The server is " + string(server.Kind) + "."
	for _, n := range []int{1, 4, 16, 64, 256, 1000} {
		r := figures.MeasuredRow{
			Name: fmt.Sprint(n), Limit: "1 W",
			Why: "a chain stores 8 bytes of each ended edge, so that repeats do not count, and exceeds 1 KB from a hundred on: more fan out",
		}
		for i, measure := range []func(context.Context, *ackBench, int) (meter.Count, string, error){
			finishEdges, finishStamps, finishOlder(atOnce), finishOlder(fullJitter),
		} {
			b, err := newAckBench(ctx, server.Endpoint, 0)
			if err != nil {
				return m, err
			}
			each, figure, err := measure(ctx, b, n)
			if err != nil {
				return m, err
			}
			if i == 0 {
				r.Ours, r.Ratio = figure, each.Dollars()/(meter.Count{Writes: 1}).Dollars()
				continue
			}
			r.Others = append(r.Others, figure)
		}
		m.Rows = append(m.Rows, r)
	}
	for _, measure := range []func(context.Context, string) (figures.MeasuredRow, error){lostResponses, bigTree} {
		r, err := measure(ctx, server.Endpoint)
		if err != nil {
			return m, err
		}
		m.Rows = append(m.Rows, r)
	}
	return m, nil
}

// ackBench is a chains' table, and one of xor-ack-dynamodb, with a meter
// between.
type ackBench struct {
	client  *dynamodb.Client
	meter   *meter.Meter
	acker   *xorack.Acker
	stamper *stamps.Stamper
	// plain is not metered.
	plain *xorack.Store
	older string
}

// newAckBench makes fresh tables. The response of one in lost requests
// is lost after the effect, where lost is not 0; the SDK then repeats none.
func newAckBench(ctx context.Context, endpoint string, lost int) (*ackBench, error) {
	b := &ackBench{meter: meter.New(dynamo.Transport()), older: "older" + localdb.Suffix()}
	options := &dynamo.Options{Endpoint: endpoint, Transport: b.meter}
	if lost > 0 {
		options.Transport, options.MaxAttempts = &losing{next: b.meter, one: lost}, 1
	}
	var err error
	if b.client, err = dynamo.New(options); err != nil {
		return nil, err
	}
	calm, err := dynamo.New(&dynamo.Options{Endpoint: endpoint, Transport: b.meter})
	if err != nil {
		return nil, err
	}
	names := xorack.Names{Chains: "chains" + localdb.Suffix()}
	definition := names.Tables()[0]
	// No handler reads the stream, and dynoxide's writes get slower with it.
	definition.Stream = ""
	if err := table.Create(ctx, calm, definition); err != nil {
		return nil, err
	}
	definition.Name, definition.Index.Name, definition.TTL = b.older, "", ""
	if err := table.Create(ctx, calm, definition); err != nil {
		return nil, err
	}
	store, err := xorack.NewDynamo(b.client, names)
	if err != nil {
		return nil, err
	}
	unmetered, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	if err != nil {
		return nil, err
	}
	if b.plain, err = xorack.NewDynamo(unmetered, names); err != nil {
		return nil, err
	}
	if b.acker, err = xorack.New(store, &xorack.Options{ForEach: together}); err != nil {
		return nil, err
	}
	b.stamper = stamps.New(b.acker)
	return b, nil
}

// together runs do(0) … do(n-1), up to 64 at a time.
func together(n int, do func(i int)) { sideBySide(64, n, do) }

func sideBySide(width, n int, do func(i int)) {
	var wait sync.WaitGroup
	places := make(chan struct{}, width)
	for i := range n {
		places <- struct{}{}
		wait.Go(func() {
			do(i)
			<-places
		})
	}
	wait.Wait()
}

// finish lets n finish at once, and returns what a stamp cost, and that as text.
func (b *ackBench) finish(n int, one func(i int) (acked bool, err error)) (meter.Count, string, error) {
	var acked atomic.Int64
	var failed atomic.Pointer[error]
	before, began := b.meter.Counts(), time.Now()
	sideBySide(n, n, func(i int) {
		done, err := one(i)
		if err != nil {
			failed.Store(&err)
		}
		if done {
			acked.Add(1)
		}
	})
	if err := failed.Load(); err != nil {
		return meter.Count{}, "", *err
	}
	took, count := time.Since(began), b.meter.Counts().Sub(before).Total()
	if acked.Load() != 1 {
		return count, "", fmt.Errorf("%d of %d were answered that the chain is acked", acked.Load(), n)
	}
	count.Writes, count.Reads = count.Writes/float64(n), count.Reads/float64(n)
	return count, fmt.Sprintf("%s, %s", figures.Units{Writes: count.Writes, Reads: count.Reads}, took.Round(time.Millisecond)), nil
}

func finishEdges(ctx context.Context, b *ackBench, n int) (meter.Count, string, error) {
	created, err := b.acker.Create(ctx, "database/file-000013", &xorack.CreateOptions{Edges: n})
	if err != nil {
		return meter.Count{}, "", err
	}
	return b.finish(n, func(i int) (bool, error) {
		r, err := b.acker.Done(ctx, created.Roots[i])
		return r.Outcome == xorack.Ended, err
	})
}

// eightBytes are n random stamps, and what they come to.
func eightBytes(n int) (each [][]byte, all []byte) {
	each = make([][]byte, n)
	for i := range each {
		each[i] = make([]byte, 8)
		_, _ = rand.Read(each[i]) // never fails
	}
	if n == 1 {
		return each, each[0]
	}
	state, err := stamps.XOR(each...)
	if err != nil {
		panic(err) // unreachable: they have one length
	}
	return each, state.Stamp
}

func finishStamps(ctx context.Context, b *ackBench, n int) (meter.Count, string, error) {
	if n >= xorack.MaxOps {
		return meter.Count{}, "", nil
	}
	each, all := eightBytes(n)
	if _, err := b.stamper.Create(ctx, "database/file-000013", all, nil); err != nil {
		return meter.Count{}, "", err
	}
	return b.finish(n, func(i int) (bool, error) {
		state, err := b.stamper.Stamp(ctx, "database/file-000013", each[i], nil)
		return state.Outcome == xorack.Ended, err
	})
}

// finishOlder stops at 64: each one more costs as much as all before.
func finishOlder(wait func(int) time.Duration) func(context.Context, *ackBench, int) (meter.Count, string, error) {
	return func(ctx context.Context, b *ackBench, n int) (meter.Count, string, error) {
		if n > 64 {
			return meter.Count{}, "", nil
		}
		x := &xorAck{client: b.client, table: b.older, wait: wait}
		each, all := eightBytes(n)
		if err := x.create(ctx, "database/file-000013", all); err != nil {
			return meter.Count{}, "", err
		}
		return b.finish(n, func(i int) (bool, error) { return x.stamp(ctx, "database/file-000013", each[i]) })
	}
}

// losing loses the response of one request in so many, after its effect.
type losing struct {
	next http.RoundTripper
	one  int
}

var (
	errLost = errors.New("response lost")
	none    figures.MeasuredRow
)

func (l *losing) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil || mathrand.IntN(l.one) > 0 {
		return response, err
	}
	_ = response.Body.Close()
	return nil, errLost
}

// lostResponses lets chains of 20 edges be finished while 5 % of the responses
// are lost, and a caller that gets none says the same again.
func lostResponses(ctx context.Context, endpoint string) (figures.MeasuredRow, error) {
	const chains, edges = 30, 20
	b, err := newAckBench(ctx, endpoint, 20)
	if err != nil {
		return none, err
	}
	again := func(do func() error) {
		for do() != nil && ctx.Err() == nil {
		}
	}
	wrong, olderWrong := 0, 0
	units := 0.0
	x := &xorAck{client: b.client, table: b.older, wait: atOnce}
	for i := range chains {
		tag := fmt.Sprint("chain ", i)
		var created xorack.Created
		again(func() error {
			created, err = b.acker.Create(ctx, tag, &xorack.CreateOptions{Edges: edges})
			return err
		})
		before := b.meter.Counts()
		for _, edge := range created.Roots {
			again(func() error { _, err := b.acker.Done(ctx, edge); return err })
		}
		units += b.meter.Counts().Sub(before).Total().Writes
		if c, err := b.plain.Chain(ctx, tag); err != nil || c.End() != xorack.Done {
			wrong++
		}
		stamps, all := eightBytes(edges)
		if err := x.create(ctx, tag, all); err != nil && !errors.Is(err, errLost) {
			return none, err
		}
		ended := false
		for _, stamp := range stamps {
			again(func() error {
				acked, err := x.stamp(ctx, tag, stamp)
				ended = ended || acked
				return err
			})
		}
		if !ended {
			olderWrong++
		}
	}
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	each := units / (chains * edges)
	wrongs := func(n int) string { return fmt.Sprintf("%d of %d chains wrong", n, chains) }
	return figures.MeasuredRow{
		Name: fmt.Sprintf("%d, 5 %% of the responses lost and said again", edges), Limit: "1.053 W", Ours: fmt.Sprintf("%.3f W, %s", each, wrongs(wrong)), Ratio: each * 0.95,
		Others: []string{"", wrongs(olderWrong)}, Why: "so many responses were lost by chance",
	}, nil
}

// bigTree is a tree of 100,000 edges in a fan. It must not cost more an edge than
// the smaller ones, which the tests pin.
func bigTree(ctx context.Context, endpoint string) (figures.MeasuredRow, error) {
	const edges = 100_000
	b, err := newAckBench(ctx, endpoint, 0)
	if err != nil {
		return none, err
	}
	created, err := b.acker.Create(ctx, "campaign/autumn-2026", nil)
	if err != nil {
		return none, err
	}
	leaves := created.Root.Fan(edges)
	var failed atomic.Pointer[error]
	before, began := b.meter.Counts(), time.Now()
	if _, err := b.acker.Fan(ctx, created.Root, edges); err != nil {
		return none, err
	}
	together(edges, func(i int) {
		r, err := b.acker.Done(ctx, leaves[i])
		// What the stream's handler does for each chain that ends, and for the
		// chain above it that ends with it.
		for c := r.Chain; err == nil && r.Outcome == xorack.Ended && c.Sub; {
			if _, err = b.acker.Finish(ctx, c, nil); err == nil {
				c, err = b.plain.Chain(ctx, c.Parent.Tag())
			}
			if c.End() == xorack.Open {
				break
			}
		}
		if err != nil {
			failed.Store(&err)
		}
	})
	if err := failed.Load(); err != nil {
		return none, *err
	}
	count, took := b.meter.Counts().Sub(before), time.Since(began)
	chain, err := b.plain.Chain(ctx, created.Chain.Tag)
	if err != nil || chain.End() != xorack.Done {
		return none, fmt.Errorf("the tree is %q, %w", chain.End(), err)
	}
	total := count.Total()
	if total.Writes > 1.06*edges {
		return none, fmt.Errorf("%v: want 1.06 units an edge or less", count)
	}
	each := meter.Count{Writes: total.Writes / edges, Reads: total.Reads / edges}
	return figures.MeasuredRow{
		Name: fmt.Sprintf("64, a tree of %d edges in a fan, index included", edges), Limit: "1 W", Ours: fmt.Sprintf("%v, %s", figures.Units{Writes: each.Writes, Reads: each.Reads}, took.Round(time.Second)),
		Ratio: each.Dollars() / (meter.Count{Writes: 1}).Dollars(),
	}, nil
}
