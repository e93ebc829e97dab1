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
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
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
	// see is called before each request to the consumers' tables, which fails with its error.
	see func(ddb.Request) error
	// announced is what the sweep announced.
	announced []delivery.Announcement
	// waits are those of its processes, each of which moves the clock.
	waits []time.Duration
}

// flaky are queues in memory, of which a Sorter's requests fail where a test wants it.
type flaky struct {
	*cursor.Store
	tables *ddb.Memory
	fail   func(request, queue string) error
}

func newFlaky(t *testing.T) *flaky {
	t.Helper()
	f := &flaky{tables: ddb.NewMemory(append(cursor.Names{}.Tables(),
		cursor.Names{}.ArrivalsTable())...)}
	f.Store = f.on(f.tables)
	return f
}

func (*flaky) on(engine ddb.Engine) *cursor.Store {
	return check.Get(cursor.NewStore(engine, cursor.Names{}))
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

// lose deletes a message.
func (f *flaky) lose(queue string, seq int64) {
	messages := cursor.Names{}.Tables()[0]
	check.Get(f.tables.Do(context.Background(), ddb.Delete{
		Op:  ddb.Op{Op: "lose", Table: &messages},
		Key: ddb.Fields{"queue": ddb.Text(queue), "seq": ddb.Int(seq)}.Item(),
	}))
}

// tableNames are the names of the consumers' tables.
var tableNames = delivery.Names{Trouble: trouble.DefaultName}

var errFlaky = errors.New("the store is away")

var errNo = errors.New("no")

// newDesk is a desk with these messages in the queue "q".
func newDesk(t *testing.T, seqs ...int64) *desk {
	t.Helper()
	k := &desk{t: t, now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), queues: newFlaky(t),
		consumers: ddb.NewMemory(tableNames.Tables()...)}
	k.store = k.storeOn(k.do)
	clock := func() time.Time { return k.now }
	k.sorter = check.Get(cursor.New(k.queues.on(k.queues),
		&cursor.Options{ForEach: fanout.OneByOne, Now: clock}))
	k.restarted()
	k.put("q", seqs...)
	return k
}

func (k *desk) do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if k.see != nil {
		if err := k.see(r); err != nil {
			return ddb.Answer{}, err
		}
	}
	return k.consumers.Do(ctx, r)
}

func (k *desk) storeOn(view ddb.Func) *delivery.Store {
	return delivery.NewStore(view, tableNames.Tables())
}

// deliverer is a process that knows nothing yet, with the desk's clock where it has none of its
// own.
func (k *desk) deliverer(o delivery.Options) *delivery.Deliverer {
	k.t.Helper()
	o.ForEach = fanout.OneByOne
	if o.Now == nil {
		o.Now = func() time.Time { return k.now }
	}
	o.Sleep = func(_ context.Context, d time.Duration) error {
		k.waits = append(k.waits, d)
		k.pass(d)
		return nil
	}
	return check.Get(delivery.New(k.store, k.sorter, &o))
}

func (k *desk) restarted() {
	k.t.Helper()
	k.d = k.deliverer(delivery.Options{})
}

// onRequest has something done before each request of a name to the queue's tables, which fails
// with its error; an empty name or queue is any.
func (k *desk) onRequest(request, queue string, do func() error) {
	k.queues.fail = func(r, q string) error {
		if request != "" && r != request || queue != "" && q != queue {
			return nil
		}
		return do()
	}
}

// away has such requests fail, slow has each take a time.
func (k *desk) away(request, queue string) {
	k.onRequest(request, queue, func() error { return errFlaky })
}

func (k *desk) slow(request, queue string, d time.Duration) {
	k.onRequest(request, queue, func() error { k.pass(d); return nil })
}

