package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// hurt is a Deliverer on tables of which a request can go wrong, and a sink that
// refuses lower tokens.
type hurt struct {
	t      *testing.T
	store  *delivery.Store
	sorter *cursor.Sorter
	d      *delivery.Deliverer
	now    time.Time
	// poison is a seq that the sink does not take; 0 for none.
	poison int64
	// token is the highest that the sink has seen, got what it took, in order,
	// within one number of rewinds.
	token, rewinds int64
	got            []int64
}

func newHurt(t *testing.T, store *delivery.Store, queues *cursor.Store) *hurt {
	t.Helper()
	h := &hurt{t: t, store: store, now: time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)}
	clock := func() time.Time { return h.now }
	var err error
	h.sorter = check.Get(cursor.New(queues, &cursor.Options{ForEach: fanout.OneByOne, Now: clock}))
	h.d, err = delivery.New(h.store, h.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: clock})
	h.must(err)
	return h
}

func (h *hurt) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *hurt) put(seqs ...int64) error {
	for _, seq := range seqs {
		if err := h.sorter.Put(h.t.Context(), cursor.Message{Queue: "q", Seq: seq, Body: fmt.Append(nil, seq)})[0].Err; err != nil {
			return err
		}
	}
	return nil
}

// take is the sink.
func (h *hurt) take(_ context.Context, b delivery.Batch) error {
	if b.Token.N < h.token {
		return fmt.Errorf("token %d was here", h.token)
	}
	h.token = b.Token.N
	if b.Rewinds != h.rewinds {
		h.rewinds, h.got = b.Rewinds, nil
	}
	for _, m := range b.Messages {
		if m.Seq == h.poison {
			return fmt.Errorf("seq %d is poison", m.Seq)
		}
		// A repeat under a new token begins anew from where it begins.
		if at := slices.Index(h.got, m.Seq); at >= 0 {
			h.got = h.got[:at]
		}
		h.got = append(h.got, m.Seq)
	}
	return nil
}

func (h *hurt) deliver() error {
	done := h.d.Deliver(h.t.Context(), "q", delivery.Reader{Name: "c", Handle: h.take, MaxMessages: 2, MaxAttempts: 4}, -1)
	return done.Err
}

func (h *hurt) sweep() error {
	_, err := h.d.Sweep(h.t.Context(), delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: 4})
	return err
}

func (h *hurt) order(op string) delivery.Order {
	return delivery.Order{Queue: "q", Consumer: "c", Reason: "why", Op: op}
}

func (h *hurt) standing() delivery.Consumer {
	h.t.Helper()
	c := check.Get(h.store.Requests(request.Inside{}).Consumer(h.t.Context(), "q", "c"))
	return c
}

// block makes the consumer blocked on a seq.
func (h *hurt) block(seq int64) error {
	h.poison = seq
	for h.standing().State != delivery.Blocked {
		if err := h.deliver(); err != nil {
			return err
		}
		h.now = h.now.Add(time.Minute)
	}
	h.poison = 0
	return nil
}

// check checks what must hold at any time: nothing is committed that the sink
// does not have, and it has no hole.
func (h *hurt) check(skipped int64) {
	h.t.Helper()
	c := h.standing()
	if !c.Exists() {
		return
	}
	for i := 1; i < len(h.got); i++ {
		if h.got[i] != h.got[i-1]+1 && h.got[i-1]+1 != skipped {
			h.t.Errorf("the sink got %v", h.got)
		}
	}
	if len(h.got) > 0 && h.got[len(h.got)-1] < c.Delivered && c.Delivered != skipped && c.Rewinds == h.rewinds {
		h.t.Errorf("%d is committed, and the sink got %v", c.Delivered, h.got)
	}
}

