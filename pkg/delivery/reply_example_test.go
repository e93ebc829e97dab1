package delivery_test

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// A handler answers: its replies are stored if its batch is committed, exactly once, and not at all
// otherwise.
func ExampleBatch_Reply() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		panic(err)
	}
	deliverer, err := delivery.New(delivery.NewMemory(), sorter, nil)
	if err != nil {
		panic(err)
	}
	reader := delivery.Reader{Name: "shop", Handle: func(_ context.Context, b delivery.Batch) error {
		for _, m := range b.Messages {
			if err := b.Reply(delivery.Reply{Queue: "receipts", Body: fmt.Appendf(nil, "paid %s", m.Body)}); err != nil {
				return err
			}
		}
		return nil
	}}
	for seq, body := range []string{"an apple", "a pear"} {
		if err := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: int64(seq) + 1, Body: []byte(body)})[0].Err; err != nil {
			panic(err)
		}
	}
	fmt.Println(deliverer.Deliver(ctx, "orders", reader, -1).Outcome)
	for m, err := range sorter.Read(ctx, "receipts", 0, 2) {
		fmt.Printf("%d %s %v\n", m.Seq, m.Body, err)
	}
	// Output:
	// EMPTY
	// 1 paid an apple <nil>
	// 2 paid a pear <nil>
}
