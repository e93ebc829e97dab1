package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

func moved(number int, queue string, from, to int64) json.RawMessage {
	image := func(position int64) string {
		return fmt.Sprintf(`{"queue":{"S":%q},"v":{"N":"1"},"first":{"N":"1"},"position":{"N":"%d"},"parked":{"N":"0"},`+
			`"gapSince":{"N":"0"},"change":{"S":"advance"},"policy":{"S":"wait"},"gapAfter":{"N":"300000"},"maxAhead":{"N":"9"},"mode":{"S":"sync"}}`, queue, position)
	}
	return fmt.Appendf(nil, `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","OldImage":%s,"NewImage":%s}}`, number, image(from), image(to))
}

func failedAt(number string) events.DynamoDBEventResponse {
	return events.DynamoDBEventResponse{
		BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: number}},
	}
}

func (k *desk) stream(want events.DynamoDBEventResponse, records ...json.RawMessage) {
	k.t.Helper()
	k.streamTo(k.reader(), want, records...)
}

func (k *desk) streamTo(r delivery.Reader, want events.DynamoDBEventResponse,
	records ...json.RawMessage) {
	k.t.Helper()
	handle := check.Get(delivery.OnStream(k.d, cursor.Names{}, r))
	got := check.Get(handle(k.t.Context(), table.StreamEvent{Records: records}))
	check.Is(k.t, cmp.Diff(want, got), "")
}

var allWell = events.DynamoDBEventResponse{}

func TestOnStream(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1, 2, 3)
	k.put("b", 1)
	k.stream(allWell, moved(1, "a", 0, 1), moved(2, "b", 0, 1), moved(3, "a", 1, 2))
	// A queue comes once; what no record shows yet has one of its own.
	k.gets("a 1,2 #1", "b 1 #1")
	// Again, late, or of what nobody knows to have moved: nothing is new.
	k.stream(allWell, moved(3, "a", 1, 2), moved(4, "b", 1, 1))
	k.gets()
	// A record is only a hint: it begins where the consumer is.
	k.stream(allWell, moved(5, "a", 0, 3))
	k.gets("a 3 #1")
	// A record that the stream dropped is made up for by the next one.
	k.put("b", 2, 3, 4)
	k.stream(allWell, moved(9, "b", 3, 4))
	k.gets("b 2,3,4 #1")
	// A deletion says nothing.
	k.stream(allWell, json.RawMessage(`{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"10"}}`))
}

// TestABadQueueHoldsUpNoOther: it comes again by the mapping's own retry where its next attempt is
// near, and is left to the next record where it is not.
func TestABadQueueHoldsUpNoOther(t *testing.T) {
	k := newDesk(t)
	for _, queue := range []string{"a", "bad", "c"} {
		k.put(queue, 1)
	}
	k.refuses("bad")
	event := []json.RawMessage{moved(1, "a", 0, 1), moved(2, "bad", 0, 1), moved(3, "c", 0, 1)}
	k.stream(failedAt("2"), event...)
	k.gets("a 1 #1", "bad 1 #1", "c 1 #1")
	// Its time has not come: the record comes again, and costs others nothing.
	k.stream(failedAt("2"), event[1:]...)
	k.gets()
	k.pass(time.Second)
	k.stream(allWell, event[1:]...)
	k.gets("bad 1 #2")
	k.pass(10 * time.Second)
	k.stream(allWell, event[1:]...)
	k.gets("bad 1 #3")
	k.at("bad", 0, delivery.Blocked)
	k.put("c", 2)
	k.stream(allWell, moved(4, "bad", 1, 1), moved(5, "c", 1, 2))
	k.gets("c 2 #1")
}

// TestQuickRetriesHoldUpNoOther: a queue whose second try failed lets go of its record, however
// near the next one is.
func TestQuickRetriesHoldUpNoOther(t *testing.T) {
	for _, cause := range []error{errNo, delivery.SinkAway(errNo)} {
		k := newDesk(t)
		k.put("bad", 1)
		k.poison(1, cause)
		quick := k.patient()
		quick.Retries = []time.Duration{200 * time.Millisecond}
		for _, want := range []events.DynamoDBEventResponse{failedAt("1"), allWell, allWell} {
			k.streamTo(quick, want, moved(1, "bad", 0, 1))
			k.pass(200 * time.Millisecond)
		}
	}
}

// madeAt is a record with the time at which it was made.
func madeAt(at time.Time, record json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.Replace(string(record), `"dynamodb":{`,
		fmt.Sprintf(`"dynamodb":{"ApproximateCreationDateTime":%d.0,`, at.Unix()), 1))
}

