package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// environment is a process of a function.
type environment func(context.Context, call) (events.DynamoDBEventResponse, error)

// account is functions as Lambda runs them: process behind the cursors' stream, by a mapping with
// lanes that have one call at a time each, and the function of isolated invocations. A call waits
// for an environment.
type account struct {
	*testing.T
	sorter        *cursor.Sorter
	store         *delivery.Store
	sweep         *delivery.Deliverer
	process, slow chan environment
	lanes         []chan string
	// work are the mapping's lanes, and calls under way beside them.
	work sync.WaitGroup

	mu sync.Mutex
	// running and most are how many isolated requests of a tenant are and were under way.
	running, most map[string]int
	// sent and took are when messages were put, and how long until they were taken, by queue.
	sent map[string][]time.Time
	took map[string][]time.Duration
}

const (
	// longCall is how long the slow endpoints take, timeout a call of the functions at most.
	longCall, timeout = 9 * time.Second, time.Minute
	lanes             = 20
	// asyncAge is how old an asynchronous call may get, as the stack has it.
	asyncAge = 3 * time.Minute
)

// newAccount makes functions of so many environments. Isolated invocations, of which a tenant has a
// share, are in those of process where they have none of their own.
func newAccount(t *testing.T, ofProcess, ofSlow, ofTenant int) *account {
	a := &account{
		T: t, store: delivery.NewMemory(),
		process: make(chan environment, ofProcess), slow: make(chan environment, ofSlow),
		running: map[string]int{}, most: map[string]int{},
		sent: map[string][]time.Time{}, took: map[string][]time.Duration{},
	}
	tables := append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())
	memory := ddb.NewMemory(tables...)
	streamed := ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		answer, err := memory.Do(ctx, r)
		if update, is := r.(ddb.Update); is && answer.Held && r.On().Name == tables[1].Name {
			a.moved(update.Key.Get("queue").Str())
		}
		return answer, err
	})
	queues := check.Get(cursor.NewStore(streamed, cursor.Names{}))
	a.sorter = check.Get(cursor.New(queues, nil))
	a.sweep = check.Get(delivery.New(a.store, a.sorter, nil))
	engine, consumers := a.store.Requests(request.Inside{}).Endpoints()
	leases := quota.NewLeases(engine, consumers, ofTenant, time.Now)
	bound := &share{leases: leases, wakeUp: a.wakeUp, now: time.Now}
	for range ofProcess {
		if ofSlow > 0 {
			a.process <- a.environment(nil)
		} else {
			a.process <- a.environment(bound)
		}
	}
	for range ofSlow {
		a.slow <- a.environment(bound)
	}
	if ofSlow == 0 {
		a.slow = a.process
	}
	for range lanes {
		a.lanes = append(a.lanes, make(chan string, 10_000))
	}
	return a
}

func (a *account) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// environment is one that is warm.
func (a *account) environment(bound *share) environment {
	seen := &observer{}
	options := &delivery.Options{Observe: seen.delivery, WakeUp: a.wakeUp, Aside: a.isolate}
	d := check.Get(delivery.New(a.store, a.sorter, options))
	handle := check.Get(handler(d, cursor.Names{}, seen, []delivery.Reader{{
		Name: "hooks", MaxMessages: 1, Apart: true, Inline: time.Second,
		Handle: a.endpoint(bound != nil),
	}}, bound))
	return runtime.Around(io.Discard, headroom, handle)
}

// endpoint takes batches, of isolated invocations or of others.
func (a *account) endpoint(isolated bool) func(context.Context, delivery.Batch) error {
	count := func(tenant string, n int) {
		a.change(func() {
			a.running[tenant] += n
			a.most[tenant] = max(a.most[tenant], a.running[tenant])
		})
	}
	return func(ctx context.Context, b delivery.Batch) error {
		tenant, name, _ := strings.Cut(b.Queue, "/")
		if isolated {
			count(tenant, 1)
			defer count(tenant, -1)
		}
		long := time.Duration(0)
		if strings.HasPrefix(name, "slow") {
			long = longCall
		}
		timer := time.NewTimer(long)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		b.Answered(delivery.Response{Status: 200, Took: long, At: time.Now()})
		a.change(func() {
			a.took[b.Queue] = append(a.took[b.Queue], time.Since(a.sent[b.Queue][b.To-1]))
		})
		return nil
	}
}

func (a *account) change(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// moved is what the stream shows.
func (a *account) moved(queue string) {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, queue)
	a.lanes[hash.Sum32()%lanes] <- queue
}

// lane calls process with what waits, one call after the other.
func (a *account) lane(waiting chan string) {
	for first := range waiting {
		queues := []string{first}
		for len(waiting) > 0 && len(queues) < 100 {
			queues = append(queues, <-waiting)
		}
		var records []string
		for i, queue := range queues {
			it := check.Get(a.sorter.Status(context.Background(), queue))
			records = append(records, record(i+1, queue, it.Position))
		}
		check.Is(a, len(a.run(a.process, event(a.T, records...)).BatchItemFailures), 0)
	}
}