// everyFault runs a test on desks of which one request to the consumers' tables goes wrong, each
// in each way, while it acts.
func everyFault(t *testing.T, begin func(*testing.T) *desk, act func(*desk),
	then func(k *desk, what string)) {
	t.Helper()
	for _, fault := range ddbtest.EveryFault() {
		for nth := 1; ; nth++ {
			k := begin(t)
			faults := ddbtest.NewFaults(k.consumers)
			k.store = k.storeOn(faults.Do)
			k.restarted()
			faults.Fail(nth, fault)
			if act(k); faults.Pending() {
				break
			}
			then(k, fmt.Sprintf("request %d, %s", nth, fault))
		}
	}
}

// claims makes the claim of a process that says no more.
func (k *desk) claims(queue string, to int64, lease time.Duration) delivery.Consumer {
	k.t.Helper()
	claim := request.Claim{Req: fmt.Sprint(k.now.UnixMilli()), To: to, Now: k.now,
		LeaseUntil: k.now.Add(lease)}
	c, made := check.Get2(k.store.Requests(request.Inside{}).Claim(k.t.Context(),
		k.standing(queue), claim))
	check.Need(k.t, made, "%s is not claimed: %+v", queue, c)
	return c
}

func (k *desk) trouble() *trouble.Store { return k.store.Requests(request.Inside{}).Trouble() }

func (k *desk) must(err error) {
	k.t.Helper()
	check.OK(k.t, err)
}

// put puts messages of the queue, each with its seq for its body.
func (k *desk) put(queue string, seqs ...int64) {
	k.t.Helper()
	for _, seq := range seqs {
		k.must(k.sorter.Put(k.t.Context(),
			cursor.Message{Queue: queue, Seq: seq, Body: fmt.Append(nil, seq)})[0].Err)
	}
}

func upTo(first, last int64) []int64 {
	var seqs []int64
	for ; first <= last; first++ {
		seqs = append(seqs, first)
	}
	return seqs
}

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
	return delivery.Reader{Name: "c", Handle: k.take, MaxMessages: 3, MaxAttempts: 3,
		BlockAfter: time.Second}
}

// to delivers a queue to a reader, and checks how that ended, where one end is wanted.
func (k *desk) to(r delivery.Reader, queue, want string) delivery.Delivery {
	k.t.Helper()
	done := k.d.Deliver(k.t.Context(), queue, r, -1)
	k.must(done.Err)
	check.That(k.t, want == "" || ending(done) == want, "%s: %s (%v), want %s", queue, ending(done),
		done.Cause, want)
	return done
}

func (k *desk) deliver(queue string) delivery.Delivery { return k.to(k.reader(), queue, "") }

func (k *desk) ends(queue, want string) delivery.Delivery { return k.to(k.reader(), queue, want) }

func (k *desk) gets(want ...string) {
	k.t.Helper()
	check.Is(k.t, cmp.Diff(want, k.got), "")
	k.got = nil
}

func (k *desk) standing(queue string) delivery.Consumer {
	k.t.Helper()
	return check.Get(k.store.Requests(request.Inside{}).Consumer(k.t.Context(), queue, "c"))
}

func (k *desk) at(queue string, delivered int64, state delivery.State) delivery.Consumer {
	k.t.Helper()
	c := k.standing(queue)
	check.That(k.t, c.Delivered == delivered && c.State == state,
		"the consumer is %s at %d, want %s at %d", c.State, c.Delivered, state, delivered)
	return c
}

func (k *desk) pass(d time.Duration) { k.now = k.now.Add(d) }

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
	return check.Get(k.d.Sweep(k.t.Context(), options))
}

func invalid(t *testing.T, err error, field string) {
	t.Helper()
	var wrong *cursor.InvalidError
	check.That(t, errors.As(err, &wrong) && wrong.Field == field, "error %v, want %s", err, field)
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

// operates carries an order out.
func (k *desk) operates(o delivery.Order) delivery.Consumer {
	k.t.Helper()
	return check.Get(k.d.Operate(k.t.Context(), o))
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

func refused(err error, code string) bool {
	var wrong *delivery.RefusedError
	return errors.As(err, &wrong) && wrong.Code == code
}
