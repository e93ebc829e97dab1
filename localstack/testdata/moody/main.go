// Moody is a consumer behind the cursors' stream that fails as the names of its queues say: it
// refuses each batch of "retry/…" twice, its process dies with the first one of "die/…", and it
// takes all others. It logs what it is given, with the time in ms.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

func handle(_ context.Context, batch delivery.Batch) error {
	fmt.Println("given", batch.Queue, batch.To, batch.Attempt, time.Now().UnixMilli())
	switch {
	case strings.HasPrefix(batch.Queue, "die/") && batch.Attempt == 1:
		os.Exit(1)
	case strings.HasPrefix(batch.Queue, "retry/") && batch.Attempt < 3:
		return errors.New("not now")
	}
	return nil
}

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	deliverer := d.Deliverer(delivery.Options{})
	if err := d.Err(); err != nil {
		return nil, err
	}
	deliver, err := delivery.OnStream(deliverer, d.Names,
		delivery.Reader{Name: "moody", Handle: handle, Circuit: delivery.Circuit{Off: true}})
	return runtime.Handle(d, 0, func(ctx context.Context, _ *emf.Metrics,
		event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		return deliver(ctx, event)
	}), err
}
