package delivery_test

import (
	"context"
	"errors"
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

// erasure is the order to erase "q".
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

// left checks what is left of "q".
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

	_, err = k.d.Inside(request.Inside{}).Erase(t.Context(), order("op"))
	invalid(t, err, "consumer")
	_, err = k.d.Inside(request.Inside{}).Erase(t.Context(), delivery.Order{Queue: "q", Op: "op"})
	invalid(t, err, "reason")
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
	k := newDesk(t)
	k.put("q", 1)
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
	k := newDesk(t)
	k.put("q", upTo(1, 6)...)
	k.fails = func(delivery.Batch) error {
		k.erase()
		return nil
	}
	done := k.d.Deliver(t.Context(), "q", k.reader(), -1)
	check.That(t, ending(done) == endedLost || ending(done) == endedErased, "%+v", done)
	k.gets("q 1,2,3 #1")
	k.left(0, 0)
}

// sending leaves the consumer of "q" with a reply on its way to the queue "n", which is full.
func (k *desk) sending() {
	k.t.Helper()
	ahead := int64(1)
	check.Get(k.sorter.Configure(k.t.Context(), "n", cursor.Change{MaxAhead: &ahead}))
	k.fails = func(b delivery.Batch) error {
		seq := int64(3)
		return b.Reply(delivery.Reply{Queue: "n", Seq: &seq, Body: []byte("far")})
	}
	k.put("q", 1)
	k.ends("q", endedReplying)
	k.at("q", 0, delivery.Sending)
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
	k := newTrackedDesk(t)
	k.put("q", upTo(1, 3)...)
	r := k.reader()
	r.Track = time.Hour
	done := k.d.Deliver(t.Context(), "q", r, -1)
	check.Need(t, ending(done) == endedDeferred, "%+v", done)
	tag := delivery.ChainOf(k.standing("q"))
	without := check.Get(delivery.New(k.store, k.sorter, &delivery.Options{Now: func() time.Time { return k.now }}))
	c := check.Get(without.Inside(request.Inside{}).Erase(t.Context(), erasure("op")))
	_, left := check.Get2(without.Inside(request.Inside{}).EraseMore(t.Context(), c, nil))
	check.That(t, left.More, "%+v", left)
	k.left(0, 1)
	k.erase()
	k.left(0, 0)
	check.Is(t, check.Get(k.acker.Get(t.Context(), tag)).End(), xorack.Deleted)
}
