package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestAStartIsFinishedInPieces: a rewind over more than one invocation has time for gets
// on with each one that dies, no matter which, and begins where it was set.
func TestAStartIsFinishedInPieces(t *testing.T) {
	k := newDesk(t)
	const last = 3500
	k.put("q", upTo(1, last)...)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.Latest))
	killed := errors.New("killed")
	// An invocation makes so many requests of the queue's tables, and dies.
	invocation := func(left int) *delivery.Deliverer {
		queues := ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if left--; left < 0 {
				return ddb.Answer{}, killed
			}
			return k.queues.tables.Do(ctx, r)
		})
		clock := func() time.Time { return k.now }
		sorter, err := cursor.New(k.queues.on(t, queues), &cursor.Options{ForEach: fanout.OneByOne, Now: clock})
		k.must(err)
		d, err := delivery.New(k.store, sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: clock})
		k.must(err)
		return d
	}
	if _, err := invocation(5).Operate(t.Context(), rewinds(order("back"), delivery.First)); !errors.Is(err, killed) {
		t.Fatalf("error %v: it had time for all of it", err)
	}
	for n := 0; k.standing("q").Starting != ""; n++ {
		if n == 4 {
			t.Fatalf("after %d invocations it still starts: %+v", n, k.standing("q"))
		}
		done := invocation(4).Deliver(t.Context(), "q", k.reader(), -1)
		check.That(t, done.Batches <= 0 || k.standing("q").Starting == "",
			"%d batches while it starts", done.Batches)
	}
	if c := k.standing("q"); c.KeptFrom != 0 || c.Rewinds != 1 {
		t.Errorf("%+v", c)
	}
	k.got = nil
	r := k.reader()
	r.MaxMessages = 1000
	k.must(k.d.Deliver(t.Context(), "q", r, -1).Err)
	k.at("q", last, delivery.Idle)
}

// TestAStartWhoseTurnIsOver: it is Starting still, no claim is made, and it is gone on
// with.
func TestAStartWhoseTurnIsOver(t *testing.T) {
	k := newDesk(t)
	k.put("q", upTo(1, 3500)...)
	k.queues.fail = func(request, _ string) error {
		if request == "messages" {
			k.pass(11 * time.Second)
		}
		return nil
	}
	c := check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	check.That(t, c.Starting != "" && c.KeptFrom == 2501, "%+v; want that it is not done", c)
	if report, err := k.d.Sweep(t.Context(), delivery.SweepOptions{}); err != nil || report.Started != 0 || report.Notified != 1 {
		t.Errorf("%+v, %v; want that it is not done, and goes on", report, err)
	}
	if c := k.standing("q"); c.KeptFrom != 1501 {
		t.Errorf("%+v", c)
	}
	k.queues.fail = nil
	if report, err := k.d.Sweep(t.Context(), delivery.SweepOptions{}); err != nil || report.Started != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	k.at("q", 0, delivery.Idle)
}

// TestStartsOfAQueueHaveOneTurn of a sweep's run: many of them keep no other queue waiting.
func TestStartsOfAQueueHaveOneTurn(t *testing.T) {
	k := newDesk(t)
	k.put("q", upTo(1, 3500)...)
	k.sweep(delivery.SweepOptions{}) // from here on only the round of the gaps is due
	const consumers = 10
	for n := range consumers {
		c := delivery.Consumer{Queue: "q", Name: fmt.Sprint("c", n), State: delivery.Idle, Control: delivery.Control{Starting: "op", LastOp: "op"}}
		check.Get2(k.store.Requests(request.Inside{}).CreateConsumer(t.Context(), c))
	}
	k.queues.fail = func(request, _ string) error {
		if request == "messages" {
			k.pass(3 * time.Second)
		}
		return nil
	}
	began := k.now
	report, err := k.d.Sweep(t.Context(), delivery.SweepOptions{})
	if took := k.now.Sub(began); err != nil || took != 6*time.Second || report.Notified != 1 {
		t.Errorf("%+v, %v, after %s; want a turn of 5s, to the end of a piece", report, err, took)
	}
	for n := 0; report.Started < consumers; n++ {
		check.Need(t, n != 30, "%+v; want that all are started", report)
		k.pass(5 * time.Minute)
		next := check.Get(k.d.Sweep(t.Context(), delivery.SweepOptions{}))
		report.Started += next.Started
	}
}
