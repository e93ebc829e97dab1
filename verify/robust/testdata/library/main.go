// Command library is what a user of the library writes first.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/streamsort/streamsort/pkg/cursor"
)

func main() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, seq := range []int64{2, 3, 1} {
		result := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq, Body: []byte("{}")})[0]
		if result.Err != nil {
			log.Fatal(result.Err)
		}
		fmt.Printf("put %d: out are %d to %d\n", seq, result.Old+1, result.New)
	}
}
