package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Messages arrive in any order, and are delivered in the right one.
func Example() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	must(err)
	d, err := delivery.New(delivery.NewMemory(), sorter, nil)
	must(err)
	for _, seq := range []int64{2, 3, 1, 5} {
		must(sorter.Put(ctx,
			cursor.Message{Queue: "orders", Seq: seq, Body: fmt.Appendf(nil, `{"order":%d}`, seq)})[0].Err)
	}
	billing := delivery.Reader{Name: "billing", MaxMessages: 2,
		Handle: func(_ context.Context, b delivery.Batch) error {
			fmt.Printf("token %d:\n", b.Token.N)
			for _, m := range b.Messages {
				fmt.Printf("  %s\n", m.Body)
			}
			return nil
		}}
	done := d.Deliver(ctx, "orders", billing, -1)
	must(done.Err)
	fmt.Println(ending(done), "at", done.Record.Delivered)
	// Output:
	// token 1:
	//   {"order":1}
	//   {"order":2}
	// token 2:
	//   {"order":3}
	// EMPTY at 3
}

// A function behind the cursors' stream, for one consumer of all queues whose names begin with
// "orders/".
func ExampleOnStream() {
	sorter, err := cursor.New(cursor.NewMemory(), nil) // cursor.NewDynamo in earnest
	must(err)
	d, err := delivery.New(delivery.NewMemory(), sorter, nil) // delivery.NewDynamo in earnest
	must(err)
	handle, err := delivery.OnStream(d, cursor.Names{}, delivery.Reader{
		Name: "billing", Prefix: "orders/", Handle: func(_ context.Context, b delivery.Batch) error {
			fmt.Println(b.Queue, len(b.Messages))
			return nil
		},
	})
	must(err)
	lambda.Start(handle)
}

// A sink that refuses lower tokens than it has seen is safe from a process that wakes up after
// another took over.
func ExampleToken() {
	highest := map[string]int64{}
	sink := func(b delivery.Batch) error {
		// In earnest: in the transaction of the effect.
		if b.Token.N < highest[b.Queue] {
			return fmt.Errorf("token %d came after %d", b.Token.N, highest[b.Queue])
		}
		highest[b.Queue] = b.Token.N
		return nil
	}
	fmt.Println(sink(delivery.Batch{Queue: "q", Token: delivery.Token{N: 2}}))
	fmt.Println(sink(delivery.Batch{Queue: "q", Token: delivery.Token{N: 1}}))
	// Output:
	// <nil>
	// token 1 came after 2
}

// A message that its consumer cannot take blocks the queue for it, until an operator gives the
// message up.
func ExampleDeliverer_Operate() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	must(err)
	d, err := delivery.New(delivery.NewMemory(), sorter, nil)
	must(err)
	for seq := range int64(3) {
		must(sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq + 1})[0].Err)
	}
	billing := delivery.Reader{Name: "billing",
		Handle: func(_ context.Context, b delivery.Batch) error {
			for _, m := range b.Messages {
				if m.Seq == 2 {
					return delivery.Permanent(errors.New("no such customer"))
				}
			}
			fmt.Println("billed", b.From+1, "to", b.To)
			return nil
		}}
	fmt.Println(d.Deliver(ctx, "orders", billing, -1).Outcome)
	list, err := d.Status(ctx, "orders")
	must(err)
	fmt.Println(list[0].State, "on", list[0].Delivered+1, "because of", list[0].Error)
	_, err = d.Operate(ctx,
		skips(delivery.Order{Queue: "orders", Consumer: "billing", Reason: "customer left"}, 2))
	must(err)
	fmt.Println(d.Deliver(ctx, "orders", billing, -1).Outcome)
	// Output:
	// billed 1 to 1
	// BLOCKED
	// BLOCKED on 2 because of no such customer
	// billed 3 to 3
	// EMPTY
}

// The sweep announces who lags, with each run until that is over.
func ExampleDeliverer_Sweep() {
	ctx := context.Background()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	sorter, err := cursor.New(cursor.NewMemory(), &cursor.Options{Now: clock})
	must(err)
	d, err := delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Now: clock})
	must(err)
	_, err = d.Create(ctx, "orders", "billing", delivery.First)
	must(err)
	must(sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: 1})[0].Err)
	now = now.Add(20 * time.Minute)
	report, err := d.Sweep(ctx,
		delivery.SweepOptions{Announce: func(_ context.Context, a delivery.Announcement) error {
			fmt.Println(a.Kind, a.Queue, a.Consumer, a.Position-a.Delivered, "waiting since", a.Age)
			return nil
		}})
	must(err)
	fmt.Println("woken up:", report.Notified)
	// Output:
	// consumer.lags orders billing 1 waiting since 20m0s
	// woken up: 1
}

// A handler answers: its replies are stored if its batch is committed, exactly once, and not at all
// otherwise.
func ExampleBatch_Reply() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	must(err)
	deliverer, err := delivery.New(delivery.NewMemory(), sorter, nil)
	must(err)
	reader := delivery.Reader{Name: "shop", Handle: func(_ context.Context, b delivery.Batch) error {
		for _, m := range b.Messages {
			if err := b.Reply(delivery.Reply{Queue: "receipts",
				Body: fmt.Appendf(nil, "paid %s", m.Body)}); err != nil {
				return err
			}
		}
		return nil
	}}
	for seq, body := range []string{"an apple", "a pear"} {
		must(sorter.Put(ctx,
			cursor.Message{Queue: "orders", Seq: int64(seq) + 1, Body: []byte(body)})[0].Err)
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
		must(sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq, Body: []byte("{}")})[0].Err)
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
