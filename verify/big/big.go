// Package big does what is rare and large at its full size, on tables in memory with DynamoDB's
// pages and units, by invocations that are killed when they have made as many requests, or read as
// many bytes, as a Lambda function has time for. Each case prints how many invocations, requests
// and units it took, and fails where one took more than its bound, was never done, or kept others
// waiting.
//
//	make verify S=big                     all, at full size
//	make verify S=big PART=100            all, at a hundredth of it
//	make verify S=big/queues              one
//
// A case has a file of its own and a line in [Cases].
package big

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Case is something large.
type Case struct {
	Name, Shows string
	// run does it on a fresh world, at a part of its full size, and panics with what was not as it
	// must be ([check.Must]).
	run func(w *world)
}

// Cases are all of them.
var Cases = []Case{
	{"queues", "100,000 queues and a sweep", manyQueues},
	{"stored", "the same load behind 10,000 and 1,000,000 stored messages", storedLoaded},
}

// Run runs a case at a part of its full size: 100 is a hundredth. It returns what it took, line by
// line.
func (c Case) Run(part int64) (lines []string, err error) {
	w := &world{part: part}
	err = check.Try(func() {
		w.renew()
		c.run(w)
	})
	return w.lines, err
}

// world is tables, the time, and what invocations have cost so far.
type world struct {
	tables *ddb.Memory
	// store is the sorter's tables without any bound: for setting a case up, and for looking at
	// what came of it.
	store *cursor.Store
	now   time.Time
	part  int64
	lines []string
}

// definitions are the tables of a world.
func definitions() []table.Definition {
	var names cursor.Names
	return slices.Concat(names.Tables(), []table.Definition{names.ArrivalsTable()},
		delivery.Names{Trouble: trouble.DefaultName}.Tables(), xorack.Names{}.Tables())
}

// renew begins the world again, with empty tables.
func (w *world) renew() {
	w.tables = ddb.NewMemory(definitions()...)
	w.now = time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)
	w.store = check.Get(cursor.NewStore(w.tables, cursor.Names{}))
}

// clock is the world's time.
func (w *world) clock() time.Time { return w.now }

// of is a count at the size of this run.
func (w *world) of(full int64) int64 { return max(full/w.part, 1) }

// budget is what an invocation of a time can do: a request takes 5 ms and 64 are under way at once
// at most, and 20 MB a second are read.
type budget struct {
	requests int
	bytes    float64
}

const readRate = 20 << 20

// sideBySide is the budget of requests that are made side by side to one partition, which takes
// 1,000 write units a second.
func sideBySide(time time.Duration) budget {
	return budget{int(time.Seconds() * 1000), time.Seconds() * readRate}
}

// spent is what the invocations of a case did.
type spent struct {
	invocations, requests int
	// most is the most requests that one of them made.
	most  int
	units ddb.Units
}

// line tells what was spent, and for what.
func (w *world) line(what string, s spent) {
	w.lines = append(w.lines, fmt.Sprintf("%s: %d invocations, %d requests (at most %d each), %.0f read and %.0f write units, $%.4f",
		what, s.invocations, s.requests, s.most, s.units.Reads, s.units.Writes,
		meter.Count{Reads: s.units.Reads, Writes: s.units.Writes}.Dollars()/1e6))
}

// run is one invocation: a process that knows nothing, on tables that no longer answer when its
// budget is used up.
func (w *world) run(s *spent, b budget, do func(ddb.Engine, *cursor.Sorter)) {
	i := &invocation{next: w.tables, left: b}
	store := check.Get(cursor.NewStore(i, cursor.Names{}))
	do(i, check.Get(cursor.New(store, &cursor.Options{Now: w.clock, ForEach: fanout.SideBySide})))
	s.add(i)
}

// add adds what an invocation did.
func (s *spent) add(i *invocation) {
	s.invocations++
	s.requests += i.requests
	s.most = max(s.most, i.requests)
	s.units = s.units.Plus(i.units)
}

// invocation is the tables as an invocation sees them.
type invocation struct {
	next ddb.Engine

	mu       sync.Mutex
	left     budget
	requests int
	units    ddb.Units
}

// Do implements [ddb.Engine].
func (i *invocation) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	i.mu.Lock()
	if i.left.requests <= 0 || i.left.bytes <= 0 {
		i.mu.Unlock()
		return ddb.Answer{}, context.DeadlineExceeded
	}
	i.left.requests--
	i.requests++
	i.mu.Unlock()
	a, err := i.next.Do(ctx, r)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.units = i.units.Plus(a.Units)
	i.left.bytes -= a.Units.Reads * 4096
	return a, err
}

// records are the consumers without any bound.
func (w *world) records() *delivery.Store {
	return delivery.NewStore(w.tables, delivery.Names{}.Tables())
}

// dies leaves a consumer's claim up to a seq, whose process died.
func (w *world) dies(c delivery.Consumer, to int64) {
	check.Get2(w.records().Requests(request.Inside{}).Claim(context.Background(), c, request.Claim{
		Req: "dead", To: to, Now: w.now, LeaseUntil: w.now.Add(time.Minute),
	}))
}

// fillWidth is how many messages are stored side by side.
const fillWidth = 1000

// fill stores so many messages of one size, as writers do: the bodies are one text in memory, and
// count each.
func (w *world) fill(queue string, last int64, size int) {
	ctx := context.Background()
	check.Get(w.store.Requests(queuelog.Inside{}).PutMessage(ctx, cursor.Message{
		Queue: queue, Seq: 1, Body: make([]byte, size), Op: []byte("operates"), Digest: make([]byte, 16),
		EnqueuedAt: w.now,
	}))
	messages := (cursor.Names{}).Tables()[0]
	at := ddb.Fields{"queue": ddb.Text(queue), "seq": ddb.Int(1)}.Item()
	a := check.Get(w.tables.Do(ctx, ddb.Get{Op: ddb.Op{Op: "read back", Table: &messages}, Key: at}))
	fields := ddb.Fields{}
	for name, value := range a.Item.All() {
		fields[ddb.Path(name)] = value
	}
	for chunk := int64(2); chunk <= last; chunk += fillWidth {
		var puts []ddb.Put
		for seq := chunk; seq <= min(last, chunk+fillWidth-1); seq++ {
			fields["seq"] = ddb.Int(seq)
			puts = append(puts, ddb.Put{Op: ddb.Op{Op: "fill", Table: &messages}, Item: fields.Item()})
		}
		errs := make([]error, len(puts))
		fanout.SideBySide(len(puts), func(i int) { _, errs[i] = w.tables.Do(ctx, puts[i]) })
		check.Must(errors.Join(errs...))
	}
}
