package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// item is what becomes one entry of a request.
type item[T any] struct {
	seq   int64
	bytes int
	entry T
}

// fit reports the first item that no request can hold.
func fit[T any](items []item[T], l limits) error {
	for _, it := range items {
		if it.bytes > l.bytes {
			return &TooLargeError{l.kind, it.seq, it.bytes, l.bytes}
		}
	}
	return nil
}

// take is how many of the first items one request holds.
func take[T any](items []item[T], l limits) int {
	n, bytes := 0, 0
	for n < len(items) && n < l.entries && bytes+items[n].bytes <= l.bytes {
		bytes += items[n].bytes
		n++
	}
	return n
}

// refusal is an entry that a request did not take.
type refusal struct {
	index   int // in the request
	code    string
	message string
	final   bool // no repeat can mend it
}

// tries is how often an entry is sent at most, as long as it is the first that
// is refused. What is refused longer is the consumer's to repeat: it has other
// queues to serve.
const tries = 5

// sendAll sends all items in their order, in as few requests as the limits
// allow. put makes one request and tells which entries it did not take, in
// order; they go again before anything later, and the rest of the batch one by
// one where the sink keeps an order and later entries were taken.
func sendAll[T any](ctx context.Context, queue string, items []item[T], l limits, ordered bool,
	put func(context.Context, []T) ([]refusal, error),
) error {
	if err := fit(items, l); err != nil {
		return err
	}
	for refused := 0; len(items) > 0; {
		sent := items[:take(items, l)]
		entries := make([]T, len(sent))
		for i := range sent {
			entries[i] = sent[i].entry
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
		if ordered && len(sent)-first.index > len(refusals) {
			slog.WarnContext(ctx, "sink.overtaken", "queue", queue, "seq", sent[first.index].seq, "code", first.code)
			l.entries = 1
		}
		if first.index > 0 {
			refused = 0
		}
		refused++
		err = fmt.Errorf("%s refused message %d: %s", l.kind, sent[first.index].seq, bounded(first.code+": "+first.message))
		if first.final || refused == tries {
			return err
		}
		items = append(again(sent, refusals), items[len(sent):]...)
		if ended := pause(ctx, refused); ended != nil {
			return errors.Join(err, ended)
		}
	}
	return nil
}

// again are the refused of the items that were sent, in order.
func again[T any](sent []item[T], refusals []refusal) []item[T] {
	items := make([]item[T], 0, len(refusals))
	for _, r := range refusals {
		items = append(items, sent[r.index])
	}
	return items
}

// pause waits longer after each refusal, and never the same.
func pause(ctx context.Context, refused int) error {
	timer := time.NewTimer(25*time.Millisecond<<refused + rand.N(25*time.Millisecond<<refused))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
