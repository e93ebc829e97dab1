package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// desk is a Deliverer on stores in memory, with a clock that a test moves, and a sink that notes
// what it gets.
type desk struct {
	t      *testing.T
	now    time.Time
	queues *flaky
	// consumers has the tables that store is on.
	consumers *ddb.Memory
	store     *delivery.Store
	sorter    *cursor.Sorter
	d         *delivery.Deliverer
	// got are the batches that the sink was given, such as "q 1-2,4 #1".
	got []string
	// fails says why the sink does not take a batch; nil takes all.
	fails func(delivery.Batch) error
	// noted are the writes to the table of trouble.
	noted []string
	// announced is what the sweep announced.
	announced []delivery.Announcement
}

// flaky are queues in memory, of which a Sorter's requests fail where a test wants it.
type flaky struct {
	*cursor.Store
	tables *ddb.Memory
	fail   func(request, queue string) error
}

func newFlaky(t *testing.T) *flaky {
	t.Helper()
	f := &flaky{tables: ddb.NewMemory(append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())...)}
	f.Store = f.on(t, f.tables)
	return f
}

func (f *flaky) on(t *testing.T, engine ddb.Engine) *cursor.Store {
	t.Helper()
	s := check.Get(cursor.NewStore(engine, cursor.Names{}))
	return s
}

// Do implements [ddb.Engine].
func (f *flaky) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	request, queue := "", ddb.Value{}
	switch r := r.(type) {
	case ddb.Get:
		request, queue = strings.TrimPrefix(r.Name(), "get "), r.Key.Get("queue")
	case ddb.Query:
		request, queue = strings.TrimPrefix(r.Name(), "query "), r.Partition
	case ddb.Update:
		request, queue = r.Name(), r.Key.Get("queue")
	}
	if f.fail != nil && slices.Contains([]string{"cursor", "messages", "notify"}, request) {
		if err := f.fail(request, queue.Str()); err != nil {
			return ddb.Answer{}, err
		}
	}
	return f.tables.Do(ctx, r)
}

// tableNames are the names of the consumers' tables.
var tableNames = delivery.Names{Trouble: trouble.DefaultName}

var errFlaky = errors.New("the store is away")

// errNo is why a sink takes no batch.
var errNo = errors.New("no")

func newDesk(t *testing.T) *desk {
	t.Helper()
	k := &desk{t: t, now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), queues: newFlaky(t), consumers: ddb.NewMemory(tableNames.Tables()...)}
	k.store = k.storeOn(k.do)
	clock := func() time.Time { return k.now }
	var err error
	k.sorter = check.Get(cursor.New(k.queues.on(t, k.queues), &cursor.Options{ForEach: fanout.OneByOne, Now: clock}))
	k.d, err = delivery.New(k.store, k.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: clock})
	k.must(err)
	return k
}

func (k *desk) do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if ddb.Writes(r) && strings.HasSuffix(r.Name(), " trouble") {
		k.noted = append(k.noted, r.Name())
	}
	return k.consumers.Do(ctx, r)
}

// storeOn is the store on a view of the consumers' tables.
func (k *desk) storeOn(view ddb.Func) *delivery.Store {
	return delivery.NewStore(view, tableNames.Tables())
}

func (k *desk) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// put puts messages of the queue, each with its seq for its body.
func (k *desk) put(queue string, seqs ...int64) {
	k.t.Helper()
	for _, seq := range seqs {
		k.must(k.sorter.Put(k.t.Context(), cursor.Message{Queue: queue, Seq: seq, Body: fmt.Append(nil, seq)})[0].Err)
	}
}

func upTo(first, last int64) []int64 {
	var seqs []int64
	for ; first <= last; first++ {
		seqs = append(seqs, first)
	}
	return seqs
}

// text tells a batch in a line.
func text(b delivery.Batch) string {
	var seqs []string
	for _, m := range b.Messages {
		seqs = append(seqs, strconv.FormatInt(m.Seq, 10))
	}
	for _, seq := range b.Skipped {
		seqs = append(seqs, "no "+strconv.FormatInt(seq, 10))
	}
	return fmt.Sprintf("%s %s #%d", b.Queue, strings.Join(seqs, ","), b.Attempt)
}

func (k *desk) take(_ context.Context, b delivery.Batch) error {
	k.got = append(k.got, text(b))
	if k.fails == nil {
		return nil
	}
	return k.fails(b)
}

// poison makes the sink refuse batches with a seq.
func (k *desk) poison(seq int64, cause error) {
	k.fails = func(b delivery.Batch) error {
		if slices.ContainsFunc(b.Messages, func(m cursor.Message) bool { return m.Seq == seq }) {
			return cause
		}
		return nil
	}
}

