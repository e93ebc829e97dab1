package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// notified reports whether the queue's consumers are woken up by what fn does.
func (k *desk) notified(queue string, fn func()) bool {
	k.t.Helper()
	return len(k.woken([]string{queue}, fn)) > 0
}

func (k *desk) everyFive() delivery.SweepReport {
	k.t.Helper()
	k.pass(5 * time.Minute)
	return k.sweep(delivery.SweepOptions{MaxAttempts: 3})
}

// TestSweepWakesUpWhoLags: a message whose record was dropped, and one whose sink was away; nobody
// is woken up who has everything.
func TestSweepWakesUpWhoLags(t *testing.T) {
	k := newDesk(t)
	k.put("lags", 1)
	k.put("well", 1)
	k.ends("lags", endedCaughtUp)
	k.ends("well", endedCaughtUp)
	k.put("lags", 2)
	var report delivery.SweepReport
	check.That(t, !k.notified("well", func() {
		check.That(t, k.notified("lags", func() { report = k.everyFive() }), "who lags is not woken up")
	}), "who has everything is woken up")
	want := delivery.SweepReport{Queues: 2, Lagging: 1, OldestLag: 5 * time.Minute, Notified: 1}
	check.Is(t, cmp.Diff(want, report, cmpopts.IgnoreFields(delivery.SweepReport{}, "Sorter")), "")
	// It is woken up by each run until it has everything.
	for range 30 {
		check.Is(t, k.everyFive().Notified, 1)
	}
	k.ends("lags", endedCaughtUp)
	k.everyFive()
	report = k.everyFive()
	check.That(t, report.Notified == 0 && report.Lagging == 0, "%+v; want nobody who lags", report)
}

// TestSweepLooksAtQuietQueuesSeldom: at those that moved each time, at all once a day.
func TestSweepLooksAtQuietQueuesSeldom(t *testing.T) {
	k := newDesk(t)
	for _, queue := range []string{"a", "b", "c"} {
		k.put(queue, 1)
		k.ends(queue, endedCaughtUp)
	}
	looked := func() int { return k.everyFive().Queues }
	for range 5 {
		looked()
	}
	check.Is(t, looked(), 0)
	k.put("b", 2)
	check.Is(t, looked(), 1)
	k.pass(24 * time.Hour)
	check.Is(t, looked(), 3)
}

// TestSweepSeesWhatASlowClockMoved: a process that moves a cursor may have a clock that is behind
// the sweep's.
func TestSweepSeesWhatASlowClockMoved(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1)
	k.ends("a", endedCaughtUp)
	for range 5 {
		k.everyFive()
	}
	k.pass(-9 * time.Minute)
	k.put("a", 2)
	k.pass(9 * time.Minute)
	check.Is(t, k.everyFive().Notified, 1)
}

// TestSweepEndsDeadClaims: a worker that died is followed by another, until the message was tried
// often enough.
func TestSweepEndsDeadClaims(t *testing.T) {
	k := newDesk(t, 1, 2)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	// Nothing is blocked that did not stand alone.
	for attempt := 1; attempt <= 5; attempt++ {
		k.claims("q", []int64{2, 2, 1, 1, 1}[attempt-1], time.Hour)
		check.Is(t, k.everyFive().Cancelled, 0)
		k.pass(time.Hour)
		report := k.everyFive()
		check.That(t, report.Cancelled == 1 && report.Notified == 1, "%+v", report)
	}
	k.at("q", 0, delivery.Blocked)
}

