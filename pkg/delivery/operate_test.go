package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func order(op string) delivery.Order {
	return delivery.Order{Queue: "q", Consumer: "c", Reason: "because", Op: op}
}

func (k *desk) operations(want ...string) {
	k.t.Helper()
	page, next := check.Get2(k.d.Inside(request.Inside{}).Audit(k.t.Context(), "q", ""))
	var got []string
	for _, a := range page {
		check.That(k.t, a.Queue == "q" && a.Consumer == "c" && a.Reason == "because" && !a.At.IsZero(),
			"%+v", a)
		got = append(got, fmt.Sprintf("%s %d done=%v %s", a.Kind, a.Seq, a.Done, a.Error))
	}
	diff := cmp.Diff(want, got)
	check.That(k.t, diff == "" && next == "", "operations (-want +got), next %q:\n%s", next, diff)
}

func TestSkip(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	k.block("q", 2)
	invalid(t, check.Err(k.d.Operate(t.Context(), skips(order("wrong"), 3))), "seq")
	k.pass(time.Second)
	c := check.Get(k.d.Operate(t.Context(), skips(order("op"), 2)))
	check.That(t, c.Delivered == 2 && c.State == delivery.Idle && c.Error == "", "%+v", c)
	// The same order again, and another that comes too late.
	check.Get(k.d.Operate(t.Context(), skips(order("op"), 2)))
	k.at("q", 2, delivery.Idle)
	k.pass(time.Second)
	_, err := k.d.Operate(t.Context(), skips(order("other"), 3))
	check.That(t, refused(err, "not-blocked"), "error %v, want that it is not blocked", err)
	k.ends("q", endedCaughtUp)
	k.gets("q 3 #1")
	k.operations("skip 3 done=false the message at the consumer's head did not fail", "skip 2 done=true ",
		"skip 3 done=false seq is 3: the message at the consumer's head is 2")
}

// TestSkipBeforeItBlocks: a message that failed is skipped, or tried at once, by an operator's
// order, however long the consumer would wait; one that is being tried, or failed only with others,
// is not.
func TestSkipBeforeItBlocks(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	skip := func(op string, seq int64) error {
		_, err := k.d.Operate(t.Context(), skips(order(op), seq))
		return err
	}
	k.poison(2, errors.New("no"))
	k.ends("q", endedFailed)
	if err := skip("with others", 1); !refused(err, "not-blocked") || !strings.Contains(err.Error(), "with others up to 3") {
		t.Errorf("failed with others: %v", err)
	}
	// Each redrive is a try at once, and the batch comes by halves.
	c := check.Get(k.d.Operate(t.Context(), redrives(order("now"), 1)))
	check.That(t, c.RetryAt.IsZero() && !c.Fails(), "redriven: %+v", c)
	k.ends("q", endedFailed)
	if c = k.at("q", 1, delivery.Idle); c.To != 2 {
		check.Get(k.d.Operate(t.Context(), redrives(order("now again"), 2)))
		k.ends("q", endedFailed)
		c = k.at("q", 1, delivery.Idle)
	}
	check.Need(t, !c.RetryAt.IsZero(), "nothing is waited for: %+v", c)
	k.must(skip("op", 2))
	k.must(skip("op", 2))
	c = k.at("q", 2, delivery.Idle)
	check.That(t, !c.Fails() && c.Last[0].N == 0, "skipped: %+v", c)
	k.got = nil
	k.ends("q", endedCaughtUp)
	k.gets("q 3 #1")
}

func TestPauseAndResume(t *testing.T) {
	k := newDesk(t, upTo(1, 6)...)
	k.fails = func(delivery.Batch) error {
		_, err := k.d.Operate(t.Context(), does("pause", order("p")))
		return err
	}
	// What is out ends normally.
	k.ends("q", endedPaused)
	k.gets("q 1,2,3 #1")
	c := k.at("q", 3, delivery.Idle)
	check.That(t, c.Paused == "because" && c.PausedSince.Equal(k.now), "%+v", c)
	k.ends("q", endedPaused)
	k.fails = nil
	k.pass(time.Second)
	before := check.Get(k.sorter.Status(t.Context(), "q"))
	check.Get(k.d.Operate(t.Context(), does("resume", order("r"))))
	after := check.Get(k.sorter.Status(t.Context(), "q"))
	check.That(t, after.Notified.After(before.Notified), "nobody is woken up")
	k.ends("q", endedCaughtUp)
	k.gets("q 4,5,6 #1")
	k.operations("resume -1 done=true ", "pause -1 done=true ")
}