// TestEveryRequestGoesWrongOnce lets each request of each operation go wrong in
// each way. An operation that fails does no more:
// to the tables that is a process that died there, before the request or right
// after it. Whatever the operation says then, the same one again, after the
// lease, and a delivery, bring the consumer to where it would have been, and
// the sink gets everything in order.
func TestEveryRequestGoesWrongOnce(t *testing.T) {
	type operation struct {
		name    string
		prepare func(*hurt) error
		do      func(*hurt) error
		// want is what the sink has in the end since the last rewind.
		want    []int64
		rewinds int64
		skipped int64
	}
	for _, o := range []operation{
		{
			name:    "first delivery",
			prepare: func(h *hurt) error { return h.put(1) },
			do:      (*hurt).deliver, want: []int64{1},
		},
		{
			name:    "delivery of three batches",
			prepare: func(h *hurt) error { return firstError(h.put(1), h.deliver(), h.put(2, 3, 4, 5, 6)) },
			do:      (*hurt).deliver, want: []int64{1, 2, 3, 4, 5, 6},
		},
		{
			name: "delivery that fails",
			prepare: func(h *hurt) error {
				err := firstError(h.put(1, 2), h.deliver(), h.put(3, 4))
				h.poison = 4
				return err
			},
			do: func(h *hurt) error {
				err := h.deliver()
				h.poison = 0
				return err
			},
			want: []int64{1, 2, 3, 4},
		},
		{
			name: "delivery while another queue fails",
			prepare: func(h *hurt) error {
				_, _, err := h.store.Requests(request.Inside{}).Learn(h.t.Context(), request.Health{Consumer: "c"}, request.Health{Consumer: "c", By: "x", Failing: []request.FailingQueue{{Queue: "r"}}})
				return firstError(err, h.put(1, 2, 3, 4, 5))
			},
			do: (*hurt).deliver, want: []int64{1, 2, 3, 4, 5},
		},
		{
			name: "takeover",
			prepare: func(h *hurt) error {
				if err := firstError(h.put(1), h.deliver(), h.put(2)); err != nil {
					return err
				}
				_, _, err := h.store.Requests(request.Inside{}).Claim(h.t.Context(), h.standing(), request.Claim{Req: "dead", To: 2, Now: h.now, LeaseUntil: h.now.Add(time.Minute)})
				h.now = h.now.Add(2 * time.Minute)
				return err
			},
			do: (*hurt).deliver, want: []int64{1, 2},
		},
		{
			name:    "create",
			prepare: func(h *hurt) error { return h.put(1, 2) },
			do: func(h *hurt) error {
				_, err := h.d.Create(h.t.Context(), "q", "c", delivery.First)
				return err
			},
			want: []int64{1, 2},
		},
		{
			name:    "skip",
			prepare: func(h *hurt) error { return firstError(h.put(1), h.deliver(), h.put(2, 3), h.block(2)) },
			do:      func(h *hurt) error { _, err := h.d.Operate(h.t.Context(), skips(h.order("op"), 2)); return err },
			want:    []int64{1, 3}, skipped: 2,
		},
		{
			name:    "redrive",
			prepare: func(h *hurt) error { return firstError(h.put(1), h.deliver(), h.put(2, 3), h.block(2)) },
			do:      func(h *hurt) error { _, err := h.d.Operate(h.t.Context(), redrives(h.order("op"), 2)); return err },
			want:    []int64{1, 2, 3},
		},
		{
			name:    "rewind",
			prepare: func(h *hurt) error { return firstError(h.put(1, 2, 3), h.deliver()) },
			do: func(h *hurt) error {
				_, err := h.d.Operate(h.t.Context(), rewinds(h.order("op"), delivery.At(2)))
				return err
			},
			want: []int64{2, 3}, rewinds: 1,
		},
		{
			name:    "pause and resume",
			prepare: func(h *hurt) error { return firstError(h.put(1), h.deliver(), h.put(2)) },
			do: func(h *hurt) error {
				if _, err := h.d.Operate(h.t.Context(), does("pause", h.order("pause"))); err != nil {
					return err
				}
				_, err := h.d.Operate(h.t.Context(), does("resume", h.order("resume")))
				return err
			},
			want: []int64{1, 2},
		},
		{
			name: "sweep",
			prepare: func(h *hurt) error {
				if err := firstError(h.put(1), h.deliver(), h.put(2)); err != nil {
					return err
				}
				_, _, err := h.store.Requests(request.Inside{}).Claim(h.t.Context(), h.standing(), request.Claim{Req: "dead", To: 2, Now: h.now, LeaseUntil: h.now.Add(time.Minute)})
				h.now = h.now.Add(2 * time.Minute)
				return err
			},
			do: (*hurt).sweep, want: []int64{1, 2},
		},
	} {
		t.Run(o.name, func(t *testing.T) {
			goesWrong := func(fault ddbtest.Fault, k int) bool {
				faults := faultyTables()
				store, queues := storesOn(t, faults)
				h := newHurt(t, store, queues)
				h.must(o.prepare(h))
				faults.Fail(k, fault)
				err := o.do(h)
				if faults.Pending() {
					h.must(err)
					return false
				}
				faults.Fail(0, "")
				// What fails while it delivers the next batch has committed the
				// last one all the same, and goes on by itself.
				check.That(t, fault != ddbtest.Repeated || err == nil,
					"%s at request %d: error %v", fault, k, err)
				h.check(o.skipped)
				h.now = h.now.Add(2 * time.Minute)
				h.must(o.do(h))
				h.now = h.now.Add(2 * time.Minute)
				h.must(h.deliver())
				h.check(o.skipped)
				position := o.want[len(o.want)-1]
				if c := h.standing(); c.Delivered != position || c.State != delivery.Idle || c.Rewinds != o.rewinds || !slices.Equal(h.got, o.want) {
					t.Errorf("%s at request %d: the sink got %v, want %v; %+v", fault, k, h.got, o.want, c)
				}
				return true
			}
			for _, fault := range ddbtest.EveryFault() {
				k := 1
				for goesWrong(fault, k) {
					if k++; k > 50 {
						t.Fatal("more than 50 requests")
					}
				}
			}
		})
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestTheSDKRepeats: with its repeats on, a lost response is not heard of.
func TestTheSDKRepeats(t *testing.T) {
	ddbtest.EachServer(t, testTheSDKRepeats)
}

func testTheSDKRepeats(t *testing.T, kind ddbtest.Kind) {
	network := faulty.New(dynamo.Transport())
	store, queues := freshTables(t, kind, &dynamo.Options{Transport: network, MaxAttempts: 3})
	h := newHurt(t, store, queues)
	h.must(firstError(h.put(1), h.deliver(), h.put(2, 3, 4)))
	for request := 1; request <= 6; request++ {
		network.Fail(request, faulty.Lost)
		h.must(h.deliver())
		h.check(0)
	}
	if c := h.standing(); c.Delivered != 4 || c.Token.N != 3 || !slices.Equal(h.got, []int64{1, 2, 3, 4}) {
		t.Errorf("the sink got %v; %+v", h.got, c)
	}
}
