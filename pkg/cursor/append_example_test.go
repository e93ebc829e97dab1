package cursor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/streamsort/streamsort/pkg/cursor"
)

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
