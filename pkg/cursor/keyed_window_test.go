package cursor_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestLongWindowsAreReadByBounds: 100 messages a second that wait for a minute, out of order by up
// to five seconds, with a wake-up a second for what came in it. Each message is read three times at
// most, however many wait.
func TestLongWindowsAreReadByBounds(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = time.Minute }))
	read := 0
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		a, err := b.tables.Do(ctx, r)
		if q, ok := r.(ddb.Query); ok && q.Name() == "query waiting" {
			read += len(a.Items)
		}
		return a, err
	})
	settler := b.process(cursor.Options{})
	const seconds, each = 150, 100
	type wakeUp struct {
		upTo sortkey.SortKey
		due  time.Time
	}
	var sent []int
	random := rand.New(rand.NewPCG(18, 9))
	for i := range seconds * each {
		sent = append(sent, i)
	}
	delay := map[int]int{}
	for _, i := range sent {
		delay[i] = i + random.IntN(5*each)
	}
	slices.SortFunc(sent, func(a, b int) int { return cmp.Compare(delay[a], delay[b]) })
	var wakeUps []wakeUp
	placed := 0
	wake := func() {
		for len(wakeUps) > 0 && !wakeUps[0].due.After(b.now) {
			did := check.Get(settler.Settle(t.Context(), "q", wakeUps[0].upTo))
			placed, wakeUps = placed+did.Placed, wakeUps[1:]
			check.Need(t, did.Late <= 0, "%d are late", did.Late)
		}
	}
	for batch := range slices.Chunk(sent, each) {
		var messages []cursor.Message
		var upTo sortkey.SortKey
		for _, i := range batch {
			messages = append(messages, keyedOf(fmt.Sprintf("%06d", i), "x"))
			upTo = max(upTo, sortkey.Era("").SortKey(textKey(t, fmt.Sprintf("%06d", i)), "x"))
		}
		b.putKeyed(messages...)
		wakeUps = append(wakeUps, wakeUp{upTo, b.now.Add(time.Minute)})
		b.later(time.Second)
		wake()
	}
	for len(wakeUps) > 0 {
		b.later(time.Second)
		wake()
	}
	per := float64(read) / (seconds * each)
	t.Logf("each message is read %.2f times", per)
	check.That(t, placed == seconds*each && per <= 3,
		"%d placed, want %d; each is read %.2f times, want 3 at most", placed, seconds*each, per)
}