// TestAnnouncements: who is blocked, lags, or lost messages is announced by each run, under the
// same id, until that is over.
func TestAnnouncements(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	k.block("q", 2)
	since := k.standing("q").BlockedSince
	want := delivery.Announcement{
		Kind: "consumer.blocked", ID: "consumer.blocked/1/q/1/c/2/0", Queue: "q", Consumer: "c",
		Delivered: 1, Position: 3, Since: since, Attempts: 3, Error: "no",
	}
	for range 3 {
		report := k.everyFive()
		want.Age = k.now.Sub(since)
		diff := cmp.Diff([]delivery.Announcement{want}, k.announced)
		check.That(t, diff == "" && report.Blocked == 1 && report.Announced == 1,
			"%+v; announced (-want +got):\n%s", report, diff)
	}
	k.operates(skips(order("op"), 2))
	// It lags by what came long ago.
	k.everyFive()
	want = delivery.Announcement{Kind: "consumer.lags", ID: "consumer.lags/1/q/1/c/3/0", Queue: "q",
		Consumer: "c", Delivered: 2, Position: 3}
	only := cmpopts.IgnoreFields(delivery.Announcement{}, "Since", "Age")
	check.Is(t, cmp.Diff([]delivery.Announcement{want}, k.announced, only), "")
	k.queues.lose("q", 3)
	k.everyFive()
	want.Kind, want.ID = "consumer.missing", "consumer.missing/1/q/1/c/3/0"
	check.Is(t, cmp.Diff([]delivery.Announcement{want}, k.announced, only), "")
	k.operates(rewinds(order("over it"), delivery.Latest))
	k.everyFive()
	check.That(t, len(k.announced) == 0, "announced %+v, want nothing", k.announced)
}

// TestAnnouncementThatIsNotTaken: it stays due, and the error says so.
func TestAnnouncementThatIsNotTaken(t *testing.T) {
	k := newDesk(t, 1)
	k.put("well", 1)
	k.block("q", 1)
	k.put("other", 1)
	k.ends("other", endedCaughtUp)
	k.put("other", 2)
	k.pass(5 * time.Minute)
	report, err := k.d.Sweep(t.Context(),
		delivery.SweepOptions{Announce: func(context.Context, delivery.Announcement) error {
			return errors.New("nobody listens")
		}})
	check.That(t, err != nil && strings.Contains(err.Error(), "nobody listens") &&
		report.Failed == 1 && report.Announced == 0 && report.Notified != 0,
		"%+v, error %v", report, err)
	k.everyFive()
	check.That(t, len(k.announced) == 1, "announced %+v, want it once more", k.announced)
}

// TestSweepLooksAgainWhereItFailed: a queue that it fails on holds up no other, and is not left to
// the daily round, whether it could be notified or not.
func TestSweepLooksAgainWhereItFailed(t *testing.T) {
	for name, fails := range map[string][]string{"cursor": {"cursor"},
		"cursor and notify": {"cursor", "notify"}} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			for _, queue := range []string{"bad", "well"} {
				k.put(queue, 1)
				check.Get(k.d.Create(t.Context(), queue, "c", delivery.First))
			}
			k.sweep(delivery.SweepOptions{})
			k.queues.fail = func(request, queue string) error {
				if queue == "bad" && slices.Contains(fails, request) {
					return errFlaky
				}
				return nil
			}
			for range 12 {
				k.pass(5 * time.Minute)
				report, err := k.d.Sweep(t.Context(), delivery.SweepOptions{})
				check.Need(t, errors.Is(err, errFlaky) && report.Failed == 1 && report.Lagging == 1,
					"%+v, error %v", report, err)
			}
			k.queues.fail = nil
			report := k.everyFive()
			check.That(t, report.Failed == 0 && report.Lagging == 2, "%+v; want both queues seen", report)
		})
	}
}

// TestDeletionBehindConsumers: what all are past goes, an hour after it was found so; what one of
// them needs stays.
func TestDeletionBehindConsumers(t *testing.T) {
	k := newDesk(t, upTo(1, 5)...)
	k.put("nobody's", 1)
	k.ends("q", endedCaughtUp)
	slow := k.reader()
	slow.Name, slow.MaxMessages = "slow", 2
	check.Get(k.d.Create(t.Context(), "q", "slow", delivery.First))
	k.poison(3, errNo)
	k.to(slow, "q", "")
	sweep := func() delivery.SweepReport {
		k.pass(time.Minute)
		return k.sweep(delivery.SweepOptions{Delete: true, MaxAttempts: 3})
	}
	check.Is(t, sweep().Deleted, 0)
	check.Is(t, sweep().Deleted, 0)
	k.pass(cursor.DeleteAfter)
	check.Is(t, sweep().Deleted, 2)
	page := check.Get(k.queues.Requests(queuelog.Inside{}).Messages(t.Context(),
		queuelog.Query{Queue: "q", Last: cursor.MaxSeq}))
	check.That(t, len(page.Messages) == 3 && page.Messages[0].Seq == 3, "%+v is left", page.Messages)
	// No consumer is set back behind it.
	invalid(t, check.Err(k.d.Operate(t.Context(), rewinds(order("op"), delivery.At(2)))), "start")
	first := k.operates(rewinds(order("first"), delivery.First))
	check.Is(t, first.Delivered, 2)
	// A queue without consumers keeps what it has.
	_, there := check.Get2(k.queues.Requests(queuelog.Inside{}).Message(t.Context(), "nobody's", 1))
	check.That(t, there, "it is deleted")
}