// reader is the consumer "c", in batches of three, that is blocked at the third failure, however
// little is known of its sink.
func (k *desk) reader() delivery.Reader {
	return delivery.Reader{Name: "c", Handle: k.take, MaxMessages: 3, MaxAttempts: 3, BlockAfter: time.Second}
}

func (k *desk) deliver(queue string) delivery.Delivery {
	k.t.Helper()
	done := k.d.Deliver(k.t.Context(), queue, k.reader(), -1)
	k.must(done.Err)
	return done
}

// ends delivers, and checks how that ended.
func (k *desk) ends(queue string, want string) delivery.Delivery {
	k.t.Helper()
	done := k.deliver(queue)
	check.That(k.t, ending(done) == want,
		"it ended as %s (%v), want %s", ending(done), done.Cause, want)
	return done
}

// gets checks what the sink got since the last time.
func (k *desk) gets(want ...string) {
	k.t.Helper()
	check.Is(k.t, cmp.Diff(want, k.got), "")
	k.got = nil
}

func (k *desk) standing(queue string) delivery.Consumer {
	k.t.Helper()
	c := check.Get(k.store.Requests(request.Inside{}).Consumer(k.t.Context(), queue, "c"))
	return c
}

// at checks where the consumer is.
func (k *desk) at(queue string, delivered int64, state delivery.State) delivery.Consumer {
	k.t.Helper()
	c := k.standing(queue)
	check.That(k.t, c.Delivered == delivered && c.State == state,
		"the consumer is %s at %d, want %s at %d", c.State, c.Delivered, state, delivered)
	return c
}

func (k *desk) pass(d time.Duration) { k.now = k.now.Add(d) }

// block makes the consumer blocked on a seq.
func (k *desk) block(queue string, seq int64) {
	k.t.Helper()
	k.poison(seq, errors.New("no"))
	for k.standing(queue).State != delivery.Blocked {
		k.deliver(queue)
		k.pass(10 * time.Minute)
	}
	k.fails, k.got = nil, nil
}

// sweep runs a sweep, and checks its report where one is wanted.
func (k *desk) sweep(options delivery.SweepOptions) delivery.SweepReport {
	k.t.Helper()
	k.announced = nil
	if options.Announce == nil {
		options.Announce = func(_ context.Context, a delivery.Announcement) error {
			k.announced = append(k.announced, a)
			return nil
		}
	}
	report := check.Get(k.d.Sweep(k.t.Context(), options))
	return report
}

// invalid checks that an error names a field.
func invalid(t *testing.T, err error, field string) {
	t.Helper()
	var wrong *cursor.InvalidError
	check.That(t, errors.As(err, &wrong) && wrong.Field == field,
		"error %v, want one that names %s", err, field)
}

// How a delivery ended, as [ending] says it.
const (
	endedCaughtUp    = "EMPTY"
	endedBusy        = "BUSY"
	endedOutOfTime   = "WAIT TIME"
	endedFailed      = "WAIT FAILED, and tried now"
	endedWait        = "WAIT FAILED"
	endedBlocked     = "BLOCKED"
	endedCircuitOpen = "WAIT CIRCUIT"
	endedPaused      = "PAUSED"
	endedReplying    = "FULL"
	endedMissing     = "MISSING"
	endedLost        = "LOST"
	endedDeferred    = "DEFERRED"
	endedAside       = "WAIT ISOLATED"
	endedErased      = "erased"
)

// ending is the outcome of a delivery and, of one that waits, the reason.
func ending(d delivery.Delivery) string {
	switch {
	case errors.Is(d.Err, cursor.ErrErased):
		return endedErased
	case d.Outcome != delivery.Wait:
		return string(d.Outcome)
	case d.Reason == "FAILED" && d.Cause != nil:
		return endedFailed
	}
	return strings.TrimSpace(string(d.Outcome) + " " + d.Reason)
}

func does(kind string, o delivery.Order) delivery.Order {
	o.Kind = kind
	return o
}

func skips(o delivery.Order, seq int64) delivery.Order {
	o.Seq = seq
	return does("skip", o)
}

func redrives(o delivery.Order, seq int64) delivery.Order {
	o.Seq = seq
	return does("redrive", o)
}

func rewinds(o delivery.Order, start delivery.Start) delivery.Order {
	o.Start = start
	return does("rewind", o)
}

// refused reports whether an error is a refusal of a code.
func refused(err error, code string) bool {
	var wrong *delivery.RefusedError
	return errors.As(err, &wrong) && wrong.Code == code
}
