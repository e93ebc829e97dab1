package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// woken is a desk that notes which wake-ups its deliverer notified of, by the time after its start.
type woken struct {
	*desk
	queuesMeter, consumersMeter *ddbtest.Meter
	begin                       time.Time
	notified                    []string
}

func newWoken(t *testing.T) *woken {
	w := &woken{desk: newDesk(t)}
	w.begin = w.now
	w.queuesMeter, w.consumersMeter = ddbtest.NewMeter(w.queues), ddbtest.NewMeter(w.consumers)
	w.store = w.storeOn(w.consumersMeter.Do)
	clock := func() time.Time { return w.now }
	w.sorter = check.Get(cursor.New(w.queues.on(t, w.queuesMeter), &cursor.Options{ForEach: fanout.OneByOne, Now: clock}))
	w.d = check.Get(delivery.New(w.store, w.sorter, &delivery.Options{
		ForEach: fanout.OneByOne, Now: clock,
		WakeUp: func(queue, consumer string, due time.Time) {
			w.notified = append(w.notified, fmt.Sprintf("%s %s %v", queue, consumer, due.Sub(w.begin)))
		},
	}))
	return w
}

// tells checks of which wake-ups it notified since the last call.
func (w *woken) tells(want ...string) {
	w.t.Helper()
	check.That(w.t, slices.Equal(w.notified, want), "notified %q, want %q", w.notified, want)
	w.notified = nil
}

// wake wakes the consumer up, and checks when it is due then, and how many requests it took.
func (w *woken) wake(want delivery.SweepReport, due string, requests int) {
	w.t.Helper()
	w.queuesMeter.Take()
	w.consumersMeter.Take()
	report, next, err := w.d.Wake(w.t.Context(), "q", "c", delivery.SweepOptions{})
	queues, consumers := w.queuesMeter.Take(), w.consumersMeter.Take()
	at := ""
	if !next.IsZero() {
		at = next.Sub(w.begin).String()
	}
	total := queues.Reads + queues.Writes + consumers.Reads + consumers.Writes
	check.That(w.t, err == nil && cmp.Equal(report, want) && at == due && total == requests,
		"%+v, due %q, %v, %d requests; want %+v, due %q, %d", report, at, err, total, want, due, requests)
}

func TestWakeUpsOfRetries(t *testing.T) {
	w := newWoken(t)
	w.wake(delivery.SweepReport{}, "", 1) // no such consumer
	w.put("q", 1)
	w.poison(1, errors.New("no"))
	w.ends("q", endedFailed)
	w.tells("q c 1s")
	w.wake(delivery.SweepReport{}, "1s", 1)
	w.ends("q", endedWait)
	w.tells("q c 1s")
	w.pass(time.Second)
	w.wake(delivery.SweepReport{Notified: 1}, "", 4)
	w.wake(delivery.SweepReport{}, "6s", 2) // repeated: it was notified
	w.pass(5 * time.Second)
	w.wake(delivery.SweepReport{Notified: 1}, "", 5) // nobody came
	w.ends("q", endedFailed)
	w.tells("q c 16s")
	check.Get(w.d.Operate(t.Context(), does("pause", order("p"))))
	w.pass(10 * time.Second)
	w.wake(delivery.SweepReport{}, "", 1) // paused
	check.Get(w.d.Operate(t.Context(), does("resume", order("r"))))
	w.fails = nil
	w.ends("q", endedCaughtUp)
	w.tells()
	w.wake(delivery.SweepReport{}, "", 2)
	w.put("q", 2)
	w.wake(delivery.SweepReport{}, "21s", 2) // who resumed it woke up who delivers
	w.pass(5 * time.Second)
	w.wake(delivery.SweepReport{Notified: 1}, "", 5) // nobody came
}

// TestWakeUpsOfLeases: who finds a claim in flight tells when it is over; then it is ended, and the
// consumer is woken up.
func TestWakeUpsOfLeases(t *testing.T) {
	w := newWoken(t)
	w.put("q", 1, 2)
	check.Get(w.d.Create(t.Context(), "q", "c", delivery.First))
	c := w.standing("q")
	check.Get2(w.store.Requests(request.Inside{}).Claim(t.Context(), c, request.Claim{Req: "dead", To: 2, Now: w.now, LeaseUntil: w.now.Add(time.Minute)}))
	w.ends("q", endedBusy)
	w.tells("q c 1m0.001s")
	w.pass(time.Minute)
	w.wake(delivery.SweepReport{}, "1m0.001s", 1) // it is good until then
	w.pass(time.Millisecond)
	w.wake(delivery.SweepReport{Notified: 1, Cancelled: 1}, "", 7) // with the row of a consumer whose worker died
	w.ends("q", endedCaughtUp)
	w.gets("q 1,2 #2")
	w.wake(delivery.SweepReport{}, "", 2)
	_, _, err := w.d.Wake(t.Context(), "q", "no/name", delivery.SweepOptions{})
	check.That(t, err != nil, "a name that none can have is no error")
}

