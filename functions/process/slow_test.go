package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// timeout is what a call of the functions takes at most.
const timeout = time.Minute

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
	check.Need(b, err == nil || errors.Is(err, cursor.ErrNoQueue), "%v", err)
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
		check.Need(t, err == nil && taken, "%v %v", taken, err)
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
			check.That(t, err == nil && a.Item.Get("until0").Equal(want), "%v, %v", a.Item, err)
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