// run makes a call when an environment is free.
func (a *account) run(of chan environment, event call) events.DynamoDBEventResponse {
	free := <-of
	defer func() { of <- free }()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer := check.Get(free(ctx, event))
	return answer
}

// isolate makes an asynchronous call.
func (a *account) isolate(_ context.Context, queue, consumer string) error {
	asked := time.Now()
	a.work.Go(func() {
		free := <-a.slow
		a.slow <- free
		if time.Since(asked) < asyncAge {
			a.run(a.slow, isolated(queue, consumer))
		}
	})
	return nil
}

// wakeUp is the timer, and the sweep behind it.
func (a *account) wakeUp(queue, consumer string, due time.Time) {
	a.work.Go(func() {
		for tries := 0; !due.IsZero() && tries < 10; tries++ {
			bubble.Sleep(time.Until(due))
			_, next, err := a.sweep.Wake(context.Background(), queue, consumer, delivery.SweepOptions{})
			if due = next; err != nil {
				a.Error(err)
			}
		}
	})
}

// put puts the next message of a queue.
func (a *account) put(queue string) {
	a.Helper()
	a.change(func() { a.sent[queue] = append(a.sent[queue], time.Now()) })
	message := cursor.Message{Queue: queue, Seq: int64(len(a.sent[queue])), Body: []byte("1")}
	a.must(a.sorter.Put(a.Context(), message)[0].Err)
}

// all are how long the messages of a queue took, sorted, when all were taken.
func (a *account) all(queue string) []time.Duration {
	a.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.took[queue]) != len(a.sent[queue]) {
		a.Errorf("%s: %d messages of %d were taken", queue, len(a.took[queue]), len(a.sent[queue]))
		return []time.Duration{0}
	}
	return slices.Sorted(slices.Values(a.took[queue]))
}

// TestSlowQueuesHaveAPlaceOfTheirOwn: 150 queues of a tenant whose endpoints take 9 seconds keep
// neither the queues that are delivered beside them waiting, nor a slow queue of another tenant.
// In the environments of process they would.
func TestSlowQueuesHaveAPlaceOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		name                     string
		ofProcess, ofSlow, share int
		// fast and other are how long a message waits of a fast queue, at p99, and of another
		// tenant's slow queue at most; 0 for longer than 20 seconds.
		fast, other time.Duration
	}{
		{"a place of their own, and a share", 20, 20, 10, 2 * time.Second, 12 * time.Second},
		{"a place of their own, all of it each tenant's", 20, 20, 20, 2 * time.Second, 0},
		{"in the environments of process", 20, 0, quota.MaxShare, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t, c.ofProcess, c.ofSlow, c.share)
				for _, lane := range a.lanes {
					go a.lane(lane)
				}
				for second := range 300 {
					if second%60 == 0 && second < 180 {
						for i := range 150 {
							a.put(fmt.Sprintf("@acme/slow%d", i))
						}
					}
					if second%30 == 10 {
						a.put("@other/slow")
					}
					a.put("@other/fast")
					bubble.Sleep(time.Second)
				}
				bubble.Sleep(time.Hour)
				for _, lane := range a.lanes {
					close(lane)
				}
				a.work.Wait()
				fast, other := a.all("@other/fast"), a.all("@other/slow")
				for i := range 150 {
					a.all(fmt.Sprintf("@acme/slow%d", i))
				}
				p99, longest := fast[len(fast)*99/100-1], other[len(other)-1]
				t.Logf("p50 %s, p99 %s, max %s; the other slow queue: %s at most; %v at once",
					fast[len(fast)/2], p99, fast[len(fast)-1], longest, a.most)
				within := func(what string, got, most time.Duration) {
					check.That(t, (most != 0 || got >= 20*time.Second) && (most <= 0 || got <= most),
						"%s: %s, want %s at most (0: more than 20s)", what, got, most)
				}
				within("fast at p99", p99, c.fast)
				within("the other slow queue", longest, c.other)
				if most := a.most["@acme"]; c.ofSlow > 0 && most != c.share {
					t.Errorf("%d isolated invocations of a tenant at once, want %d", most, c.share)
				}
			})
		})
	}
}

// shareBench is the function of isolated invocations, on stores in memory.
type shareBench struct {
	*bench
	fail  error
	waits map[string]time.Time
	// during is done while a batch is delivered.
	during func(context.Context)
	got    []string
}

