package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Messages arrive in any order, and are delivered in the right one.
func Example() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	d, err := delivery.New(delivery.NewMemory(), sorter, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, seq := range []int64{2, 3, 1, 5} {
		if err := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq, Body: fmt.Appendf(nil, `{"order":%d}`, seq)})[0].Err; err != nil {
			log.Fatal(err)
		}
	}
	billing := delivery.Reader{Name: "billing", MaxMessages: 2, Handle: func(_ context.Context, b delivery.Batch) error {
		fmt.Printf("token %d:\n", b.Token.N)
		for _, m := range b.Messages {
			fmt.Printf("  %s\n", m.Body)
		}
		return nil
	}}
	done := d.Deliver(ctx, "orders", billing, -1)
	if done.Err != nil {
		log.Fatal(done.Err)
	}
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
	if err != nil {
		log.Fatal(err)
	}
	d, err := delivery.New(delivery.NewMemory(), sorter, nil) // delivery.NewDynamo in earnest
	if err != nil {
		log.Fatal(err)
	}
	handle, err := delivery.OnStream(d, cursor.Names{}, delivery.Reader{
		Name: "billing", Prefix: "orders/", Handle: func(_ context.Context, b delivery.Batch) error {
			fmt.Println(b.Queue, len(b.Messages))
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
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
	if err != nil {
		log.Fatal(err)
	}
	d, err := delivery.New(delivery.NewMemory(), sorter, nil)
	if err != nil {
		log.Fatal(err)
	}
	for seq := range int64(3) {
		if err := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq + 1})[0].Err; err != nil {
			log.Fatal(err)
		}
	}
	billing := delivery.Reader{Name: "billing", Handle: func(_ context.Context, b delivery.Batch) error {
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
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(list[0].State, "on", list[0].Delivered+1, "because of", list[0].Error)
	if _, err := d.Operate(ctx, skips(delivery.Order{Queue: "orders", Consumer: "billing", Reason: "customer left"}, 2)); err != nil {
		log.Fatal(err)
	}
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
	if err != nil {
		log.Fatal(err)
	}
	d, err := delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Now: clock})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := d.Create(ctx, "orders", "billing", delivery.First); err != nil {
		log.Fatal(err)
	}
	if err := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: 1})[0].Err; err != nil {
		log.Fatal(err)
	}
	now = now.Add(20 * time.Minute)
	report, err := d.Sweep(ctx, delivery.SweepOptions{Announce: func(_ context.Context, a delivery.Announcement) error {
		fmt.Println(a.Kind, a.Queue, a.Consumer, a.Position-a.Delivered, "waiting since", a.Age)
		return nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("woken up:", report.Notified)
	// Output:
	// consumer.lags orders billing 1 waiting since 20m0s
	// woken up: 1
}
