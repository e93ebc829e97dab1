package big

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// lateRepeat repeats the first arrival of a queue when many have come since.
func lateRepeat(w *world) error {
	ctx, count := context.Background(), w.of(200_000)
	arrival := func(n int64) cursor.Message {
		return cursor.Message{Queue: "big", Seq: cursor.NoSeq, ID: fmt.Sprint("order ", n), Body: []byte("1")}
	}
	var all spent
	for first := int64(0); first < count; first += 10_000 {
		if err := w.invoke(&all, sideBySide(time.Minute), func(s *cursor.Sorter) error {
			for n := first; n < min(first+10_000, count); n += 500 {
				var group []cursor.Message
				for i := range min(500, count-n) {
					group = append(group, arrival(n+i))
				}
				for _, r := range s.Put(ctx, group...) {
					if r.Err != nil {
						return r.Err
					}
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	w.line(fmt.Sprintf("%d arrivals", count), all)

	var repeat spent
	var again cursor.Result
	if err := w.invoke(&repeat, oneByOne(time.Second), func(s *cursor.Sorter) error {
		again = s.Put(ctx, arrival(0))[0]
		return again.Err
	}); err != nil {
		return err
	}
	w.line("the first of them again", repeat)
	if again.Outcome != cursor.Duplicate {
		return fmt.Errorf("the answer is %s", again.Outcome)
	}
	return errors.Join(
		atMost("requests", float64(repeat.requests), 4),
		atMost("read units", repeat.units.Reads, 2))
}