func TestRewind(t *testing.T) {
	k := newDesk(t, upTo(1, 6)...)
	k.ends("q", endedCaughtUp)
	k.got = nil
	for _, c := range []struct {
		to   delivery.Start
		want int64
	}{{delivery.At(5), 4}, {delivery.First, 0}, {delivery.Latest, 6}, {delivery.At(7), 6}, {delivery.At(1), 0}} {
		k.pass(time.Second)
		got := check.Get(k.d.Operate(t.Context(), rewinds(order(fmt.Sprint(c.to, k.now.Second())), c.to)))
		check.That(t, got.Delivered == c.want && got.Starting == "" && got.State == delivery.Idle,
			"to %s: %+v; want at %d", c.to, got, c.want)
	}
	k.ends("q", endedCaughtUp)
	k.gets("q 1,2,3 #1", "q 4,5,6 #1")
	check.Is(t, k.standing("q").Rewinds, 5)
	invalid(t, check.Err(k.d.Operate(t.Context(), rewinds(order("beyond"), delivery.At(8)))), "start")
	check.Get(k.sorter.Inside(queuelog.Inside{}).RaiseFloor(t.Context(), "q", 3))
	invalid(t, check.Err(k.d.Operate(t.Context(), rewinds(order("below the floor"), delivery.At(3)))), "start")
	k.at("q", 6, delivery.Idle)
	got := check.Get(k.d.Operate(t.Context(), rewinds(order("first above the floor"), delivery.First)))
	check.That(t, got.Delivered == 3, "first is %d, want 3", got.Delivered)
}

func TestBadOrders(t *testing.T) {
	k := newDesk(t, 1)
	check.Fails(t, check.Err(k.d.Operate(t.Context(), does("pause", order("op")))), delivery.ErrNoConsumer)
	k.ends("q", endedCaughtUp)
	for field, change := range map[string]func(*delivery.Order){
		"reason":   func(o *delivery.Order) { o.Reason = "" },
		"id":       func(o *delivery.Order) { o.Op = strings.Repeat("x", 65) },
		"consumer": func(o *delivery.Order) { o.Consumer = "a b" },
		"queue":    func(o *delivery.Order) { o.Queue = "" },
	} {
		o := order("op")
		change(&o)
		invalid(t, check.Err(k.d.Operate(t.Context(), does("pause", o))), field)
		invalid(t, check.Err(k.d.Operate(t.Context(), skips(o, 1))), field)
	}
	for _, kind := range []string{"", "create", "Skip", "restart-keys"} {
		invalid(t, check.Err(k.d.Operate(t.Context(), does(kind, order("op")))), "kind")
	}
	settle := order("op")
	settle.Token = delivery.Token{N: 1, Req: "a"}
	invalid(t, check.Err(k.d.Operate(t.Context(), does("settle", settle))), "outcome")
	long := order("op")
	long.Reason = strings.Repeat("x", 501)
	invalid(t, check.Err(k.d.Operate(t.Context(), does("resume", long))), "reason")
	k.operations()
	check.Fails(t, check.Err(k.d.Status(t.Context(), "none")), cursor.ErrNoQueue)
}

// TestAnIDIsOfOneOperation: under the id of one, nothing else is done; the same again is safe, also
// when others came between.
func TestAnIDIsOfOneOperation(t *testing.T) {
	k := newDesk(t, upTo(1, 6)...)
	k.ends("q", endedCaughtUp)
	check.Get(k.d.Create(t.Context(), "q", "d", delivery.First))
	check.Get(k.d.Operate(t.Context(), rewinds(order("op"), delivery.First)))
	k.pass(time.Second)
	consumer, reason := order("op"), order("op")
	consumer.Consumer, reason.Reason = "d", "why not"
	for what, other := range map[string]delivery.Order{
		"another place": rewinds(order("op"), delivery.Latest), "another action": does("pause", order("op")),
		"another consumer": rewinds(consumer, delivery.First), "another reason": rewinds(reason, delivery.First),
	} {
		_, err := k.d.Operate(t.Context(), other)
		check.That(t, refused(err, "id-taken"), "%s: error %v, want that the id is taken", what, err)
	}
	c := k.at("q", 0, delivery.Idle)
	check.That(t, c.Rewinds == 1 && c.Paused == "", "%+v; want nothing done but the first", c)
	again := order("op")
	again.Who = delivery.Who{Kind: "iam", Name: "arn"}
	check.Is(t, check.Get(k.d.Operate(t.Context(), rewinds(again, delivery.First))).Rewinds, 1)
	k.operations("rewind -1 done=true ")
}

