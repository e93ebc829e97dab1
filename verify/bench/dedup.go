package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/figures"
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
	// ours, or another's; seen: every process has seen such work before.
	ours, seen bool
}

func libraries() []library {
	return []library{
		{name: "ours", process: newOurs, ours: true},
		{name: "seen before", process: newOurs, ours: true, seen: true},
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

func newOurs(client *dynamodb.Client, names dedup.Names) (onceer, error) {
	store, err := dedup.NewDynamo(client, names)
	if err != nil {
		return nil, err
	}
	d, err := dedup.New(store, "bench", &dedup.Options[string, string]{Lease: longestRun})
	return ours{d}, err
}

func (d ours) once(ctx context.Context, id string, work effect) (string, error) {
	out, err := d.Once(ctx, id, work)
	return out.Value, err
}

func (d ours) begin(ctx context.Context, id string) error {
	_, err := d.TryStart(ctx, id)
	return err
}

// figure is what a case came to.
type figure struct {
	text string
	// amount is what is compared: dollars, or how often something ran.
	amount float64
}

func figureOf(c meter.Count) figure {
	return figure{figures.Units{Writes: c.Writes, Reads: c.Reads}.String() + fmt.Sprintf(", $%.2f", c.Dollars()), c.Dollars()}
}

func dollars(writes, reads float64) figure {
	return figureOf(meter.Count{Writes: writes, Reads: reads})
}

const (
	whyClaims = "every 64th call of a process claims first"
	whyLarge  = "a larger result has its own item, so that claims stay cheap, and is read after the row"
	whyWaits  = "no process is notified: each polls, when such work usually ends if it has seen some"
)

// onceCases are the cases that libraries are compared in.
var onceCases = []struct {
	name    string
	limit   figure
	measure func(context.Context, *bench) (figure, error)
	why     string
}{
	{"new, half are duplicates", dollars(2, 0), costInStream(true), ""},
	{"duplicate, half are new", dollars(0, 0.5), costInStream(false), whyClaims},
	{"duplicate, 10 KB", dollars(0, 1.5), costOfDuplicate(10_000), whyLarge},
	{"1 runs 1 s, 99 wait", dollars(2, 99*0.5), costOfCrowd(99), whyWaits},
	{"runs of 100 after a time-out", figure{"1", 1}, runsAfterTimeOut, ""},
}

// deduplication measures what each library's cases cost, on one server.
func deduplication(ctx context.Context) (figures.Measured, error) {
	m := figures.Measured{
		Title: "Work done once, on a server",
		About: "Units, and dollars a million times. Others run as their descriptions say. The limit is a write to begin, one for the result, and a read by each of the others. " +
			"*Seen before* is of processes that saw such work end. " +
			"Mnemosyne remembers no result.",
		Case: "work",
	}
	server, err := localdb.Start(ctx, localdb.Choose(), "")
	if err != nil {
		return m, err
	}
	defer server.Close()
	m.About += " The server is " + string(server.Kind) + "."
	for _, l := range libraries() {
		if !l.ours {
			m.Others = append(m.Others, l.name)
		}
	}
	for _, c := range onceCases {
		var rows []figures.MeasuredRow
		var others []string
		for _, l := range libraries() {
			b, err := l.on(ctx, server.Endpoint)
			if err != nil {
				return m, err
			}
			f, err := c.measure(ctx, b)
			if err != nil {
				return m, fmt.Errorf("%s: %w", l.name, err)
			}
			switch {
			case !l.ours:
				others = append(others, f.text)
			case len(rows) == 0:
				rows = append(rows, figures.MeasuredRow{Name: c.name, Limit: c.limit.text, Ours: f.text, Ratio: f.amount / c.limit.amount, Why: c.why})
			case f.text != rows[0].Ours:
				rows = append(rows, figures.MeasuredRow{Name: c.name + ", " + l.name, Limit: c.limit.text, Ours: f.text, Ratio: f.amount / c.limit.amount, Why: c.why})
			}
		}
		for i := range rows {
			rows[i].Others = others
		}
		m.Rows = append(m.Rows, rows...)
	}
	return m, nil
}

// bench is a library on a table of its own, with a meter between.
type bench struct {
	library
	client *dynamodb.Client
	meter  *meter.Meter
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

// costInStream is what new work costs, or a duplicate, where every second call of a
// process is one.
func costInStream(ofNew bool) func(context.Context, *bench) (figure, error) {
	const pairs = 64
	return func(ctx context.Context, b *bench) (figure, error) {
		all, err := b.processes(2)
		if err != nil {
			return figure{}, err
		}
		if _, err := all[0].once(ctx, "done", result(20)); err != nil {
			return figure{}, err
		}
		var sum [2]meter.Count
		for n := range pairs {
			for kind, id := range []string{fmt.Sprint("new-", n), "done"} {
				c, err := b.cost(func() error { _, err := all[1].once(ctx, id, result(20)); return err })
				if err != nil {
					return figure{}, err
				}
				sum[kind].Writes += c.Writes
				sum[kind].Reads += c.Reads
			}
		}
		c := sum[1]
		if ofNew {
			c = sum[0]
		}
		return dollars(c.Writes/pairs, c.Reads/pairs), nil
	}
}

func costOfDuplicate(size int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		p, err := b.process(b.client, b.names)
		if err != nil {
			return figure{}, err
		}
		if _, err := p.once(ctx, "a", result(size)); err != nil {
			return figure{}, err
		}
		c, err := b.cost(func() error { _, err := p.once(ctx, "a", result(size)); return err })
		return figureOf(c), err
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

// costOfCrowd is one process that works for a second, and 99 calls that come right
// after it, in so many others.
func costOfCrowd(others int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		all, err := b.processes(1 + others)
		if err != nil {
			return figure{}, err
		}
		started := make(chan struct{})
		second := func(context.Context) (string, error) {
			close(started)
			time.Sleep(time.Second)
			return "done", nil
		}
		for i := 0; b.seen && i < len(all); i++ {
			if _, err := all[i].once(ctx, "before", second); err != nil {
				return figure{}, err
			}
		}
		started = make(chan struct{})
		waiters := make([]onceer, 99)
		for i := range waiters {
			waiters[i] = all[1+i%others]
		}
		c, err := b.cost(func() error {
			done := make(chan error, 1)
			go func() {
				_, err := all[0].once(ctx, "a", second)
				done <- err
			}()
			<-started
			err := crowd(waiters, func(p onceer) error { _, err := p.once(ctx, "a", result(20)); return err })
			return errors.Join(err, <-done)
		})
		return figureOf(c), err
	}
}

// runsAfterTimeOut is how many of 100 processes run the work, whose first owner
// has died.
func runsAfterTimeOut(ctx context.Context, b *bench) (figure, error) {
	dead, err := b.process(b.client, b.names)
	if err != nil {
		return figure{}, err
	}
	if err := dead.begin(ctx, "a"); err != nil {
		return figure{}, err
	}
	// Its time, and the margin between clocks.
	time.Sleep(longestRun + 2*time.Second + 100*time.Millisecond)
	var runs atomic.Int64
	all, err := b.processes(100)
	if err != nil {
		return figure{}, err
	}
	err = crowd(all, func(p onceer) error {
		_, err := p.once(ctx, "a", func(context.Context) (string, error) {
			runs.Add(1)
			time.Sleep(500 * time.Millisecond)
			return "done", nil
		})
		return err
	})
	return figure{fmt.Sprint(runs.Load()), float64(runs.Load())}, err
}
