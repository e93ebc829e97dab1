package figures

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// delivering compares sizes of the batches that a consumer gets.
func delivering(ctx context.Context) (Table, error) {
	t := Table{
		Title: "Delivery, in order and once",
		About: "Messages of 100 bytes, delivered to one consumer by a process that has the record of the queue's move. The limit is a write " +
			"to claim a batch, one to commit it, and a read of its messages. SQS FIFO receives and deletes ten at most.",
		Case: "batch",
	}
	for _, size := range []int{1, 10, 100, 1000} {
		ours, err := delivered(ctx, size)
		if err != nil {
			return t, err
		}
		n := float64(size)
		r := Row{
			Name: fmt.Sprint(size), Ours: ours, FIFO: 2 * cost.FIFO(size),
			Limit: Units{2 / n, reading(size) / n},
		}
		r.Why = "a claim reads the consumer first, and a request reads 1 MB, which batches of 100 do not fill"
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// delivered is what each message of a batch takes, put before and handed on now.
func delivered(ctx context.Context, size int) (Units, error) {
	s, err := newSorting()
	if err != nil {
		return Units{}, err
	}
	sorter, err := s.process(asTheyAre)
	if err != nil {
		return Units{}, err
	}
	m := newMetered(delivery.Names{}.Tables()...)
	d, err := delivery.New(delivery.NewStore(m, delivery.Names{}.Tables()), sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: clock})
	if err != nil {
		return Units{}, err
	}
	position := int64(0)
	put := func(n int) error {
		for last := position + int64(n); position < last; {
			var group []cursor.Message
			for len(group) < 100 && position < last {
				position++
				group = append(group, hundred(position))
			}
			if err := sorter.Put(ctx, group...)[0].Err; err != nil {
				return err
			}
		}
		return nil
	}
	deliver := func() error {
		done := d.Deliver(ctx, queue, delivery.Reader{
			Name: "billing", MaxMessages: 1000, Handle: func(context.Context, delivery.Batch) error { return nil },
		}, position)
		if done.Err == nil && done.Outcome != delivery.Empty {
			return fmt.Errorf("a delivery ended as %s", done.Outcome)
		}
		return done.Err
	}
	for _, do := range []func() error{func() error { return put(1) }, deliver, func() error { return put(size) }} {
		if err := do(); err != nil {
			return Units{}, err
		}
	}
	var records Units
	queues, err := s.of(size, func() (err error) {
		records, err = m.of(size, deliver)
		return err
	})
	return Units{queues.Writes + records.Writes, queues.Reads + records.Reads}, err
}