// TestWhatIsOnRecord: who asked for what, and who made a consumer.
func TestWhatIsOnRecord(t *testing.T) {
	k := newDesk(t, upTo(1, 3)...)
	ann, app := delivery.Who{Kind: "iam", Name: "arn:ann"}, delivery.Who{Kind: "jwt", Name: "ben", Client: "app"}
	for range 2 { // it is made once
		check.Get(k.createOf(cursor.KindNumbered, app, "q", "c", delivery.At(2)))
	}
	k.pass(time.Second)
	invalid(t, check.Err(k.d.Inside(request.Inside{}).CreateFor(t.Context(), app, "q", "late", delivery.At(9), nil)), "start")
	k.pass(time.Second)
	o := order("op")
	o.Who = ann
	check.Get(k.d.Operate(t.Context(), rewinds(o, delivery.Latest)))
	page, _ := check.Get2(k.d.Inside(request.Inside{}).Audit(t.Context(), "q", ""))
	for i := range page {
		page[i].At, page[i].Op, page[i].Queue = time.Time{}, "", ""
	}
	at2 := map[string]string{"start": "2", "kind": "numbered"}
	want := []delivery.Operation{
		{Consumer: "c", Kind: "rewind", Seq: -1, Reason: "because", Request: map[string]string{"start": "latest"}, Who: ann, Done: true},
		{Consumer: "late", Kind: "create", Seq: -1, Request: map[string]string{"start": "9"}, Who: app, Error: "start is 9: it must be from 1 to 4"},
		{Consumer: "c", Kind: "create", Seq: -1, Request: at2, Who: app, Done: true},
	}
	check.Is(t, cmp.Diff(want, page), "")
}

// TestWhatTheStoreSaysIsNotOnRecord: it may name tables and roles, and is for the log.
func TestWhatTheStoreSaysIsNotOnRecord(t *testing.T) {
	k := newDesk(t, upTo(1, 3)...)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.At(1)))
	k.queues.fail = func(string, string) error { return fmt.Errorf("table arn:of-ours: %w", cursor.ErrThrottled) }
	check.Fails(t, check.Err(k.d.Operate(t.Context(), rewinds(order("op"), delivery.Latest))), cursor.ErrThrottled)
	k.queues.fail = nil
	k.operations("rewind -1 done=false it failed inside, and may have been done: the log says why")
	check.Get(k.d.Operate(t.Context(), rewinds(order("op"), delivery.Latest)))
	k.operations("rewind -1 done=true ")
}

