package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// acking prints what the last stamps of a chain cost, ours beside the algorithm
// of xor-ack-dynamodb, on one server; what lost responses do to both; and what
// a tree of 100,000 edges costs.
func acking(ctx context.Context, out io.Writer) error {
	server, err := localdb.Start(ctx, localdb.Choose(), "")
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(out, "==> acks: N finish one chain at once; write + read units and attempts a stamp, and all of it in time, on %s\n", server.Kind)
	fmt.Fprintf(out, "    %-6s %-30s %-30s %-36s %s\n", "N", "ours, edges", "ours, stamps of 8 bytes", "xor-ack-dynamodb, tries at once", "xor-ack-dynamodb, full jitter")
	for _, n := range []int{1, 4, 16, 64, 256, 1000} {
		row := fmt.Sprintf("    %-6d", n)
		for _, measure := range []func(context.Context, *ackBench, int) (string, error){
			finishEdges, finishStamps, finishOlder(atOnce), finishOlder(fullJitter),
		} {
			b, err := newAckBench(ctx, server.Endpoint, 0)
			if err != nil {
				return err
			}
			figure, err := measure(ctx, b, n)
			if err != nil {
				return err
			}
			row += " " + figure
		}
		fmt.Fprintln(out, row)
	}
	if err := lostResponses(ctx, out, server.Endpoint); err != nil {
		return err
	}
	return bigTree(ctx, out, server.Endpoint)
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

// newAckBench makes fresh tables. Of every `one in lost` requests the response
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
	// Nobody reads the stream, and dynoxide's writes get slower with it.
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

// finish lets n finish at once, and says what a stamp cost.
func (b *ackBench) finish(n int, one func(i int) (attempts int, acked bool, err error)) (string, error) {
	var attempts, acked atomic.Int64
	var failed atomic.Pointer[error]
	before, began := b.meter.Counts(), time.Now()
	sideBySide(n, n, func(i int) {
		tried, done, err := one(i)
		if err != nil {
			failed.Store(&err)
		}
		attempts.Add(int64(tried))
		if done {
			acked.Add(1)
		}
	})
	if err := failed.Load(); err != nil {
		return "", *err
	}
	took, count := time.Since(began), b.meter.Counts().Sub(before).Total()
	if acked.Load() != 1 {
		return "", fmt.Errorf("%d of %d were answered that the chain is acked", acked.Load(), n)
	}
	per := func(x float64) float64 { return x / float64(n) }
	return fmt.Sprintf("%-29s", fmt.Sprintf("%.2f + %.2f, %.1f, %s", per(count.Writes), per(count.Reads), per(float64(attempts.Load())), took.Round(time.Millisecond))), nil
}

func finishEdges(ctx context.Context, b *ackBench, n int) (string, error) {
	created, err := b.acker.Create(ctx, "database/file-000013", &xorack.CreateOptions{Edges: n})
	if err != nil {
		return "", err
	}
	return b.finish(n, func(i int) (int, bool, error) {
		r, err := b.acker.Done(ctx, created.Roots[i])
		return 1, r.Outcome == xorack.Ended, err
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

func finishStamps(ctx context.Context, b *ackBench, n int) (string, error) {
	if n >= xorack.MaxOps {
		return fmt.Sprintf("%-29s", "-"), nil
	}
	each, all := eightBytes(n)
	if _, err := b.stamper.Create(ctx, "database/file-000013", all, nil); err != nil {
		return "", err
	}
	return b.finish(n, func(i int) (int, bool, error) {
		state, err := b.stamper.Stamp(ctx, "database/file-000013", each[i], nil)
		return 1, state.Outcome == xorack.Ended, err
	})
}

// finishOlder stops at 64: each one more costs as much as all before.
func finishOlder(wait func(int) time.Duration) func(context.Context, *ackBench, int) (string, error) {
	return func(ctx context.Context, b *ackBench, n int) (string, error) {
		if n > 64 {
			return fmt.Sprintf("%-35s", "-"), nil
		}
		x := &xorAck{client: b.client, table: b.older, wait: wait}
		each, all := eightBytes(n)
		if err := x.create(ctx, "database/file-000013", all); err != nil {
			return "", err
		}
		figure, err := b.finish(n, func(i int) (int, bool, error) { return x.stamp(ctx, "database/file-000013", each[i]) })
		return fmt.Sprintf("%-35s", figure), err
	}
}

// losing loses the response of one request in so many, after its effect.
type losing struct {
	next http.RoundTripper
	one  int
}

var errLost = errors.New("response lost")

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
func lostResponses(ctx context.Context, out io.Writer, endpoint string) error {
	const chains, edges = 30, 20
	b, err := newAckBench(ctx, endpoint, 20)
	if err != nil {
		return err
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
			return err
		}
		ended := false
		for _, stamp := range stamps {
			again(func() error {
				_, acked, err := x.stamp(ctx, tag, stamp)
				ended = ended || acked
				return err
			})
		}
		if !ended {
			olderWrong++
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(out, "    5 %% of the responses lost and said again: ours %.3f units an operation, %d of %d chains end wrong; xor-ack-dynamodb: %d of %d\n",
		units/(chains*edges), wrong, chains, olderWrong, chains)
	return nil
}

// bigTree is a tree of 100,000 edges in a fan. It must not cost more an edge than
// the smaller ones, which the tests pin.
func bigTree(ctx context.Context, out io.Writer, endpoint string) error {
	const edges = 100_000
	b, err := newAckBench(ctx, endpoint, 0)
	if err != nil {
		return err
	}
	created, err := b.acker.Create(ctx, "campaign/autumn-2026", nil)
	if err != nil {
		return err
	}
	leaves := created.Root.Fan(edges)
	var failed atomic.Pointer[error]
	before, began := b.meter.Counts(), time.Now()
	if _, err := b.acker.Fan(ctx, created.Root, edges); err != nil {
		return err
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
		return *err
	}
	count, took := b.meter.Counts().Sub(before), time.Since(began)
	chain, err := b.plain.Chain(ctx, created.Chain.Tag)
	if err != nil || chain.End() != xorack.Done {
		return fmt.Errorf("the tree is %q, %w", chain.End(), err)
	}
	fmt.Fprintf(out, "    a tree of %d edges in a fan: %.4f write units an edge, index included, %.4f read units, %s\n",
		edges, count.Total().Writes/edges, count.Total().Reads/edges, took.Round(time.Second))
	if count.Total().Writes > 1.06*edges {
		return fmt.Errorf("%v: want 1.06 units an edge or less", count)
	}
	return nil
}
