package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestHandlerAnswersBeforeItsTimeIsOver: a batch ends so long before that it can be
// committed, and that a second is left then.
func TestHandlerAnswersBeforeItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	end, _ := ctx.Deadline()
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	check.OK(t, sorter.Put(ctx, cursor.Message{Queue: "q", Seq: 1})[0].Err)
	seen := &observer{}
	deliverer := check.Get(delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Observe: seen.delivery, Margin: 2 * time.Second}))
	handed := false
	handle := check.Get(handler(deliverer, cursor.Names{}, seen, []delivery.Reader{{Name: "c", Handle: func(ctx context.Context, _ delivery.Batch) error {
		handed = true
		// The context's clock and the deliverer's are read one after the other.
		if at, ok := ctx.Deadline(); !ok || at.After(end.Add(-headroom-1900*time.Millisecond)) {
			t.Errorf("the batch may last until %v before the end", end.Sub(at))
		}
		return nil
	}}}, nil))
	if answer, err := runtime.Around(io.Discard, headroom, handle)(ctx, event(t, record(1, "q", 1))); err != nil || len(answer.BatchItemFailures) > 0 || !handed {
		t.Errorf("%+v, %v, delivered: %v", answer, err, handed)
	}
}