func TestReadStart(t *testing.T) {
	for text, want := range map[string]delivery.Start{`"first"`: delivery.First, `"latest"`: delivery.Latest, `"17"`: delivery.At(17), `17`: delivery.At(17)} {
		var got delivery.Start
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want || got.String() != strings.Trim(text, `"`) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`""`, `null`, `-1`, `1.0`, `" 1"`, `"last"`, `{}`, `["first"]`} {
		var got delivery.Start
		if err := got.UnmarshalJSON([]byte(text)); err == nil || err.Error() != "must be first, latest or a seq: it is "+text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func (k *desk) createOf(kind cursor.Kind, who delivery.Who, queue, name string, start delivery.Start) (delivery.Consumer, error) {
	return k.d.Inside(request.Inside{}).CreateFor(k.t.Context(), who, queue, name, start, &kind)
}

// TestCreateSaysTheKind: a consumer that is made before its queue says of which kind it is to be;
// later that is fixed.
func TestCreateSaysTheKind(t *testing.T) {
	k := newDesk(t)
	check.Get(k.createOf(cursor.KindArrival, delivery.Who{}, "new", "c", delivery.Latest))
	added := k.sorter.Put(t.Context(), cursor.Message{Queue: "new", Seq: cursor.NoSeq, ID: "a", Body: []byte("1")})[0]
	check.That(t, added.Err == nil && added.Outcome == cursor.Advanced,
		"%s, %v", added.Outcome, added.Err)
	_, err := k.createOf(cursor.KindNumbered, delivery.Who{}, "new", "d", delivery.First)
	check.That(t, errors.Is(err, cursor.ErrFixed), "error %v", err)
	check.Is(t, len(check.Get(k.d.Status(t.Context(), "new"))), 1)
}

// TestCreateTwice: the one that is there stays where it is.
func TestCreateTwice(t *testing.T) {
	k := newDesk(t, 1, 2)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	k.ends("q", endedCaughtUp)
	c := check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	check.That(t, c.Delivered == 2, "it is at %d, want at 2", c.Delivered)
	// A queue that nobody put to yet.
	c = check.Get(k.d.Create(t.Context(), "new", "c", delivery.Latest))
	check.That(t, c.Delivered == 0 && c.Starting == "", "%+v", c)
	k.put("new", 1)
	k.got = nil
	k.ends("new", endedCaughtUp)
	k.gets("new 1 #1")
}

func erasure(op string) delivery.Order {
	return delivery.Order{Queue: "q", Reason: "because", Op: op}
}

// erase erases "q", and deletes as much as one call does.
func (k *desk) erase() (cursor.Cursor, cursor.Remains) {
	k.t.Helper()
	c := check.Get(k.d.Inside(request.Inside{}).Erase(k.t.Context(), erasure("op")))
	c, deleted := check.Get2(k.d.Inside(request.Inside{}).EraseMore(k.t.Context(), c, nil))
	return c, deleted
}

func (k *desk) left(messages, consumers int) {
	k.t.Helper()
	got, all := check.Get2(k.d.Inside(request.Inside{}).Erasable(k.t.Context(), "q"))
	check.That(k.t, got.Messages == messages && len(all) == consumers,
		"%d messages and %d consumers are left, want %d and %d", got.Messages, len(all), messages, consumers)
}

func TestErase(t *testing.T) {
	k := newDesk(t)
	_, err := k.d.Inside(request.Inside{}).Erase(t.Context(), erasure("op"))
	check.That(t, errors.Is(err, cursor.ErrNoQueue), "a queue that is not there: %v", err)
	k.put("q", upTo(1, 6)...)
	k.ends("q", endedCaughtUp)
	check.Get(k.d.Create(t.Context(), "q", "d", delivery.First))
	check.Get(k.d.Operate(t.Context(), does("pause", delivery.Order{Queue: "q", Consumer: "d", Reason: "because", Op: "p"})))
	k.left(6, 2)
	k.pass(time.Second)

	invalid(t, check.Err(k.d.Inside(request.Inside{}).Erase(t.Context(), order("op"))), "consumer")
	invalid(t, check.Err(k.d.Inside(request.Inside{}).Erase(t.Context(), delivery.Order{Queue: "q", Op: "op"})), "reason")
	_, err = k.d.Inside(request.Inside{}).Erase(t.Context(), erasure("p"))
	check.That(t, refused(err, "id-taken"), "by the id of another operation: %v", err)
	k.left(6, 2)
	stub, deleted := k.erase()
	diff := cmp.Diff(cursor.Remains{Messages: 6}, deleted)
	check.That(t, diff == "" && stub.Erasure.Last == 6, "%+v, %+v", stub, deleted)
	k.left(0, 0)
	if stub, deleted := k.erase(); deleted != (cursor.Remains{}) || stub.Erasure.Op != "op" {
		t.Errorf("again: %+v, %+v", stub, deleted)
	}
	k.pass(time.Second)
	c := check.Get(k.d.Inside(request.Inside{}).Erase(t.Context(), erasure("op 2")))
	check.Is(t, c.Erasure.Op, "op", c)

	// The consumers' functions go on as if there were nothing.
	check.Is(t, ending(k.d.Deliver(t.Context(), "q", k.reader(), -1)), endedErased)
	k.stream(allWell, moved(7, "q", 0, 6))
	_, err = k.d.Create(t.Context(), "q", "c", delivery.First)
	check.That(t, errors.Is(err, cursor.ErrErased), "a new consumer: %v", err)
	report := k.sweep(delivery.SweepOptions{Readers: []delivery.Reader{k.reader()}})
	check.That(t, report.Failed == 0 && report.Missing == 0 && len(k.announced) == 0,
		"the sweep: %+v, %v", report, k.announced)
	page, _ := check.Get2(k.d.Inside(request.Inside{}).Audit(t.Context(), "q", ""))
	var on []string
	for _, o := range page {
		on = append(on, o.Kind+" "+o.Op)
	}
	check.Is(t, cmp.Diff([]string{"erase op 2", "erase op", "pause p"}, on), "")
}

// TestSweepErasesWhatConsumersKept: a queue is not erased before they have nothing of it, nor
// before a late process may have kept something; then they are not asked any more.
func TestSweepErasesWhatConsumersKept(t *testing.T) {
	k := newDesk(t, 1)
	k.ends("q", endedCaughtUp)
	check.Get(k.d.Inside(request.Inside{}).Erase(t.Context(), erasure("op")))
	kept, failed := 3, errors.New("no answer")
	options := delivery.SweepOptions{Sorter: cursor.SweepOptions{FullEvery: time.Minute}, Erase: func(_ context.Context, queue string) (bool, error) {
		check.That(t, queue == "q" && kept != 0, "asked for queue %q, where %d are kept", queue, kept)
		if failed != nil {
			return true, failed
		}
		kept--
		return kept > 0, nil
	}}
	emptied := func() bool {
		c, err := k.sorter.Inside(queuelog.Inside{}).ErasureOf(t.Context(), "q")
		k.must(err)
		return !c.Erasure.Emptied.IsZero()
	}
	k.pass(2 * cursor.EraseGrace)
	check.Fails(t, check.Err(k.d.Sweep(t.Context(), options)), failed)
	failed = nil
	for range 5 {
		check.That(t, emptied() == (kept == 0), "erased %v, and %d are kept", emptied(), kept)
		k.pass(48 * time.Hour)
		k.sweep(options)
	}
}

// TestEraseEndsClaims: a consumer at work on a batch learns at its commit that nothing is there any
// more.
func TestEraseEndsClaims(t *testing.T) {
	k := newDesk(t, upTo(1, 6)...)
	k.fails = func(delivery.Batch) error {
		k.erase()
		return nil
	}
	done := k.d.Deliver(t.Context(), "q", k.reader(), -1)
	check.That(t, ending(done) == endedLost || ending(done) == endedErased, "%+v", done)
	k.gets("q 1,2,3 #1")
	k.left(0, 0)
}

// sending leaves the consumer of "q" with replies on their way to the queues "x", and "n", which is
// full.
func (k *desk) sending() delivery.Delivery {
	k.t.Helper()
	ahead := int64(1)
	check.Get(k.sorter.Configure(k.t.Context(), "n", cursor.Change{MaxAhead: &ahead}))
	k.fails = func(b delivery.Batch) error {
		seq := int64(3)
		return b.Reply(delivery.Reply{Queue: "x", Body: []byte("first")}, delivery.Reply{Queue: "n", Seq: &seq, Body: []byte("far")})
	}
	k.put("q", 1)
	defer k.at("q", 0, delivery.Sending)
	return k.ends("q", endedReplying)
}

// TestEraseWaitsForReplies: what a batch was committed with reaches its queue.
func TestEraseWaitsForReplies(t *testing.T) {
	k := newDesk(t)
	k.sending()
	_, done := k.erase()
	check.That(t, done.More, "%+v, want the consumer left", done)
	k.left(0, 1)
	k.pass(20 * time.Minute)
	c := check.Get(k.d.Inside(request.Inside{}).Erase(t.Context(), erasure("op")))
	_, _, err := k.d.Inside(request.Inside{}).EraseMore(t.Context(), c, nil)
	check.That(t, refused(err, "full"), "error %v, want ErrNoRoom", err)
	k.put("n", 1, 2)
	k.erase()
	k.left(0, 0)
	k.arrived("n", "1", "2", "far")
}

// TestRepliesToAnErasedQueue are refused, and hold nobody up.
func TestRepliesToAnErasedQueue(t *testing.T) {
	k := newDesk(t)
	k.sending()
	o := erasure("op")
	o.Queue = "n"
	check.Get(k.d.Inside(request.Inside{}).Erase(t.Context(), o))
	k.pass(20 * time.Minute)
	k.ends("q", endedCaughtUp)
	if c := k.at("q", 1, delivery.Idle); c.Refused.N != 1 || c.Refused.Why != "the queue was erased: its name cannot be used again" {
		t.Errorf("%+v", c.Refused)
	}
	// A new batch with such a reply fails, and the queue is not taken for the erased one.
	k.put("q", 2)
	done := k.ends("q", endedFailed)
	check.That(t, errors.Is(done.Cause, cursor.ErrErased), "%+v", done)
}

// TestEraseEndsTrackedClaims: the chain of a claim in flight is deleted, where there are chains.
func TestEraseEndsTrackedClaims(t *testing.T) {
	k := newTrackedDesk(t, upTo(1, 3)...)
	r := k.reader()
	r.Track = time.Hour
	done := k.d.Deliver(t.Context(), "q", r, -1)
	check.Need(t, ending(done) == endedDeferred, "%+v", done)
	tag := delivery.ChainOf(k.standing("q"))
	without := k.deliverer(delivery.Options{})
	c := check.Get(without.Inside(request.Inside{}).Erase(t.Context(), erasure("op")))
	_, left := check.Get2(without.Inside(request.Inside{}).EraseMore(t.Context(), c, nil))
	check.That(t, left.More, "%+v", left)
	k.left(0, 1)
	k.erase()
	k.left(0, 0)
	check.Is(t, check.Get(k.acker.Get(t.Context(), tag)).End(), xorack.Deleted)
}
