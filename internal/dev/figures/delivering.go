package figures

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// delivering compares sizes of the batches that a consumer gets.
func delivering() Table {
	t := Table{
		Title: "Delivery, in order and once",
		About: "Messages of 100 bytes, delivered to one consumer by a process that has the record of the queue's move. The limit is a write " +
			"to claim a batch, one to commit it, and a read of its messages. SQS FIFO receives and deletes ten at most.",
		Case:   "batch",
		Others: []string{"", fifoHead},
	}
	const why = "a claim reads the consumer first, and a request reads 1 MB, which batches of 100 do not fill"
	for _, size := range []int{1, 10, 100, 1000} {
		n := float64(size)
		t.Rows = append(t.Rows, counted(fmt.Sprint(size), Units{2 / n, reading(size) / n},
			delivered(size, cursor.KindNumbered), nil, 2*cost.FIFO(size), why))
	}
	return t
}

// delivered is what each message of a batch takes, put before and delivered now.
func delivered(size int, kind cursor.Kind) Units {
	s := newSorting(delivery.Names{}.Tables()...)
	sorter := s.process(cursor.ModeSync)
	d := check.Get(delivery.New(delivery.NewStore(s.metered, delivery.Names{}.Tables()),
		s.process(cursor.ModeSync), &delivery.Options{ForEach: fanout.OneByOne, Now: clock}))
	position := int64(0)
	next := func(n int) {
		for last := position + int64(n); position < last; {
			var group []cursor.Message
			for len(group) < 100 && position < last {
				position++
				m := hundred(position)
				m.Kind = kind
				group = append(group, m)
			}
			put(sorter, group...)
		}
	}
	deliver := func() {
		done := d.Deliver(context.Background(), queue, delivery.Reader{
			Name: "billing", MaxMessages: 1000, Handle: func(context.Context, delivery.Batch) error {
				return nil
			},
		}, position)
		if check.Must(done.Err); done.Outcome != delivery.Empty {
			panic("a delivery ended as " + fmt.Sprint(done.Outcome))
		}
	}
	next(1)
	deliver()
	next(size)
	return s.of(size, deliver)
}

// handing compares sizes of the batches that a consumer takes in two phases.
func handing() Table {
	t := Table{
		Title: "Delivery in two phases",
		About: "Messages of 100 bytes, which a consumer with its own database claims, prepares and commits, without a record of a stream. " +
			"The limit is a write of each step, and a read of the messages. dynamolock acquires and releases a lock, without reading messages.",
		Case:   "batch",
		Others: []string{"dynamolock", fifoHead},
	}
	const why = "a claim reads the consumer strongly, and by itself the position too: another process may have come last"
	for _, size := range []int{1, 10, 100} {
		name, n, fifo := fmt.Sprint(size), float64(size), 2*cost.FIFO(size)
		h := newHanding(size)
		// By its source: a get and a put to acquire a lock, and a put to release it.
		lock := Units{Writes: 2 / n, Reads: 1 / n}
		limit := func(writes float64) Units { return Units{writes / n, reading(size) / n} }
		alone := h.of(size, func() {
			h.claim(delivery.OK)
			h.commit()
		})
		h.claim(delivery.OK)
		chained := h.of(size, h.next)
		t.Rows = append(t.Rows,
			counted(name, limit(3), alone, &lock, fifo, why),
			counted(name+", and the next claimed", limit(2), chained, &lock, fifo, why))
		if size == 1 {
			h.commit()
			nothing := h.of(1, func() { h.claim(delivery.Empty) })
			t.Rows = append(t.Rows,
				counted("nothing ready", Units{Reads: 0.5}, nothing, nil, cost.FIFO(1), why))
		}
	}
	return t
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
func newHanding(size int) *handed {
	s := newSorting(delivery.Names{}.Tables()...)
	sorter := s.process(cursor.ModeSync)
	d := check.Get(delivery.New(delivery.NewStore(s.metered, delivery.Names{}.Tables()), sorter,
		&delivery.Options{ForEach: fanout.OneByOne, Now: clock}))
	for seq := range int64(3 * size) {
		put(sorter, hundred(seq+1))
	}
	check.Get(d.Create(context.Background(), queue, "ledger", delivery.First))
	return &handed{sorting: s, claims: check.Get(delivery.NewClaims(d, nil)), size: size}
}

func (h *handed) request() delivery.Request {
	h.requests++
	return delivery.Request{Queue: queue, Consumer: "ledger", ID: fmt.Sprint("r", h.requests),
		MaxMessages: h.size}
}

func expect(want delivery.Outcome, a delivery.Answer) delivery.Answer {
	if a.Outcome != want {
		panic(fmt.Sprintf("answered %s, not %s", a.Outcome, want))
	}
	return a
}

func (h *handed) claim(want delivery.Outcome) {
	h.held = expect(want, check.Get(h.claims.Claim(context.Background(), h.request()))).Held()
}

func (h *handed) prepare() {
	expect(delivery.OK, check.Get(h.claims.Prepare(context.Background(), h.held)))
}

func (h *handed) commit() {
	h.prepare()
	expect(delivery.OK, check.Get(h.claims.Commit(context.Background(), h.held)))
}

// next prepares the batch that is claimed, and commits it with the claim of the next.
func (h *handed) next() {
	h.prepare()
	done, next, err := h.claims.CommitAndClaim(context.Background(), h.held, h.request())
	check.Must(err)
	expect(delivery.OK, done)
	h.held = expect(delivery.OK, next).Held()
}