// TestNoWakeUpsOfALongLease: one of days, such as a tracked claim's, is notified of in its last
// hour.
func TestNoWakeUpsOfALongLease(t *testing.T) {
	w := newWoken(t)
	w.put("q", 1)
	check.Get(w.d.Create(t.Context(), "q", "c", delivery.First))
	check.Get2(w.store.Requests(request.Inside{}).Claim(t.Context(), w.standing("q"), request.Claim{Req: "long", To: 1, Now: w.now, LeaseUntil: w.now.Add(48 * time.Hour)}))
	w.ends("q", endedBusy)
	w.tells()
	w.pass(47*time.Hour + time.Millisecond)
	w.ends("q", endedBusy)
	w.tells("q c 48h0m0.001s")
}

// TestWakeUpsOfARecordThatComesAgain: a retry that the mapping itself makes needs none.
func TestWakeUpsOfARecordThatComesAgain(t *testing.T) {
	w := newWoken(t)
	w.put("q", 1)
	w.poison(1, errors.New("no"))
	w.stream(failedAt("1"), moved(1, "q", 0, 1)) // in a second: by the mapping
	w.tells()
	w.pass(time.Second)
	w.stream(allWell, moved(1, "q", 0, 1))
	w.tells("q c 11s")
	w.stream(allWell, moved(2, "q", 0, 1))
	w.tells("q c 11s")
}

// TestAHintMakesNoQueue: a queue that nobody has is not made, and its kind stays open.
func TestAHintMakesNoQueue(t *testing.T) {
	k := newDesk(t)
	k.eagerly(map[string]int64{"typo": 7})
	check.That(t, check.Err(k.sorter.Status(t.Context(), "typo")) != nil, "a hint made the queue")
	if err := k.sorter.Put(t.Context(), cursor.Message{Queue: "typo", Seq: cursor.NoSeq, ID: "a", Body: []byte("1")})[0].Err; err != nil {
		t.Errorf("and its kind: %v", err)
	}
}

// TestAnInvalidHintIsNotWoken: what can never be delivered is not tried again.
func TestAnInvalidHintIsNotWoken(t *testing.T) {
	w := newWoken(t)
	w.eagerly(map[string]int64{"": 1})
	w.tells()
}

// TestAHintBeyondThePositionStallsNothing: what comes before the commit of a batch is delivered,
// whatever position was hinted.
func TestAHintBeyondThePositionStallsNothing(t *testing.T) {
	for name, position := range map[string]int64{"right": 1, "too great": 9} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.put("q", 1)
			done := false
			store := k.storeOn(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if u, ok := r.(ddb.Update); ok && u.Name() == "commit" && !done {
					done = true
					k.put("q", 2)
					k.stream(allWell, moved(1, "q", 1, 2))
				}
				return k.consumers.Do(ctx, r)
			})
			k.d = check.Get(delivery.New(store, k.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }}))
			k.eagerly(map[string]int64{"q": position})
			k.gets("q 1 #1", "q 2 #1")
		})
	}
}

// TestAHintBeyondThePositionIsNotKept: one that comes while a claim is in flight is not noted with
// it. A message costs one read of its queue a day later too.
func TestAHintBeyondThePositionIsNotKept(t *testing.T) {
	for name, hint := range map[string]int64{"none": 0, "wrong": cursor.MaxSeq} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.put("q", 1)
			race, reads := false, 0
			store := k.storeOn(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if u, ok := r.(ddb.Update); ok && u.Name() == "commit" && race {
					race = false
					k.put("q", 4)
					k.stream(allWell, moved(4, "q", 3, 4))
				}
				return k.consumers.Do(ctx, r)
			})
			k.d = check.Get(delivery.New(store, k.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }}))
			k.fails = func(b delivery.Batch) error {
				if b.To == 1 && hint > 0 {
					k.eagerly(map[string]int64{"q": hint})
				}
				return nil
			}
			k.stream(allWell, moved(1, "q", 0, 1))
			k.gets("q 1 #1")
			// A day later all hints are right, and only the stream delivers.
			k.pass(24 * time.Hour)
			k.put("q", 2)
			k.queues.fail = func(request, _ string) error { reads++; return nil }
			k.stream(allWell, moved(2, "q", 1, 2))
			k.gets("q 2 #1")
			check.That(t, reads == 1, "%d reads of the queue for one message", reads)
			k.put("q", 3)
			race = true
			k.stream(allWell, moved(3, "q", 2, 3))
			k.gets("q 3 #1", "q 4 #1")
			c := check.Get(k.store.Requests(request.Inside{}).Consumer(t.Context(), "q", "c"))
			check.That(t, c.Asked <= 4, "asked is %d", c.Asked)
		})
	}
}
