package cursor_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// The example of the package comment.
func Example() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: 2, Body: []byte("paid")})
	r := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: 1, Body: []byte("made")})[0]
	for m, err := range sorter.Read(ctx, "orders", r.Old, r.New) {
		fmt.Println(m.Seq, string(m.Body), err)
	}
	// Output:
	// 1 made <nil>
	// 2 paid <nil>
}

// Messages arrive in any order and are read in order.
func ExampleSorter_Put() {
	ctx := context.Background()
	sorter, _ := cursor.New(cursor.NewMemory(), nil)
	for _, seq := range []int64{2, 3, 1, 3} {
		r := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq})[0]
		fmt.Printf("seq %d: %s\n", seq, r.Outcome)
		for m, err := range sorter.Read(ctx, "orders", r.Old, r.New) {
			fmt.Println("  in order:", m.Seq, err)
		}
	}
	// Output:
	// seq 2: parked
	// seq 3: parked
	// seq 1: advanced
	//   in order: 1 <nil>
	//   in order: 2 <nil>
	//   in order: 3 <nil>
	// seq 3: duplicate
}

// A group stores its messages and moves each queue's cursor once.
func ExampleSorter_Put_group() {
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	results := sorter.Put(context.Background(), []cursor.Message{
		{Queue: "a", Seq: 2}, {Queue: "a", Seq: 1}, {Queue: "b", Seq: 3},
	}...)
	err = results[0].Err
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Printf("%s/%d %s, position %d to %d\n", r.Queue, r.Seq, r.Outcome, r.Old, r.New)
	}
	// Output:
	// a/2 advanced, position 0 to 2
	// a/1 advanced, position 0 to 2
	// b/3 parked, position 0 to 0
}

// A queue that gives up on a missing message after a second.
func ExampleSorter_Sweep() {
	ctx := context.Background()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	settings := cursor.DefaultSettings()
	settings.Policy, settings.GapAfter = cursor.PolicySkip, time.Second
	sorter, err := cursor.New(cursor.NewMemory(), &cursor.Options{
		Defaults: &settings, Now: func() time.Time { return now },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := sorter.Put(ctx, cursor.Message{Queue: "sensor", Seq: 2})[0].Err; err != nil {
		log.Fatal(err)
	}
	now = now.Add(time.Second)
	report, err := sorter.Sweep(ctx, cursor.SweepOptions{
		Announce: func(_ context.Context, a cursor.Announcement) error {
			fmt.Println(a.Kind, a.Queue, "missing after", a.Missing.From, "up to", a.Missing.To)
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("skipped:", report.Skipped)
	late := sorter.Put(ctx, cursor.Message{Queue: "sensor", Seq: 1})[0]
	err = late.Err
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("seq 1 arrives:", late.Outcome)
	// Output:
	// gap.opened sensor missing after 0 up to 1
	// gap.skipped sensor missing after 0 up to 1
	// skipped: 1
	// seq 1 arrives: late
}

// Messages without numbers get them as they arrive; a repeat gets the same.
func ExampleSorter_Put_arrival() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, event := range []string{"created", "paid", "created", "shipped"} {
		m := cursor.Message{Queue: "orders/17", Seq: cursor.NoSeq, ID: event, Body: []byte(event)}
		r := sorter.Put(ctx, m)[0]
		if r.Err != nil {
			log.Fatal(r.Err)
		}
		fmt.Println(event, r.Outcome, r.Seq)
	}
	for m, err := range sorter.Read(ctx, "orders/17", 0, 3) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("in order: %d %s\n", m.Seq, m.Body)
	}
	// Output:
	// created advanced 1
	// paid advanced 2
	// created duplicate 1
	// shipped advanced 3
	// in order: 1 created
	// in order: 2 paid
	// in order: 3 shipped
}

// Several messages under one id stay together, at the price of their bytes and one write.
func ExampleSorter_Put_together() {
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var request []cursor.Message
	for _, degrees := range []string{"20.5", "20.7", "20.6"} {
		m := cursor.Message{Queue: "readings", Seq: cursor.NoSeq, PutID: "request-1",
			Body: []byte(degrees)}
		request = append(request, m)
	}
	for range 2 {
		results := sorter.Put(context.Background(), request...)
		if err := results[0].Err; err != nil {
			log.Fatal(err)
		}
		fmt.Println(results[0].Outcome, results[0].Seq, "to", results[2].Seq)
	}
	// Output:
	// advanced 1 to 3
	// duplicate 1 to 3
}
