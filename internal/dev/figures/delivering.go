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
