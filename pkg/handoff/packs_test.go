package handoff_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// packs makes a queue with packed runs, and puts a batch of messages, which is one.
func (k *desk) packs(queue string, first, last int64) {
	k.t.Helper()
	on := cursor.PacksOn
	_, err := k.sorter.Configure(k.t.Context(), queue, cursor.Change{Packs: &on})
	k.must(err)
	var run []cursor.Message
	for seq := first; seq <= last; seq++ {
		run = append(run, cursor.Message{Queue: queue, Seq: seq, Body: fmt.Appendf(nil, "%4d", seq)})
	}
	_, err = k.sorter.PutGroup(k.t.Context(), run)
	k.must(err)
	page, err := k.queues.Messages(k.t.Context(), cursor.Query{Queue: queue, First: first, Last: last})
	k.must(err)
	if len(page.Messages) != 1 {
		k.t.Fatalf("they are %d items, want 1", len(page.Messages))
	}
}

// TestPackedRunsAreDeliveredAsMessages: a claim ends within one, as its bounds say.
func TestPackedRunsAreDeliveredAsMessages(t *testing.T) {
	k := newDesk(t)
	k.packs("q", 1, 7)
	k.put("q", 8)
	k.packs("q", 9, 10)
	k.ends("q", handoff.EndedCaughtUp)
	k.gets("q 1,2,3 #1", "q 4,5,6 #1", "q 7,8,9 #1", "q 10 #1")

	k.packs("bytes", 1, 5)
	r := k.reader()
	r.MaxMessages, r.MaxBytes = 100, 8
	k.must(k.d.Deliver(t.Context(), "bytes", r, -1).Err)
	k.gets("bytes 1,2 #1", "bytes 3,4 #1", "bytes 5 #1")
}

// TestAMessageOfAPackedRunFails alone, and the consumer is blocked at it.
func TestAMessageOfAPackedRunFails(t *testing.T) {
	k := newDesk(t)
	k.packs("q", 1, 7)
	k.poison(5, errors.New("no"))
	r := k.reader()
	r.MaxAttempts = 5
	for range 20 {
		k.must(k.d.Deliver(t.Context(), "q", r, -1).Err)
		k.pass(10 * time.Minute)
	}
	k.at("q", 4, handoff.Blocked)
	k.fails, k.got = nil, nil
	_, err := k.d.Skip(t.Context(), order("op"), 5)
	k.must(err)
	k.ends("q", handoff.EndedCaughtUp)
	k.gets("q 6,7 #1")
}

// TestAHalfConsumedPackedRunIsNotDeleted before its last message is delivered.
func TestAHalfConsumedPackedRunIsNotDeleted(t *testing.T) {
	k := newDesk(t)
	k.packs("q", 1, 5)
	_, err := k.d.Create(t.Context(), "q", "c", handoff.First)
	k.must(err)
	k.poison(4, errors.New("no"))
	k.ends("q", handoff.EndedFailed)
	for range 2 {
		k.pass(cursor.DeleteAfter)
		if report := k.sweep(handoff.SweepOptions{Delete: true, MaxAttempts: 9}); report.Deleted != 0 {
			t.Errorf("%d items were deleted, want none", report.Deleted)
		}
	}
	k.fails, k.got = nil, nil
	k.pass(time.Hour)
	k.ends("q", handoff.EndedCaughtUp)
	k.at("q", 5, handoff.Idle)
}
