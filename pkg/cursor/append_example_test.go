package cursor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// Messages without numbers get them as they arrive; a repeat gets the same.
func ExampleSorter_Append() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, event := range []string{"created", "paid", "created", "shipped"} {
		a := cursor.Arrival{Queue: "orders/17", ID: event, Messages: []cursor.Message{{Body: []byte(event)}}}
		appended, err := sorter.Append(ctx, a)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event, appended.Outcome, appended.Seqs.To)
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

// Several messages under one id stay together, at the price of their bytes and
// one write.
func ExampleSorter_Append_batch() {
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	request := cursor.Arrival{Queue: "readings", ID: "request-1", Messages: []cursor.Message{
		{Body: []byte(`20.5`)}, {Body: []byte(`20.7`)}, {Body: []byte(`20.6`)},
	}}
	for range 2 {
		appended, err := sorter.Append(context.Background(), request)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(appended.Outcome, appended.Seqs.From+1, "to", appended.Seqs.To)
	}
	// Output:
	// advanced 1 to 3
	// duplicate 1 to 3
}