func newShareBench(t *testing.T, ofTenant int) *shareBench {
	b := &shareBench{bench: &bench{T: t}, waits: map[string]time.Time{}}
	b.during = func(context.Context) {}
	b.sorter = check.Get(cursor.New(cursor.NewMemory(), nil))
	b.store = delivery.NewMemory()
	seen := &observer{}
	d := check.Get(delivery.New(b.store, b.sorter, &delivery.Options{Observe: seen.delivery}))
	engine, consumers := b.store.Requests(request.Inside{}).Endpoints()
	counter := ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if b.fail != nil {
			return ddb.Answer{}, b.fail
		}
		return engine.Do(ctx, r)
	})
	bound := &share{
		leases: quota.NewLeases(counter, consumers, ofTenant, time.Now), now: time.Now,
		wakeUp: func(queue, consumer string, due time.Time) { b.waits[queue+" "+consumer] = due },
	}
	handle := check.Get(handler(d, cursor.Names{}, seen, []delivery.Reader{{
		Name: "hooks", Apart: true, Inline: time.Second,
		Handle: func(ctx context.Context, batch delivery.Batch) error {
			b.got = append(b.got, batch.Queue)
			b.during(ctx)
			return nil
		},
	}}, bound))
	b.handle = runtime.Around(&b.out, headroom, handle)
	return b
}

// call delivers a queue, which has a message more; its invocation may take a minute.
func (b *shareBench) call(queue string) {
	b.Helper()
	it, err := b.sorter.Status(b.Context(), queue)
	if err != nil && !errors.Is(err, cursor.ErrNoQueue) {
		b.Fatal(err)
	}
	b.put(queue, "1", it.Position+1)
	ctx, cancel := context.WithTimeout(b.Context(), timeout)
	defer cancel()
	check.Get(b.handle(ctx, isolated(queue, "hooks")))
}

func (b *shareBench) gets(want ...string) {
	b.Helper()
	check.That(b, slices.Equal(b.got, want), "delivered to %v, want %v", b.got, want)
	b.got = nil
}

// TestATenantsShare: beyond it a queue is not delivered and waits for its wake-up, and another
// tenant's is; a call that ends gives its place back, whatever became of it, and one that died has
// it until its time is over. What is no tenant's has no bound.
func TestATenantsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShareBench(t, 1)
		b.during = func(context.Context) {
			b.during = func(context.Context) {}
			b.call("@acme/second")
			b.call("@other/first")
		}
		b.call("@acme/first")
		b.gets("@acme/first", "@other/first")
		wait := time.Until(b.waits["@acme/second hooks"])
		check.That(t, len(b.waits) == 1 && wait >= minWait && wait < maxWait,
			"woken up in %s: %v", wait, b.waits)
		b.has(`"IsolatedWaits":1`)
		b.call("@acme/second")
		b.during = func(context.Context) { panic("no luck") }
		b.call("@acme/third")
		b.during = func(context.Context) {
			b.during = func(context.Context) {}
			b.call("inner")
		}
		b.call("outer")
		b.call("@acme/first")
		b.gets("@acme/second", "@acme/third", "outer", "inner", "@acme/first")
		check.That(t, len(b.waits) == 1, "woken up: %v", b.waits)

		// A process that died had its place until the end of its invocation.
		engine, consumers := b.store.Requests(request.Inside{}).Endpoints()
		leases := quota.NewLeases(engine, consumers, 1, time.Now)
		_, taken, err := leases.Take(t.Context(), "acme", time.Now().Add(timeout))
		if err != nil || !taken {
			t.Fatal(taken, err)
		}
		b.call("@acme/first")
		bubble.Sleep(timeout)
		b.call("@acme/first")
		b.gets()
		bubble.Sleep(time.Millisecond)
		b.call("@acme/first")
		b.gets("@acme/first")
	})
}

// TestAPlaceIsKeptForAWholeInvocation: until Lambda would end it, and no longer.
func TestAPlaceIsKeptForAWholeInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShareBench(t, 1)
		b.during = func(context.Context) {
			engine, consumers := b.store.Requests(request.Inside{}).Endpoints()
			key := ddb.Fields{"queue": ddb.Text("leases acme"), "consumer": ddb.Text(" calls")}.Item()
			op, want := ddb.Op{Op: "test", Table: &consumers}, ddb.Millis(time.Now().Add(timeout))
			a, err := engine.Do(t.Context(), ddb.Get{Op: op, Key: key, Strong: true})
			check.That(t, err == nil && a.Item.Get("until0").Equal(want),
				"%v, %v; want until %v", a.Item, err, want)
		}
		b.call("@acme/q")
		b.gets("@acme/q")
	})
}

// TestACounterThatDoesNotAnswer: no queue waits for it, and the metrics say so.
func TestACounterThatDoesNotAnswer(t *testing.T) {
	b := newShareBench(t, 1)
	b.fail = cursor.ErrThrottled
	b.call("@acme/q")
	b.gets("@acme/q")
	b.has(`"QuotaUnknown":1`)
}
