package trial

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// Send sends what produce gives it, by so many clients side by side, and returns when all of it has
// an answer. Requests that begin with the same queue are sent one after the other.
func (w *World) Send(
	ctx context.Context, clients int,
	produce func(context.Context, func(request ...traffic.Message) error) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make([]chan []traffic.Message, clients)
	for i := range work {
		work[i] = make(chan []traffic.Message, 4)
		group.Go(func() error {
			for request := range work[i] {
				if err := w.Put(ctx, request); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, client := range work {
				close(client)
			}
		}()
		return produce(ctx, func(request ...traffic.Message) error {
			if len(request) == 0 {
				return nil
			}
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(request[0].Queue)) // never fails
			select {
			case <-ctx.Done():
				return ctx.Err()
			case work[int(hash.Sum32())%clients] <- request:
				return nil
			}
		})
	})
	return group.Wait()
}

// SendAll sends messages in their order, some in each request.
func (w *World) SendAll(ctx context.Context, clients, size int, messages []traffic.Message) error {
	return w.Send(ctx, clients, func(_ context.Context, send func(...traffic.Message) error) error {
		return Chunks(messages, size, send)
	})
}

// Chunks sends messages in requests of a size.
func Chunks(messages []traffic.Message, size int, send func(...traffic.Message) error) error {
	for request := range slices.Chunk(messages, size) {
		if err := send(request...); err != nil {
			return err
		}
	}
	return nil
}

// Put puts a request until all of it is accepted, and then the messages that conflict with some of
// it. A duplicate is accepted: an answer may have been lost on the way, or on the function's way to
// its tables. One that was none is a message that is lost in the end.
func (w *World) Put(ctx context.Context, request []traffic.Message) error {
	var conflicts []json.RawMessage
	for _, m := range request {
		w.Account.Note(m)
		if m.Conflict != nil {
			conflicts = append(conflicts, m.Conflict)
		}
	}
	documents := traffic.Documents(request)
	err := w.Sender.Put(ctx, documents, "advanced", "parked", "stored", "duplicate")
	if err != nil || conflicts == nil {
		return err
	}
	return w.Sender.Put(ctx, conflicts, "conflict")
}
