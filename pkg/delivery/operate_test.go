package delivery_test

import (
	"context"
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
		check.That(k.t, a.Queue == "q" && a.Consumer == "c" && a.Reason == "because" &&
			!a.At.IsZero(), "%+v", a)
		got = append(got, fmt.Sprintf("%s %d done=%v %s", a.Kind, a.Seq, a.Done, a.Error))
	}
	diff := cmp.Diff(want, got)
	check.That(k.t, diff == "" && next == "", "operations (-want +got), next %q:\n%s", next, diff)
}

// TestSkipBeforeItBlocks: a message that failed is skipped, or tried at once, by an operator's
// order, however long the consumer would wait; one that is being tried, or failed only with others,
// is not.
func TestSkipBeforeItBlocks(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	skip := func(op string, seq int64) error {
		return check.Err(k.d.Operate(t.Context(), skips(order(op), seq)))
	}
	k.poison(2, errors.New("no"))
	k.ends("q", endedFailed)
	err := skip("with others", 1)
	check.That(t, refused(err, "not-blocked") && strings.Contains(err.Error(), "with others up to 3"),
		"failed with others: %v", err)
	// Each redrive is a try at once, and the batch comes by halves.
	c := k.operates(redrives(order("now"), 1))
	check.That(t, c.RetryAt.IsZero() && !c.Fails(), "redriven: %+v", c)
	k.ends("q", endedFailed)
	if c = k.at("q", 1, delivery.Idle); c.To != 2 {
		k.operates(redrives(order("now again"), 2))
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

// TestWhatTheStoreSaysIsNotOnRecord: it may name tables and roles, and is for the log.
func TestWhatTheStoreSaysIsNotOnRecord(t *testing.T) {
	k := newDesk(t, upTo(1, 3)...)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.At(1)))
	k.queues.fail = func(string, string) error {
		return fmt.Errorf("table arn:of-ours: %w", cursor.ErrThrottled)
	}
	check.Fails(t, check.Err(k.d.Operate(t.Context(), rewinds(order("op"), delivery.Latest))),
		cursor.ErrThrottled)
	k.queues.fail = nil
	k.operations("rewind -1 done=false it failed inside, and may have been done: the log says why")
	k.operates(rewinds(order("op"), delivery.Latest))
	k.operations("rewind -1 done=true ")
}

func (k *desk) createOf(kind cursor.Kind, who delivery.Who, queue, name string,
	start delivery.Start) (delivery.Consumer, error) {
	return k.d.Inside(request.Inside{}).CreateFor(k.t.Context(), who, queue, name, start, &kind)
}

func erasure(op string) delivery.Order {
	return delivery.Order{Queue: "q", Reason: "because", Op: op}
}

// erase erases "q", and deletes as much as one call does.
func (k *desk) erase() (cursor.Cursor, cursor.Remains) {
	k.t.Helper()
	c := check.Get(k.d.Inside(request.Inside{}).Erase(k.t.Context(), erasure("op")))
	return check.Get2(k.d.Inside(request.Inside{}).EraseMore(k.t.Context(), c, nil))
}

func (k *desk) left(messages, consumers int) {
	k.t.Helper()
	got, all := check.Get2(k.d.Inside(request.Inside{}).Erasable(k.t.Context(), "q"))
	check.That(k.t, got.Messages == messages && len(all) == consumers,
		"%d messages and %d consumers are left, want %d and %d", got.Messages,
		len(all), messages, consumers)
}

func TestUnknownOrders(t *testing.T) {
	k := newDesk(t, 1)
	k.ends("q", endedCaughtUp)
	for _, kind := range []string{"", "create", "Skip", "restart-keys"} {
		invalid(t, check.Err(k.d.Operate(t.Context(), does(kind, order("op")))), "kind")
	}
	k.operations()
}

// TestAnErasedQueueIsLeftAlone: the consumers' functions go on as if there were nothing.
func TestAnErasedQueueIsLeftAlone(t *testing.T) {
	k := newDesk(t, upTo(1, 6)...)
	k.ends("q", endedCaughtUp)
	check.Get(k.d.Create(t.Context(), "q", "d", delivery.First))
	about := check.Err(k.d.Inside(request.Inside{}).Erase(t.Context(), order("op")))
	invalid(t, about, "consumer")
	stub, deleted := k.erase()
	check.That(t, deleted == cursor.Remains{Messages: 6} && stub.Erasure.Last == 6,
		"%+v, %+v", stub, deleted)
	k.left(0, 0)
	check.Is(t, ending(k.d.Deliver(t.Context(), "q", k.reader(), -1)), endedErased)
	k.stream(allWell, moved(7, "q", 0, 6))
	report := k.sweep(delivery.SweepOptions{Readers: []delivery.Reader{k.reader()}})
	check.That(t, report.Failed == 0 && report.Missing == 0 && len(k.announced) == 0,
		"the sweep: %+v, %v", report, k.announced)
}

// TestSweepErasesWhatConsumersKept: a queue is not erased before they have nothing of it, nor
// before a late process may have kept something; then they are not asked any more.
func TestSweepErasesWhatConsumersKept(t *testing.T) {
	k := newDesk(t, 1)
	k.ends("q", endedCaughtUp)
	check.Get(k.d.Inside(request.Inside{}).Erase(t.Context(), erasure("op")))
	kept, failed := 3, errors.New("no answer")
	options := delivery.SweepOptions{Sorter: cursor.SweepOptions{FullEvery: time.Minute},
		Erase: func(_ context.Context, queue string) (bool, error) {
			check.That(t, queue == "q" && kept != 0, "asked for queue %q, where %d are kept", queue, kept)
			if failed != nil {
				return true, failed
			}
			kept--
			return kept > 0, nil
		}}
	emptied := func() bool {
		return !check.Get(k.sorter.Inside(queuelog.Inside{}).ErasureOf(t.Context(), "q")).
			Erasure.Emptied.IsZero()
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
		return b.Reply(delivery.Reply{Queue: "x", Body: []byte("first")},
			delivery.Reply{Queue: "n", Seq: &seq, Body: []byte("far")})
	}
	k.put("q", 1)
	defer k.at("q", 0, delivery.Sending)
	return k.ends("q", endedReplying)
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
	refused := k.at("q", 1, delivery.Idle).Refused
	check.Is(t, refused.N, 1)
	check.Is(t, refused.Why, "the queue was erased: its name cannot be used again")
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
	k.to(r, "q", endedDeferred)
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
