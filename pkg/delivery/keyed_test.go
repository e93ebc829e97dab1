package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// putKeyed puts messages of a queue of numbers, each with its key for its id and its body.
func (k *desk) putKeyed(queue string, keys ...int) {
	k.t.Helper()
	for _, key := range keys {
		k.must(k.sorter.Put(k.t.Context(), cursor.Message{
			KeyParts: []any{key}, KeyType: "number", Queue: queue, ID: fmt.Sprint(key), Body: fmt.Append(nil, key),
		})[0].Err)
	}
}

// settles lets the settle window pass, and settles the queue.
func (k *desk) settles(queue string) {
	k.t.Helper()
	k.pass(5 * time.Second)
	check.Get(k.sorter.Settle(k.t.Context(), queue, sortkey.EverySortKey))
}

// sorted tells the messages of a batch with their keys, such as "2:20 late".
func sorted(b delivery.Batch) string {
	var all []string
	for _, m := range b.Messages {
		text := fmt.Sprintf("%d:%s", m.Seq, m.Key.JSON())
		if m.Late {
			text += " late"
		}
		all = append(all, text)
	}
	for _, seq := range b.Skipped {
		all = append(all, fmt.Sprintf("no %d", seq))
	}
	return fmt.Sprintf("%s #%d", strings.Join(all, ", "), b.Attempt)
}

// TestKeyedQueuesAreDelivered in the order of their keys, late ones behind and marked; a batch that
// failed comes again as it was.
func TestKeyedQueuesAreDelivered(t *testing.T) {
	for policy, want := range map[cursor.LatePolicy][]string{
		cursor.LateDeliver: {`1:10, 2:20 #1`, `3:5 late, 4:15 late, 5:30 #1`, `3:5 late, 4:15 late, 5:30 #2`, `6:25 late #1`},
		cursor.LateDrop:    {`1:10, 2:20 #1`, `5:30, no 3, no 4 #1`, `5:30, no 3, no 4 #2`, `no 6 #1`},
	} {
		t.Run(string(policy), func(t *testing.T) {
			k := newDesk(t)
			kind, keys := cursor.KindKeyed, sortkey.KeyType("number")
			check.Get(k.sorter.Configure(t.Context(), "q", cursor.Change{Kind: &kind, KeyType: &keys, Late: &policy}))
			check.Get(k.createOf(cursor.KindKeyed, delivery.Who{}, "q", "c", delivery.First))
			fails := 0
			r := k.reader()
			r.Handle = func(_ context.Context, b delivery.Batch) error {
				k.got = append(k.got, sorted(b))
				if fails--; fails == 0 {
					return errNo
				}
				return nil
			}
			deliver := func(want string) {
				t.Helper()
				if done := k.d.Deliver(t.Context(), "q", r, -1); done.Err != nil || ending(done) != want {
					t.Errorf("it ended as %s (%v), want %s", ending(done), done.Err, want)
				}
			}
			k.putKeyed("q", 20, 10)
			deliver(endedCaughtUp) // they wait
			k.settles("q")
			deliver(endedCaughtUp)
			k.putKeyed("q", 30, 5, 15)
			k.settles("q")
			fails = 1
			deliver(endedFailed)
			k.pass(time.Hour)
			deliver(endedCaughtUp)
			k.putKeyed("q", 25)
			deliver(endedCaughtUp)
			k.gets(want...)
			k.at("q", 6, delivery.Idle)
		})
	}
}

// TestAConsumerDoesNotMakeAKeyedQueue, for it does not know the type of the keys.
func TestAConsumerDoesNotMakeAKeyedQueue(t *testing.T) {
	k := newDesk(t)
	_, err := k.createOf(cursor.KindKeyed, delivery.Who{}, "q", "c", delivery.First)
	invalid(t, err, "kind")
	check.Fails(t, check.Err(k.sorter.Status(t.Context(), "q")), cursor.ErrNoQueue)
	k.putKeyed("q", 2, 1)
	c, err := k.createOf(cursor.KindKeyed, delivery.Who{}, "q", "c", delivery.First)
	check.That(t, err == nil && c.Delivered == 0, "%+v, %v", c, err)
}
