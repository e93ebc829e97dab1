package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// A caller that says nothing of it has the queues of a batch of records delivered side by
// side.
func TestQueuesAreDeliveredSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sorter, err := cursor.New(cursor.NewMemory(), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := delivery.New(delivery.NewMemory(), sorter, nil)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		handle, err := delivery.OnStream(d, cursor.Names{}, delivery.Reader{Name: "books", Handle: func(context.Context, delivery.Batch) error {
			all.Done()
			all.Wait()
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		event := table.StreamEvent{}
		for i := range 3 {
			queue := fmt.Sprint("q", i)
			if err := sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})[0].Err; err != nil {
				t.Fatal(err)
			}
			event.Records = append(event.Records, moved(i+1, queue, 0, 1))
		}
		all.Add(3)
		if response, err := handle(t.Context(), event); err != nil || len(response.BatchItemFailures) != 0 {
			t.Errorf("%v, %v", response, err)
		}
	})
}