// TestAQueueWithMuchLetsOthersGoFirst: when its turn is over it lets go of its record, and is woken
// up again, behind what waits by then.
func TestAQueueWithMuchLetsOthersGoFirst(t *testing.T) {
	k := newDesk(t)
	k.put("much", upTo(1, 20)...)
	k.fails = func(delivery.Batch) error { k.pass(6 * time.Second); return nil }
	for turn, want := range [][]string{
		{"much 1,2,3 #1", "much 4,5,6 #1"}, {"much 7,8,9 #1", "much 10,11,12 #1"}, {"much 13,14,15 #1", "much 16,17,18 #1"},
	} {
		check.That(t, k.notified("much", func() { k.stream(allWell, moved(turn+1, "much", 0, 20)) }),
			"turn %d: it is not woken up again", turn)
		k.gets(want...)
	}
	check.That(t, !k.notified("much", func() { k.stream(allWell, moved(9, "much", 0, 20)) }),
		"it is woken up for nothing")
	k.gets("much 19,20 #1")
	// Where it cannot be woken up, the record comes again.
	k.put("much", upTo(21, 29)...)
	k.away("notify", "")
	k.stream(failedAt("10"), moved(10, "much", 20, 29))
}

// TestAQueueThatGoesOnFailingLetsOthersGo: a record is handed out again for half a minute, whether
// the queue's store fails or its sink.
func TestAQueueThatGoesOnFailingLetsOthersGo(t *testing.T) {
	k := newDesk(t)
	k.put("bad", 1)
	k.away("", "")
	record := madeAt(k.now, moved(2, "bad", 0, 1))
	k.stream(failedAt("2"), record)
	k.pass(30 * time.Second)
	k.stream(failedAt("2"), record)
	k.pass(time.Second)
	k.stream(allWell, record)
	k.queues.fail = nil
	k.fails = func(delivery.Batch) error { return errors.New("no") }
	k.stream(allWell, record)
	k.stream(failedAt("3"), madeAt(k.now, moved(3, "bad", 0, 1)))
}

// TestBadRecords: the mapping is notified of the first; every queue that can be read is delivered
// all the same.
func TestBadRecords(t *testing.T) {
	for name, record := range map[string]string{
		"no JSON":                 `nonsense`,
		"another table":           `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","NewImage":{"id":{"S":"x"}}}}`,
		"a newer version":         strings.ReplaceAll(string(moved(2, "x", 0, 1)), `"v":{"N":"1"}`, `"v":{"N":"99"}`),
		"keys only":               `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","Keys":{"queue":{"S":"x"}}}}`,
		"a name that is too long": strings.ReplaceAll(string(moved(2, "x", 0, 1)), `{"S":"x"}`, `{"S":"`+strings.Repeat("x", 1025)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.put("a", 1)
			k.put("b", 1)
			handle := check.Get(delivery.OnStream(k.d, cursor.Names{}, k.reader()))
			got, err := handle(t.Context(), table.StreamEvent{Records: []json.RawMessage{
				moved(1, "a", 0, 1), json.RawMessage(record), moved(3, "b", 0, 1),
			}})
			if name == "no JSON" {
				// It cannot be named: the whole event comes again.
				check.That(t, err != nil, "%+v; want an error", got)
			} else if diff := cmp.Diff(failedAt("2"), got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			k.gets("a 1 #1", "b 1 #1")
		})
	}
}

func TestReadersOfAStream(t *testing.T) {
	k := newDesk(t)
	k.put("orders/1", 1)
	k.put("other", 1)
	r, wrong := k.reader(), k.reader()
	r.Prefix = "orders/"
	all := k.reader()
	all.Name = "all"
	handle := check.Get(delivery.OnStream(k.d, cursor.Names{}, r, all))
	check.Get(handle(t.Context(),
		table.StreamEvent{Records: []json.RawMessage{moved(1, "orders/1", 0, 1),
			moved(2, "other", 0, 1)}}))
	k.gets("orders/1 1 #1", "orders/1 1 #1", "other 1 #1")
	wrong.Name = "no such name"
	invalid(t, check.Err(delivery.OnStream(k.d, cursor.Names{}, r, wrong)), "consumer")
}

// eagerly has queues delivered at once, to the desk's reader where it is eager.
func (k *desk) eagerly(positions map[string]int64) {
	k.t.Helper()
	eager, other := k.reader(), k.reader()
	eager.Eager, other.Name = true, "other"
	k.d.Inside(request.Inside{}).DeliverMoved(k.t.Context(), positions, other, eager)
}

