package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// patient is the desk's reader with the default time after which a message blocks though nothing is
// known of its sink.
func (k *desk) patient() delivery.Reader {
	r := k.reader()
	r.BlockAfter = 0
	return r
}

func (k *desk) hands(queue, want string) delivery.Delivery { return k.to(k.patient(), queue, want) }

func (k *desk) refuses(queues ...string) {
	k.fails = func(b delivery.Batch) error {
		if slices.Contains(queues, b.Queue) {
			return errNo
		}
		return nil
	}
}

// fail has queues fail once, and lets the time to the next try pass.
func (k *desk) fail(queues ...string) {
	k.t.Helper()
	for _, queue := range queues {
		k.hands(queue, endedFailed)
	}
	k.pass(5 * time.Minute)
}

func (k *desk) health() request.Health {
	k.t.Helper()
	return check.Get(k.store.Requests(request.Inside{}).Health(k.t.Context(), "c", true))
}

func (k *desk) listed(queues ...string) (all []request.FailingQueue) {
	for _, queue := range queues {
		all = append(all, request.FailingQueue{Queue: queue, At: k.now})
	}
	return all
}

// knows has it known of the sink what the test says.
func (k *desk) knows(next request.Health) {
	k.t.Helper()
	seen := k.health()
	next.Consumer, next.By = "c", "the test"
	_, made := check.Get2(k.store.Requests(request.Inside{}).Learn(k.t.Context(), seen, next))
	check.Need(k.t, made, "the sink's health is another one")
}

// TestBlocksByOneLook: a message that has failed for long enough blocks where the sink took what
// was handed over after its failure before, or where no other queue fails; not where it took what
// was handed over earlier, and not where another queue was noted to fail within 15 minutes.
func TestBlocksByOneLook(t *testing.T) {
	for name, c := range map[string]struct {
		// taken is when the sink took something, after the failure before the last; another how
		// long ago another queue was noted.
		taken, another time.Duration
		want           string
	}{
		"taken since, while another fails":    {time.Second, time.Minute, endedBlocked},
		"taken before, while another fails":   {0, time.Minute, endedFailed},
		"taken before, and none fails":        {0, 15 * time.Minute, endedBlocked},
		"taken before, and one failed lately": {0, 15*time.Minute - time.Second, endedFailed},
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t, 1)
			k.refuses("q")
			for range 13 {
				k.knows(request.Health{Failing: k.listed("other"), FailingSince: k.now})
				k.fail("q")
			}
			k.knows(request.Health{
				Failing: append([]request.FailingQueue{{Queue: "other", At: k.now.Add(-c.another)}},
					k.listed("q")...), FailingSince: k.now,
				TakenAt: k.standing("q").Failed.Add(c.taken),
			})
			k.hands("q", c.want)
		})
	}
}

// TestBlocksNotBeforeItsTime: neither the attempts nor the time alone block.
func TestBlocksNotBeforeItsTime(t *testing.T) {
	k := newDesk(t, 1)
	k.refuses("q")
	for range 12 { // the twelfth is 55 minutes after the first
		k.fail("q")
	}
	k.at("q", 0, delivery.Idle)
	k = newDesk(t, 1)
	k.refuses("q")
	k.hands("q", endedFailed)
	k.pass(time.Hour)
	k.hands("q", endedFailed)
	k.pass(time.Hour)
	k.hands("q", endedBlocked)
}

// TestWhatWasHandedOverBeforeProvesNothing: a success counts from when the batch was handed over,
// however long it took.
func TestWhatWasHandedOverBeforeProvesNothing(t *testing.T) {
	k := newDesk(t)
	k.put("slow", 1)
	k.knows(request.Health{Failing: k.listed("q"), FailingSince: k.now})
	began := k.now
	k.fails = func(delivery.Batch) error { k.pass(time.Minute); return nil }
	k.hands("slow", endedCaughtUp)
	h := k.health()
	check.That(t, h.TakenAt.Equal(began) && len(h.Failing) == 0 && h.FailingSince.IsZero(), "%+v", h)
}

// TestSuccessIsNotedSeldom: while nothing fails not at all, else every ten seconds at most.
func TestSuccessIsNotedSeldom(t *testing.T) {
	k := newDesk(t)
	rev := func() int64 { return k.health().Rev }
	for next := int64(1); next <= 3; next++ {
		k.put("good", next)
		k.hands("good", endedCaughtUp)
	}
	check.That(t, rev() == 0, "noted while nothing failed")
	noted := map[time.Time]bool{}
	for next := int64(4); next <= 34; next++ { // half a minute
		h := k.health()
		h.Failing, h.FailingSince = k.listed("other"), k.now
		k.knows(h)
		k.put("good", next)
		k.hands("good", endedCaughtUp)
		noted[k.health().TakenAt] = true
		k.pass(time.Second)
	}
	if delete(noted, time.Time{}); len(noted) < 2 || len(noted) > 4 {
		t.Errorf("noted %d times in half a minute", len(noted))
	}
}

