package delivery_test

import (
	"context"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestAHintMakesNoQueue: a queue that nobody has is not made, and its kind stays open.
func TestAHintMakesNoQueue(t *testing.T) {
	k := newDesk(t)
	k.eagerly(map[string]int64{"typo": 7})
	if _, err := k.sorter.Status(t.Context(), "typo"); err == nil {
		t.Error("a hint made the queue")
	}
	if err := k.sorter.Put(t.Context(), cursor.Message{Queue: "typo", Seq: cursor.NoSeq, ID: "a", Body: []byte("1")})[0].Err; err != nil {
		t.Errorf("and its kind: %v", err)
	}
}

// TestAnInvalidHintIsNotWoken: what can never be delivered is not tried again.
func TestAnInvalidHintIsNotWoken(t *testing.T) {
	w := newWoken(t)
	w.eagerly(map[string]int64{"": 1})
	w.tells()
}

// TestAHintBeyondThePositionStallsNothing: what comes before the commit of a batch is delivered, whatever position was hinted.
func TestAHintBeyondThePositionStallsNothing(t *testing.T) {
	for name, position := range map[string]int64{"right": 1, "too great": 9} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.put("q", 1)
			done := false
			store := k.storeOn(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if u, ok := r.(ddb.Update); ok && u.Name() == "commit" && !done {
					done = true
					k.put("q", 2)
					k.stream(allWell, moved(1, "q", 1, 2))
				}
				return k.consumers.Do(ctx, r)
			})
			k.d = check.Get(delivery.New(store, k.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }}))
			k.eagerly(map[string]int64{"q": position})
			k.gets("q 1 #1", "q 2 #1")
		})
	}
}

// TestAHintBeyondThePositionIsNotKept: one that comes while a claim is in flight is not noted with it. A message costs one
// read of its queue a day later too.
func TestAHintBeyondThePositionIsNotKept(t *testing.T) {
	for name, hint := range map[string]int64{"none": 0, "wrong": cursor.MaxSeq} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.put("q", 1)
			race, reads := false, 0
			store := k.storeOn(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if u, ok := r.(ddb.Update); ok && u.Name() == "commit" && race {
					race = false
					k.put("q", 4)
					k.stream(allWell, moved(4, "q", 3, 4))
				}
				return k.consumers.Do(ctx, r)
			})
			k.d = check.Get(delivery.New(store, k.sorter, &delivery.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }}))
			k.fails = func(b delivery.Batch) error {
				if b.To == 1 && hint > 0 {
					k.eagerly(map[string]int64{"q": hint})
				}
				return nil
			}
			k.stream(allWell, moved(1, "q", 0, 1))
			k.gets("q 1 #1")
			// A day later all hints are right, and only the stream delivers.
			k.pass(24 * time.Hour)
			k.put("q", 2)
			k.queues.fail = func(request, _ string) error { reads++; return nil }
			k.stream(allWell, moved(2, "q", 1, 2))
			k.gets("q 2 #1")
			check.That(t, reads == 1, "%d reads of the queue for one message", reads)
			k.put("q", 3)
			race = true
			k.stream(allWell, moved(3, "q", 2, 3))
			k.gets("q 3 #1", "q 4 #1")
			c := check.Get(k.store.Requests(request.Inside{}).Consumer(t.Context(), "q", "c"))
			check.That(t, c.Asked <= 4, "asked is %d", c.Asked)
		})
	}
}