// TestDeliverMoved: eager readers get what was moved, once, however often and in whatever order
// they are called, and records come; no others do.
func TestDeliverMoved(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1, 2, 3)
	k.put("b", 1)
	k.eagerly(map[string]int64{"a": 2, "b": 1})
	k.gets("a 1,2 #1", "b 1 #1")
	k.stream(allWell, moved(1, "a", 0, 2), moved(2, "b", 0, 1))
	k.gets()
	k.stream(allWell, moved(3, "a", 2, 3))
	k.gets("a 3 #1")
	// Late, again, of a position that the queue does not have, and of a queue that nobody has.
	k.eagerly(map[string]int64{"a": 1, "b": 100, "none": 7})
	k.gets()
	k.at("b", 1, delivery.Idle)
	check.That(t, check.Err(k.sorter.Status(t.Context(), "none")) != nil, "a hint made the queue")
	// nor is its kind fixed
	k.must(k.sorter.Put(t.Context(), cursor.Message{Queue: "none", Seq: cursor.NoSeq, ID: "a"})[0].Err)
	k.troubled("a position that the queue does not have is no loss", "")
	// An erased queue has nothing.
	check.Get(k.d.Inside(request.Inside{}).Erase(t.Context(),
		delivery.Order{Queue: "b", Op: "e", Reason: "a test"}))
	k.eagerly(map[string]int64{"b": 2})
	k.gets()
}

// TestDeliverMovedFails: a sink that fails has its retry, as behind the stream; what the store
// refuses is woken up, since the record of the stream may have come meanwhile.
func TestDeliverMovedFails(t *testing.T) {
	w := newWoken(t, 1)
	w.fails = func(delivery.Batch) error { return errNo }
	w.eagerly(map[string]int64{"q": 1})
	w.gets("q 1 #1")
	w.tells("q c 1s")
	w.fails = nil
	w.eagerly(map[string]int64{"q": 1}) // its time has not come
	w.gets()
	w.tells("q c 1s")
	w.pass(time.Second)
	w.away("", "")
	w.eagerly(map[string]int64{"q": 1})
	w.gets()
	w.tells("q c 6s")
	w.eagerly(map[string]int64{"": 1}) // what can never be delivered is not tried again
	w.tells()
}

// TestAStartIsFinishedInPieces: a rewind over more than one invocation has time for gets on with
// each one that dies, no matter which, and begins where it was set.
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
		sorter := check.Get(cursor.New(k.queues.on(queues),
			&cursor.Options{ForEach: fanout.OneByOne, Now: clock}))
		return check.Get(delivery.New(k.store, sorter,
			&delivery.Options{ForEach: fanout.OneByOne, Now: clock}))
	}
	check.Fails(t,
		check.Err(invocation(5).Operate(t.Context(), rewinds(order("back"), delivery.First))), killed)
	for n := 0; k.standing("q").Starting != ""; n++ {
		check.Need(t, n != 4, "after %d invocations it still starts: %+v", n, k.standing("q"))
		done := invocation(4).Deliver(t.Context(), "q", k.reader(), -1)
		check.That(t, done.Batches <= 0 || k.standing("q").Starting == "", "it delivers, and starts")
	}
	c := k.standing("q")
	check.That(t, c.KeptFrom == 0 && c.Rewinds == 1, "%+v", c)
	k.got = nil
	r := k.reader()
	r.MaxMessages = 1000
	k.to(r, "q", "")
	k.at("q", last, delivery.Idle)
}

// TestAStartWhoseTurnIsOver: it is Starting still, no claim is made, and it is gone on with.
func TestAStartWhoseTurnIsOver(t *testing.T) {
	k := newDesk(t, upTo(1, 3500)...)
	k.slow("messages", "", 11*time.Second)
	c := check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	check.That(t, c.Starting != "" && c.KeptFrom == 2501, "%+v; want that it is not done", c)
	report := k.sweep(delivery.SweepOptions{})
	check.That(t, report.Started == 0 && report.Notified == 1, "%+v", report)
	check.Is(t, k.standing("q").KeptFrom, 1501)
	k.queues.fail = nil
	check.Is(t, k.sweep(delivery.SweepOptions{}).Started, 1)
	k.at("q", 0, delivery.Idle)
}

