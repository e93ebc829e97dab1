package kind

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/pause"
)

// Item is a message as it becomes one entry of a request.
type Item[T any] struct {
	Seq   int64
	Bytes int
	Entry T
}

// Take is how many of the first items one request holds.
func Take[T any](items []Item[T], l Limits) int {
	n, bytes := 0, 0
	for n < len(items) && n < l.Entries && bytes+items[n].Bytes <= l.Bytes {
		bytes += items[n].Bytes
		n++
	}
	return n
}

// Refusal is an entry that a request did not take.
type Refusal struct {
	// Index is its place in the request.
	Index         int
	Code, Message string
	// Final means that no repeat can help.
	Final bool
	// Away means that the fault is the sink's own.
	Away bool
}

// tries is how often an entry is sent at most, as long as it is the first that is refused. What is
// refused longer is the consumer's to repeat: it has other queues to serve.
const tries = 5

// SendAll sends all items in their order, in as few requests as the limits allow. put makes one
// request and returns which entries it did not take, in order; they go again before anything later,
// and the rest of the batch one by one where the sink keeps an order and later entries were taken.
func SendAll[T any](ctx context.Context, queue string, items []Item[T], l Limits, ordered bool,
	put func(context.Context, []T) ([]Refusal, error),
) error {
	for _, it := range items {
		if it.Bytes > l.Bytes {
			return &TooLargeError{l.Kind, it.Seq, it.Bytes, l.Bytes}
		}
	}
	for refused := 0; len(items) > 0; {
		sent := items[:Take(items, l)]
		entries := make([]T, len(sent))
		for i := range sent {
			entries[i] = sent[i].Entry
		}
		refusals, err := put(ctx, entries)
		if err != nil {
			return err
		}
		if len(refusals) == 0 {
			items, refused = items[len(sent):], 0
			continue
		}
		first := refusals[0]
		if ordered && len(sent)-first.Index > len(refusals) {
			slog.WarnContext(ctx, "sink.overtaken", "queue", queue, "seq",
				sent[first.Index].Seq, "code", first.Code)
			l.Entries = 1
		}
		if first.Index > 0 {
			refused = 0
		}
		refused++
		err = &RefusedError{l.Kind, sent[first.Index].Seq, first}
		if first.Final || refused == tries {
			return err
		}
		var again []Item[T]
		for _, r := range refusals {
			again = append(again, sent[r.Index])
		}
		items = append(again, items[len(sent):]...)
		most := 25 * time.Millisecond << refused
		if ended := pause.For(ctx, most+rand.N(most)); ended != nil {
			return errors.Join(err, ended)
		}
	}
	return nil
}
