package delivery_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// A batch whose work goes on after the handler has returned: it is committed when the work of its
// messages is done.
func ExampleReader_tracked() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	must(err)
	acker, err := xorack.New(xorack.NewMemory(), nil)
	must(err)
	store := delivery.NewMemory()
	deliverer, err := delivery.New(store, sorter, &delivery.Options{Acker: acker})
	must(err)
	for seq := int64(1); seq <= 2; seq++ {
		err := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq, Body: []byte("{}")})[0].Err
		must(err)
	}

	var handedOn []xorack.Edge // with the messages, to other functions
	done := deliverer.Deliver(ctx, "orders", delivery.Reader{
		Name: "packing", Track: 15 * time.Minute,
		Handle: func(_ context.Context, b delivery.Batch) error {
			handedOn = append(handedOn, b.Edges...)
			return nil
		},
	}, -1)
	must(done.Err)
	fmt.Println(ending(done))

	// The other functions say so when they are through. Behind the chains' stream stands
	// xorack.OnEnds with this Ender.
	ender := deliverer.Ender(nil)
	for _, edge := range handedOn {
		result, err := acker.Done(ctx, edge)
		must(err)
		if result.Outcome == xorack.Ended {
			_, err = acker.Finish(ctx, result.Chain, ender)
			must(err)
		}
		c, err := store.Requests(request.Inside{}).Consumer(ctx, "orders", "packing")
		must(err)
		fmt.Println(c.State, c.Delivered)
	}
	// Output:
	// DEFERRED
	// STARTED 0
	// IDLE 2
}

func must(err error) {
	if err != nil {
		panic(err) // an example's stores are in memory
	}
}