func TestSweepOptionsOutOfBounds(t *testing.T) {
	k := newDesk(t)
	for name, options := range map[string]delivery.SweepOptions{
		"segments": {Sorter: cursor.SweepOptions{Segments: 101}}, "attempts": {MaxAttempts: 1}, "delete": {DeleteLimit: -1},
		"full": {Sorter: cursor.SweepOptions{FullEvery: -1}}, "lag": {LagAfter: -1},
	} {
		check.That(t, check.Err(k.d.Sweep(t.Context(), options)) != nil, "%s: no error", name)
	}
}

// TestSweepLooksForNewReadersInQuietQueues: a reader that is there later gets its consumers in
// queues that have been quiet for so long that the full round leaves them out.
func TestSweepLooksForNewReadersInQuietQueues(t *testing.T) {
	k := newDesk(t)
	old, late := k.reader(), k.reader()
	late.Name = "late"
	k.put("q", 1)
	k.ends("q", endedCaughtUp)
	notified := func(readers ...delivery.Reader) (n int) {
		for range 4 * 24 {
			k.pass(time.Hour)
			n += k.sweep(delivery.SweepOptions{Readers: readers}).Notified
		}
		return n
	}
	check.Is(t, notified(old), 0)
	check.That(t, notified(late, old) != 0, "the new reader's consumer is never made")
}

// TestSweepBlocksByTheReadersAttempts: a worker that dies is given as many attempts as its reader
// has.
func TestSweepBlocksByTheReadersAttempts(t *testing.T) {
	for attempts, want := range map[int]delivery.State{2: delivery.Blocked, 3: delivery.Idle} {
		k := newDesk(t, 1)
		check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
		for range 2 { // each dies
			k.claims("q", 1, time.Minute)
			k.pass(time.Hour)
		}
		k.sweep(delivery.SweepOptions{Readers: []delivery.Reader{{Name: "c", MaxAttempts: attempts}}})
		k.at("q", 0, want)
	}
}

// TestRefusedStartMakesNothing: a queue that is not there is not made for a consumer that is
// refused.
func TestRefusedStartMakesNothing(t *testing.T) {
	k := newDesk(t)
	invalid(t, check.Err(k.d.Create(t.Context(), "q", "billing", delivery.At(7))), "start")
	check.Fails(t, check.Err(k.sorter.Status(t.Context(), "q")), cursor.ErrNoQueue)
	check.Is(t, check.Get(k.d.Create(t.Context(), "q", "billing", delivery.At(1))).Delivered, 0)
}

// TestManyConsumersOfAQueueHaveATurn: those that lag take 5 seconds of the round, and the rest of
// the run; a hundred of them are announced.
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
	ofMany := slices.DeleteFunc(k.announced, func(a delivery.Announcement) bool {
		return a.Queue != "many"
	})
	check.That(t, report.Notified == 2 && len(ofMany) == 100, "%+v, %d announced", report, len(ofMany))
}

// TestEveryConsumerComesUp: however many of a queue's consumers lag, whatever their names are, each
// is announced by and by.
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
	check.Is(t, len(said), consumers)
}

// TestDeletingHasATurn: a queue with much to delete takes 5 seconds of the round, and the rest of
// the run.
func TestDeletingHasATurn(t *testing.T) {
	k := newDesk(t)
	k.put("many", upTo(1, 1000)...)
	k.ends("many", endedCaughtUp)
	k.put("other", 1)
	k.ends("other", endedCaughtUp)
	k.put("other", 2)
	options := delivery.SweepOptions{Delete: true, Sorter: cursor.SweepOptions{Segments: 1}}
	// from here on only the round of the gaps is due, and the floor has risen
	k.sweep(delivery.SweepOptions{Delete: true})
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
	check.That(t, other != 0 && other <= 8*time.Second, "the other queue is seen after %s", other)
}
