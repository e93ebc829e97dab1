package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestManyConsumersOfAQueueHaveATurn: those that lag take 5 seconds of the round, and the rest
// of the run; a hundred of them are announced.
func TestManyConsumersOfAQueueHaveATurn(t *testing.T) {
	k := newDesk(t)
	k.put("many", 1)
	const consumers = 300
	for n := range consumers {
		check.Get(k.d.Create(t.Context(), "many", fmt.Sprint("c", n), delivery.First))
	}
	k.put("other", 1)
	k.ends("other", endedCaughtUp)
	k.put("other", 2)
	k.pass(time.Hour)
	k.sweep(delivery.SweepOptions{}) // from here on only the round of the gaps is due
	began := k.now
	var other time.Duration
	read := 0
	k.queues.fail = func(request, queue string) error {
		switch {
		case request == "messages" && queue == "many":
			read++
			k.pass(100 * time.Millisecond)
		case request == "notify" && queue == "other":
			other = k.now.Sub(began)
		}
		return nil
	}
	report := k.sweep(delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}})
	check.That(t, other <= 6*time.Second && read == consumers,
		"the other queue is seen after %s, %d of %d consumers in all; want a turn, and all", other, read, consumers)
	ofMany := slices.DeleteFunc(k.announced, func(a delivery.Announcement) bool { return a.Queue != "many" })
	check.That(t, report.Notified == 2 && len(ofMany) == 100,
		"%+v, %d announced; want 2 notifications, and 100", report, len(ofMany))
}

// TestEveryConsumerComesUp: however many of a queue's consumers lag, whatever their names are,
// each is announced by and by.
func TestEveryConsumerComesUp(t *testing.T) {
	k := newDesk(t)
	k.put("many", 1)
	const consumers = 300
	for n := range consumers {
		check.Get(k.d.Create(t.Context(), "many", fmt.Sprint("c", n), delivery.First))
	}
	said := map[string]bool{}
	for range 20 {
		k.pass(time.Hour + 37*time.Millisecond)
		k.announced = nil
		k.sweep(delivery.SweepOptions{})
		check.Need(t, len(k.announced) == 100, "%d are announced in a run, want 100", len(k.announced))
		for _, a := range k.announced {
			said[a.Consumer] = true
		}
	}
	check.That(t, len(said) == consumers,
		"%d of %d consumers were ever announced", len(said), consumers)
}

// TestDeletingHasATurn: a queue with much to delete takes 5 seconds of the round, and the rest of the run.
func TestDeletingHasATurn(t *testing.T) {
	k := newDesk(t)
	k.put("many", upTo(1, 1000)...)
	k.ends("many", endedCaughtUp)
	k.put("other", 1)
	k.ends("other", endedCaughtUp)
	k.put("other", 2)
	options := delivery.SweepOptions{Delete: true, Sorter: cursor.SweepOptions{Segments: 1}}
	k.sweep(delivery.SweepOptions{Delete: true}) // from here on only the round of the gaps is due, and the floor has risen
	k.pass(cursor.DeleteAfter)
	k.must(k.sorter.Notify(t.Context(), "many"))
	k.must(k.sorter.Notify(t.Context(), "other"))
	began := k.now
	var other time.Duration
	k.queues.fail = func(request, queue string) error {
		switch {
		case request == "messages" && queue == "many":
			k.pass(500 * time.Millisecond)
		case request == "notify" && queue == "other":
			other = k.now.Sub(began)
		}
		return nil
	}
	report := k.sweep(options)
	check.That(t, report.Deleted == 1001, "%d deleted; want all", report.Deleted)
	check.That(t, other != 0 && other <= 8*time.Second,
		"the other queue is seen after %s, want a turn, and what is under way then", other)
}