// TestFailuresAreListed: ten at most, and renewed when a third of their time is over.
func TestFailuresAreListed(t *testing.T) {
	k := newDesk(t)
	r := k.patient()
	r.Circuit.Off = true
	k.fails = func(delivery.Batch) error { return errNo }
	first := k.now
	for i := range 12 {
		queue := fmt.Sprint("q", i)
		k.put(queue, 1)
		k.to(r, queue, "")
	}
	h := k.health()
	check.That(t, len(h.Failing) == 10 && h.FailingSince.Equal(first), "%+v; want ten", h)
	for _, after := range []time.Duration{5 * time.Minute, 5*time.Minute + 11*time.Second} {
		k.now = first.Add(after)
		k.to(r, "q0", "")
		want := first
		if after > 5*time.Minute {
			want = k.now
		}
		at := k.health().Failing[0].At
		check.That(t, at.Equal(want), "after %s: noted at %s, want %s", after, at, want)
	}
	k.now = first.Add(15 * time.Minute)
	k.to(r, "q11", "")
	if h := k.health(); len(h.Failing) > 2 ||
		!slices.ContainsFunc(h.Failing, func(f request.FailingQueue) bool {
			return f.Queue == "q11"
		}) {
		t.Errorf("%+v; want those that are over gone", h)
	}
}

// TestARedriveBeginsAnew: what was taken before says nothing of the message now.
func TestARedriveBeginsAnew(t *testing.T) {
	k := newDesk(t, 1)
	k.block("q", 1)
	k.operates(redrives(orderOf("q"), 1))
	k.pass(time.Hour)
	k.refuses("q")
	for range 3 {
		k.hands("q", endedFailed)
		k.pass(10 * time.Minute)
	}
}

// TestFailuresOfOthersAreSeenAtOnce: a message does not block because a weak read shows what was
// known before others failed.
func TestFailuresOfOthersAreSeenAtOnce(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1)
	k.refuses("a")
	for range 12 {
		k.fail("a")
	}
	k.knows(request.Health{Failing: k.listed("a"), FailingSince: k.now})
	stale := ddbtest.NewStale(k.consumers, nil)
	k.knows(request.Health{Failing: k.listed("a", "b"), FailingSince: k.now})
	k.store = k.storeOn(stale.Do)
	k.restarted()
	k.hands("a", endedFailed)
}

// TestAProcessLooksAgain: after five seconds, however many queues of the name it delivers; and
// after a second where it could see nothing.
func TestAProcessLooksAgain(t *testing.T) {
	k := newDesk(t)
	looks, away := 0, false
	k.see = func(r ddb.Request) error {
		if r.Name() == "health" {
			if looks++; away {
				return errFlaky
			}
		}
		return nil
	}
	next := int64(0)
	deliver := func(what string, want int) {
		t.Helper()
		looks = 0
		next++
		for _, queue := range []string{"a", "b", "c"} {
			k.put(queue, next)
			k.hands(queue, endedCaughtUp)
		}
		check.That(t, looks == want, "%s: %d looks, want %d", what, looks, want)
	}
	deliver("the first", 1)
	k.pass(4 * time.Second)
	deliver("four seconds later", 0)
	k.pass(time.Second)
	away = true
	deliver("five seconds later, and nothing can be seen", 1)
	k.pass(time.Second)
	deliver("a second later", 1)
	away = false
	deliver("at once", 0)
	k.pass(time.Second)
	deliver("a second later, and it can be seen", 1)
}

// TestADeathAfterAFailureBlocksInTime: a message that its sink refused, and that its worker then
// dies of, blocks when its time is over, whatever is known of the sink.
func TestADeathAfterAFailureBlocksInTime(t *testing.T) {
	k := newDesk(t, 1)
	k.refuses("q")
	for range 3 {
		k.fail("q")
	}
	dies := func() {
		k.claims("q", 1, time.Minute)
		k.pass(2 * time.Minute)
	}
	dies()
	k.hands("q", endedFailed) // not before its time
	k.pass(5 * time.Minute)
	k.pass(time.Hour)
	k.knows(request.Health{Failing: k.listed("other"), FailingSince: k.now})
	dies()
	k.sweep(delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: 3})
	k.at("q", 0, delivery.Idle)
	k.hands("q", endedBlocked)
}

// TestConsumerFailing: a message is announced when it failed as often as it may, with its first
// failure's time, until it is taken.
func TestConsumerFailing(t *testing.T) {
	k := newDesk(t, 1)
	k.put("other", 1)
	k.refuses("q", "other")
	announced := func() (failing []delivery.Announcement) {
		t.Helper()
		k.sweep(delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1},
			Readers: []delivery.Reader{{Name: "c", MaxAttempts: 3}}})
		for _, a := range k.announced {
			if a.Kind == "consumer.failing" && a.Queue == "q" {
				failing = append(failing, a)
			}
		}
		return failing
	}
	first := k.now
	k.fail("q", "other")
	k.fail("q", "other")
	check.Is(t, len(announced()), 0)
	k.fail("q", "other")
	said := announced()
	check.That(t, len(said) == 1 && said[0].Error == "no" && said[0].Attempts == 3 &&
		said[0].Since.Equal(first),
		"%+v was announced", said)
	check.Is(t, k.failing("other 1: no", "q 1: no")[1].Since, first)
	k.fails = nil
	k.hands("q", endedCaughtUp)
	check.Is(t, len(announced()), 0)
}
