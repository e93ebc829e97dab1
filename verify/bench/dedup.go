package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/table"
)

// effect is work that is to be done once; its result is remembered.
type effect func(context.Context) (string, error)

// onceer is one process of a library that does work once: ours, or another's
// algorithm after its description.
type onceer interface {
	// once does the work or returns its result.
	once(ctx context.Context, id string, work effect) (string, error)
	// begin claims an id for a process that dies right after.
	begin(ctx context.Context, id string) error
}

// The libraries that are compared, each on a table as its description gives it.
const (
	longestRun = 2 * time.Second // how long a run may take before it counts as dead
	keepFor    = 24 * time.Hour
)

// library makes processes on a fresh table.
type library struct {
	name    string
	names   dedup.Names
	process func(client *dynamodb.Client, names dedup.Names) (onceer, error)
	// seen: every process has seen such work before.
	seen bool
}

func libraries() []library {
	return []library{
		{name: "ours", process: newOurs(nil)},
		{name: "ours, seen before", process: newOurs(nil), seen: true},
		{name: "ours, looking first", process: newOurs(&dedup.Options[string, string]{LookFirst: true, Lease: longestRun})},
		{name: "Mnemosyne", process: func(c *dynamodb.Client, n dedup.Names) (onceer, error) {
			return &mnemosyne{client: c, table: n.Table}, nil
		}},
		{name: "mnemosyne-rs", process: func(c *dynamodb.Client, n dedup.Names) (onceer, error) {
			return &mnemosyne{client: c, table: n.Table, remembers: true}, nil
		}},
		{name: "Powertools", names: dedup.Names{OneKey: true}, process: func(c *dynamodb.Client, n dedup.Names) (onceer, error) {
			return &powertools{client: c, table: n.Table}, nil
		}},
	}
}

// ours is this project's.
type ours struct {
	*dedup.Deduplicator[string, string]
}

func newOurs(o *dedup.Options[string, string]) func(*dynamodb.Client, dedup.Names) (onceer, error) {
	if o == nil {
		o = &dedup.Options[string, string]{Lease: longestRun}
	}
	return func(client *dynamodb.Client, names dedup.Names) (onceer, error) {
		store, err := dedup.NewDynamo(client, names)
		if err != nil {
			return nil, err
		}
		d, err := dedup.New(store, "bench", o)
		return ours{d}, err
	}
}

func (d ours) once(ctx context.Context, id string, work effect) (string, error) {
	out, err := d.Once(ctx, id, work)
	return out.Value, err
}

func (d ours) begin(ctx context.Context, id string) error {
	_, err := d.TryStart(ctx, id)
	return err
}

// deduplication prints what each library's cases cost, on one server.
func deduplication(ctx context.Context, out io.Writer) error {
	server, err := localdb.Start(ctx, localdb.Choose(), "")
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(out, "==> work done once, in write and read units and dollars a million times, beside others' algorithms, on %s\n", server.Kind)
	fmt.Fprintf(out, "    %-20s %-18s %-18s %-18s %-26s %s\n", "", "new", "duplicate", "duplicate, 10 KB", "1 runs 1 s, 99 wait", "runs of 100 after a time-out")
	crowds := map[string]float64{}
	for _, l := range libraries() {
		row := fmt.Sprintf("    %-20s", l.name)
		for _, measure := range []func(context.Context, *bench) (string, error){
			costOfNew, costOfDuplicate(20), costOfDuplicate(10_000), costOfCrowd, runsAfterTimeOut,
		} {
			b, err := l.on(ctx, server.Endpoint)
			if err != nil {
				return err
			}
			figure, err := measure(ctx, b)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			row += figure
			if b.crowded > 0 {
				crowds[l.name] = b.crowded
			}
		}
		fmt.Fprintln(out, row)
	}
	quoted := meter.Count{Writes: 355}.Dollars()
	for _, l := range libraries() {
		if strings.HasPrefix(l.name, "ours") {
			fmt.Fprintf(out, "    99 wait on 1 s, %s: %.1f times cheaper than the 355 write units ($%.1f) that Mnemosyne was measured at, %.1f times than its algorithm above\n",
				l.name, quoted/crowds[l.name], quoted, crowds["Mnemosyne"]/crowds[l.name])
		}
	}
	return nil
}

// bench is a library on a table of its own, with a meter between.
type bench struct {
	library
	client *dynamodb.Client
	meter  *meter.Meter
	// crowded is what costOfCrowd came to, in dollars a million times.
	crowded float64
}