// TestStartsOfAQueueHaveOneTurn of a sweep's run: many of them keep no other queue waiting.
func TestStartsOfAQueueHaveOneTurn(t *testing.T) {
	k := newDesk(t, upTo(1, 3500)...)
	k.sweep(delivery.SweepOptions{}) // from here on only the round of the gaps is due
	const consumers = 10
	for n := range consumers {
		c := delivery.Consumer{Queue: "q", Name: fmt.Sprint("c", n), State: delivery.Idle,
			Control: delivery.Control{Starting: "op", LastOp: "op"}}
		check.Get2(k.store.Requests(request.Inside{}).CreateConsumer(t.Context(), c))
	}
	k.slow("messages", "", 3*time.Second)
	began := k.now
	report := k.sweep(delivery.SweepOptions{})
	check.Is(t, k.now.Sub(began), 6*time.Second, "a turn of 5s, to the end of a piece")
	check.Is(t, report.Notified, 1)
	for n := 0; report.Started < consumers; n++ {
		check.Need(t, n != 30, "%+v; want that all are started", report)
		k.pass(5 * time.Minute)
		report.Started += k.sweep(delivery.SweepOptions{}).Started
	}
}

// woken is a desk that notes which wake-ups its deliverer notified of, by the time after its start.
type woken struct {
	*desk
	queuesMeter, consumersMeter *ddbtest.Meter
	begin                       time.Time
	notified                    []string
}

func newWoken(t *testing.T, seqs ...int64) *woken {
	w := &woken{desk: newDesk(t, seqs...)}
	w.begin = w.now
	w.queuesMeter, w.consumersMeter = ddbtest.NewMeter(w.queues), ddbtest.NewMeter(w.consumers)
	w.store = w.storeOn(w.consumersMeter.Do)
	clock := func() time.Time { return w.now }
	w.sorter = check.Get(cursor.New(w.queues.on(w.queuesMeter),
		&cursor.Options{ForEach: fanout.OneByOne, Now: clock}))
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
	w.operates(does("pause", order("p")))
	w.pass(10 * time.Second)
	w.wake(delivery.SweepReport{}, "", 1) // paused
	w.operates(does("resume", order("r")))
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
	w := newWoken(t, 1, 2)
	check.Get(w.d.Create(t.Context(), "q", "c", delivery.First))
	w.claims("q", 2, time.Minute)
	w.ends("q", endedBusy)
	w.tells("q c 1m0.001s")
	w.pass(time.Minute)
	w.wake(delivery.SweepReport{}, "1m0.001s", 1) // it is good until then
	w.pass(time.Millisecond)
	// with the row of a consumer whose worker died
	w.wake(delivery.SweepReport{Notified: 1, Cancelled: 1}, "", 7)
	w.ends("q", endedCaughtUp)
	w.gets("q 1,2 #2")
	w.wake(delivery.SweepReport{}, "", 2)
	_, _, err := w.d.Wake(t.Context(), "q", "no/name", delivery.SweepOptions{})
	check.That(t, err != nil, "a name that none can have is no error")

	// One of days, such as a tracked claim's, is notified of in its last hour.
	w.begin = w.now
	w.put("q", 3)
	w.claims("q", 3, 48*time.Hour)
	w.ends("q", endedBusy)
	w.tells()
	w.pass(47*time.Hour + time.Millisecond)
	w.ends("q", endedBusy)
	w.tells("q c 48h0m0.001s")
}

// TestWakeUpsOfARecordThatComesAgain: a retry that the mapping itself makes needs none.
func TestWakeUpsOfARecordThatComesAgain(t *testing.T) {
	w := newWoken(t, 1)
	w.poison(1, errors.New("no"))
	w.stream(failedAt("1"), moved(1, "q", 0, 1)) // in a second: by the mapping
	w.tells()
	w.pass(time.Second)
	w.stream(allWell, moved(1, "q", 0, 1))
	w.tells("q c 11s")
	w.stream(allWell, moved(2, "q", 0, 1))
	w.tells("q c 11s")
}

// TestAHintBeyondThePositionStallsNothing: what comes before the commit of a batch is delivered,
// whatever position was hinted.
func TestAHintBeyondThePositionStallsNothing(t *testing.T) {
	for name, position := range map[string]int64{"right": 1, "too great": 9} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t, 1)
			done := false
			k.see = func(r ddb.Request) error {
				if r.Name() == "commit" && !done {
					done = true
					k.put("q", 2)
					k.stream(allWell, moved(1, "q", 1, 2))
				}
				return nil
			}
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
			k := newDesk(t, 1)
			race, reads := false, 0
			k.see = func(r ddb.Request) error {
				if r.Name() == "commit" && race {
					race = false
					k.put("q", 4)
					k.stream(allWell, moved(4, "q", 3, 4))
				}
				return nil
			}
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
			check.Is(t, reads, 1, "reads of the queue for one message")
			k.put("q", 3)
			race = true
			k.stream(allWell, moved(3, "q", 2, 3))
			k.gets("q 3 #1", "q 4 #1")
			check.That(t, k.standing("q").Asked <= 4, "asked is %d", k.standing("q").Asked)
		})
	}
}
