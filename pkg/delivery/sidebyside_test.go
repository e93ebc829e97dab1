package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// A caller that says nothing of it has the queues of a batch of records delivered side by
// side.
func TestQueuesAreDeliveredSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
		var all sync.WaitGroup
		handle := check.Get(delivery.OnStream(d, cursor.Names{}, delivery.Reader{Name: "books", Handle: func(context.Context, delivery.Batch) error {
			all.Done()
			all.Wait()
			return nil
		}}))
		event := table.StreamEvent{}
		for i := range 3 {
			queue := fmt.Sprint("q", i)
			check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})[0].Err)
			event.Records = append(event.Records, moved(i+1, queue, 0, 1))
		}
		all.Add(3)
		if response, err := handle(t.Context(), event); err != nil || len(response.BatchItemFailures) != 0 {
			t.Errorf("%v, %v", response, err)
		}
	})
}
