package cursor_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// waits is a record of a message that waits in a keyed queue of texts.
func waits(t *testing.T, sequence int, at time.Time, queue, key string) string {
	t.Helper()
	stored := check.Get(sortkey.KeyType("text").Key(key))
	return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","ApproximateCreationDateTime":%d,"Keys":{"queue":{"S":%q},"sortKey":{"B":%q}}}}`,
		sequence, at.Unix(), queue,
		base64.StdEncoding.EncodeToString([]byte(sortkey.Era("").SortKey(stored, "1"))))
}

// TestOnArrivalsSettlesEachQueueOnce: up to the greatest key of the batch, in one wake-up where
// there is a window. A queue that fails keeps no other back; its record comes again, for half a
// minute.
func TestOnArrivalsSettlesEachQueueOnce(t *testing.T) {
	b := newBench(t, nil)
	for queue, settle := range map[string]time.Duration{"now": 0, "bad": 0, "q": 5 * time.Second} {
		kind, keyType := cursor.KindKeyed, sortkey.KeyType("text")
		check.Get(b.sorter.Configure(t.Context(), queue,
			cursor.Change{Kind: &kind, KeyType: &keyType, Settle: &settle}))
		for _, key := range []string{"b", "a"} {
			m := keyedOf(key, "1")
			m.Queue = queue
			b.putKeyed(m)
		}
	}
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if update, ok := r.(ddb.Update); ok && update.Key.Get("queue").Str() == "bad" {
			return ddb.Answer{}, cursor.ErrThrottled
		}
		return b.tables.Do(ctx, r)
	})
	at := b.now
	run := func() (again string, wakeUps []string, placed, failed int) {
		response := check.Get(cursor.OnArrivals(b.process(cursor.Options{}), cursor.Names{},
			cursor.OnArrivalsOptions{
				WakeUp: func(queue string, upTo sortkey.SortKey, due time.Time) {
					wakeUps = append(wakeUps, fmt.Sprint(queue, " ", upTo.Key(), " ", due.Sub(b.now)))
				},
				Settled: func(done cursor.Settled) { placed += done.Placed },
				Failed:  func(error) { failed++ },
			})(t.Context(), event(t, waits(t, 1, at, "q", "b"), waits(t, 2, at, "now", "a"),
			waits(t, 3, at, "bad", "a"), waits(t, 4, at, "q", "a"), waits(t, 5, at, "now", "b"))))
		for _, f := range response.BatchItemFailures {
			again += f.ItemIdentifier
		}
		return again, wakeUps, placed, failed
	}
	again, wakeUps, placed, failed := run()
	b.want("batch", fmt.Sprintf("%s %v %d %d", again, wakeUps, placed, failed), "3 [q b 5s] 2 1")
	b.later(31 * time.Second)
	again, _, placed, failed = run()
	b.want("when it is old", fmt.Sprintf("%q %d %d", again, placed, failed), `"" 0 1`)
}
