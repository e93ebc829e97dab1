package figures

import (
	"cmp"
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Lock is what dynamolock takes to acquire a lock and to release it: verify/bench holds it to the library.
var Lock = Units{Writes: 2, Reads: 1}

// handing compares sizes of the batches that a consumer takes in two phases.
func handing(ctx context.Context) (Table, error) {
	t := Table{
		Title: "Delivery in two phases",
		About: "Messages of 100 bytes, which a consumer with its own database claims, prepares and commits, without a record of a stream. " +
			"The limit is a write of each step, and a read of the messages. dynamolock acquires and releases a lock, without reading messages.",
		Case:  "batch",
		Older: "dynamolock",
	}
	const why = "a claim reads the consumer strongly, and by itself the position too: another process may have come last"
	for _, size := range []int{1, 10, 100} {
		name := fmt.Sprint(size)
		h, err := newHanding(ctx, size)
		if err != nil {
			return t, err
		}
		n := float64(size)
		lock := Units{Lock.Writes / n, Lock.Reads / n}
		limit := func(writes float64) Units { return Units{writes / n, reading(size) / n} }
		alone, err := h.of(size, func() error { return h.whole(ctx) })
		if err != nil {
			return t, err
		}
		if err := h.claim(ctx, delivery.OK); err != nil {
			return t, err
		}
		chained, err := h.of(size, func() error { return h.goOn(ctx) })
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows,
			Row{Name: name, Limit: limit(3), Ours: alone, Older: &lock, FIFO: 2 * cost.FIFO(size), Why: why},
			Row{Name: name + ", and the next claimed", Limit: limit(2), Ours: chained, Older: &lock, FIFO: 2 * cost.FIFO(size), Why: why})
		if size > 1 {
			continue
		}
		if err := h.commit(ctx); err != nil {
			return t, err
		}
		nothing, err := h.of(1, func() error { return h.claim(ctx, delivery.Empty) })
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, Row{Name: "nothing ready", Limit: Units{Reads: 0.5}, Ours: nothing, Why: why, FIFO: cost.FIFO(1)})
	}
	return t, nil
}

// reading is the least that a read of so many messages takes, in units.
func reading(size int) float64 { return max(float64(size*itemBytes)/readBytes, 1) / 2 }

// handed is a consumer that holds a claim, or will.
type handed struct {
	sorting
	claims   delivery.Claims
	size     int
	requests int
	held     delivery.Held
}

// newHanding has three batches ready, of which none is claimed.
func newHanding(ctx context.Context, size int) (*handed, error) {
	s, err := newSorting(delivery.Names{}.Tables()...)
	if err != nil {
		return nil, err
	}
	sorter, err := s.process(asTheyAre)
	if err != nil {
		return nil, err
	}
	d, err := delivery.New(delivery.NewStore(s.metered, delivery.Names{}.Tables()), sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: clock})
	if err != nil {
		return nil, err
	}
	claims, err := delivery.NewClaims(d, nil)
	if err != nil {
		return nil, err
	}
	h := &handed{sorting: s, claims: claims, size: size}
	for seq := range int64(3 * size) {
		if err := sorter.Put(ctx, hundred(seq+1))[0].Err; err != nil {
			return nil, err
		}
	}
	_, err = d.Create(ctx, queue, "ledger", delivery.First)
	return h, err
}

// request asks for the next batch.
func (h *handed) request() delivery.Request {
	h.requests++
	return delivery.Request{Queue: queue, Consumer: "ledger", ID: fmt.Sprint("r", h.requests), MaxMessages: h.size}
}

func expect(want delivery.Outcome, a delivery.Answer, err error) error {
	if err == nil && a.Outcome != want {
		err = fmt.Errorf("answered %s, not %s", a.Outcome, want)
	}
	return err
}

func (h *handed) claim(ctx context.Context, want delivery.Outcome) error {
	a, err := h.claims.Claim(ctx, h.request())
	if want == delivery.OK {
		h.held = a.Held()
	}
	return expect(want, a, err)
}

func (h *handed) prepare(ctx context.Context) error {
	a, err := h.claims.Prepare(ctx, h.held)
	return expect(delivery.OK, a, err)
}

func (h *handed) commit(ctx context.Context) error {
	if err := h.prepare(ctx); err != nil {
		return err
	}
	a, err := h.claims.Commit(ctx, h.held)
	return expect(delivery.OK, a, err)
}

// whole is a batch from its claim to its commit.
func (h *handed) whole(ctx context.Context) error {
	if err := h.claim(ctx, delivery.OK); err != nil {
		return err
	}
	return h.commit(ctx)
}

// goOn prepares the batch that is claimed, and commits it with the claim of the next.
func (h *handed) goOn(ctx context.Context) error {
	if err := h.prepare(ctx); err != nil {
		return err
	}
	done, next, err := h.claims.CommitAndClaim(ctx, h.held, h.request())
	h.held = next.Held()
	return cmp.Or(expect(delivery.OK, done, err), expect(delivery.OK, next, nil))
}