func (l library) on(ctx context.Context, endpoint string) (*bench, error) {
	b := &bench{library: l, meter: meter.New(dynamo.Transport())}
	var err error
	if b.client, err = dynamo.New(&dynamo.Options{Endpoint: endpoint, Transport: b.meter}); err != nil {
		return nil, err
	}
	b.names.Table = "processes" + localdb.Suffix()
	if err := table.Create(ctx, b.client, b.names.Tables()...); err != nil {
		return nil, err
	}
	return b, nil
}

// cost is what a piece of work comes to.
func (b *bench) cost(do func() error) (meter.Count, error) {
	before := b.meter.Counts()
	err := do()
	return b.meter.Counts().Sub(before).Total(), err
}

func figure(c meter.Count) string {
	return fmt.Sprintf(" %-18s", fmt.Sprintf("%.0f + %.1f $%.2f", c.Writes, c.Reads, c.Dollars()))
}

// result is work that has a result of a size that does not compress.
func result(size int) effect {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	text := make([]byte, size)
	for i := range text {
		text[i] = byte('0' + random.IntN(75))
		if text[i] == '<' || text[i] == '>' || text[i] == '\\' {
			text[i] = '-'
		}
	}
	return func(context.Context) (string, error) { return string(text), nil }
}

func costOfNew(ctx context.Context, b *bench) (string, error) {
	p, err := b.process(b.client, b.names)
	if err != nil {
		return "", err
	}
	c, err := b.cost(func() error { _, err := p.once(ctx, "a", result(20)); return err })
	return figure(c), err
}

func costOfDuplicate(size int) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		p, err := b.process(b.client, b.names)
		if err != nil {
			return "", err
		}
		if _, err := p.once(ctx, "a", result(size)); err != nil {
			return "", err
		}
		c, err := b.cost(func() error { _, err := p.once(ctx, "a", result(size)); return err })
		return figure(c), err
	}
}

// processes makes n of them.
func (b *bench) processes(n int) ([]onceer, error) {
	all := make([]onceer, n)
	for i := range all {
		p, err := b.process(b.client, b.names)
		if err != nil {
			return nil, err
		}
		all[i] = p
	}
	return all, nil
}

// crowd lets processes call at once.
func crowd(all []onceer, call func(onceer) error) error {
	failed := make(chan error, len(all))
	for _, p := range all {
		go func() { failed <- call(p) }()
	}
	var errs []error
	for range all {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

// costOfCrowd is one process that works for a second, and 99 that come right
// after it.
func costOfCrowd(ctx context.Context, b *bench) (string, error) {
	all, err := b.processes(100)
	if err != nil {
		return "", err
	}
	started := make(chan struct{})
	second := func(context.Context) (string, error) {
		close(started)
		time.Sleep(time.Second)
		return "done", nil
	}
	if b.seen {
		for _, p := range all {
			if _, err := p.once(ctx, "before", second); err != nil {
				return "", err
			}
		}
		started = make(chan struct{})
	}
	c, err := b.cost(func() error {
		done := make(chan error, 1)
		go func() {
			_, err := all[0].once(ctx, "a", second)
			done <- err
		}()
		<-started
		err := crowd(all[1:], func(p onceer) error { _, err := p.once(ctx, "a", result(20)); return err })
		return errors.Join(err, <-done)
	})
	b.crowded = c.Dollars()
	return fmt.Sprintf(" %-26s", fmt.Sprintf("%.0f + %.1f $%.1f", c.Writes, c.Reads, c.Dollars())), err
}

// runsAfterTimeOut is how many of 100 processes run the work, whose first owner
// has died.
func runsAfterTimeOut(ctx context.Context, b *bench) (string, error) {
	dead, err := b.process(b.client, b.names)
	if err != nil {
		return "", err
	}
	if err := dead.begin(ctx, "a"); err != nil {
		return "", err
	}
	// Its time, and the margin between clocks.
	time.Sleep(longestRun + 2*time.Second + 100*time.Millisecond)
	var runs atomic.Int64
	all, err := b.processes(100)
	if err != nil {
		return "", err
	}
	err = crowd(all, func(p onceer) error {
		_, err := p.once(ctx, "a", func(context.Context) (string, error) {
			runs.Add(1)
			time.Sleep(500 * time.Millisecond)
			return "done", nil
		})
		return err
	})
	return fmt.Sprintf(" %d", runs.Load()), err
}
