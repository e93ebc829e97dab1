package delivery_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// heldBack are the queues that the circuit holds back, those first that are for longest.
func (k *desk) heldBack() (queues []string) {
	k.t.Helper()
	rows, _ := check.Get2(k.trouble().Oldest(k.t.Context(), trouble.HeldBy("c"), trouble.Ages{}, 0))
	for _, row := range rows {
		queues = append(queues, row.Queue)
	}
	return queues
}

// open are the names of which it is listed that their circuit is open.
func (k *desk) open() (names []string) {
	k.t.Helper()
	rows, _ := check.Get2(k.trouble().Page(k.t.Context(), trouble.CircuitOpen, "", "", 10))
	for _, row := range rows {
		names = append(names, row.Consumer)
	}
	return names
}

// holds has the open circuit hold queues back, one after the other.
func (k *desk) holds(queues ...string) {
	k.t.Helper()
	for _, queue := range queues {
		k.put(queue, 1)
		k.pass(time.Millisecond)
		k.hands(queue, endedCircuitOpen)
	}
}

// closes has the queue "q" close the circuit.
func (k *desk) closes() {
	k.t.Helper()
	k.fails = nil
	k.probeDue()
	k.hands("q", endedCaughtUp)
}

func (k *desk) same(what string, got, want []string) {
	k.t.Helper()
	check.Is(k.t, cmp.Diff(want, got), "", what)
}

// TestHeldBack: each queue that has something to deliver is listed once, from when it was held back
// first; who probes is the last one.
func TestHeldBack(t *testing.T) {
	k := openDesk(t)
	k.same("names", k.open(), []string{"c"})
	k.same("held back", k.heldBack(), []string{"q3"})
	for _, queue := range []string{"r2", "r1"} {
		k.put(queue, 1)
	}
	for _, order := range [][]string{{"r2", "r1"}, {"r1", "r2"}} {
		for _, queue := range order {
			k.pass(time.Second)
			k.hands(queue, endedCircuitOpen)
		}
	}
	k.same("held back", k.heldBack(), []string{"q3", "r2", "r1"})
	k.probeDue()
	k.hands("r2", endedFailed)
	k.same("held back", k.heldBack(), []string{"q3", "r1", "r2"})
}

// TestProbesGoRound: those that are held back for longest are woken up for a probe, first such as
// did not fail; however few of them can be delivered, the others have their turns.
func TestProbesGoRound(t *testing.T) {
	k := openDesk(t)
	var woken []string
	k.holds(names("r", 8)...)
	for len(woken) < 12 {
		k.probeDue()
		turn := k.woken(k.heldBack(), func() {
			k.seesTo(delivery.SweepReport{CircuitsOpen: 1, Notified: 3,
				Announced: min(1, 1-min(len(woken), 1))}, 5*time.Second)
		})
		woken = append(woken, turn...)
		for _, queue := range turn {
			k.pass(time.Millisecond)
			k.d.Deliver(t.Context(), queue, k.patient(), -1)
		}
		check.Need(t, len(k.heldBack()) == 9, "held back: %v", k.heldBack())
	}
	// q3 failed before, and the first of each turn fails as the probe.
	k.same("woken", woken, []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
		"r1", "r2", "r4", "r5"})
}

func (k *desk) woken(queues []string, meanwhile func()) (woken []string) {
	k.t.Helper()
	notified := func(queue string) time.Time {
		return check.Get(k.sorter.Status(k.t.Context(), queue)).Notified
	}
	before := map[string]time.Time{}
	for _, queue := range queues {
		before[queue] = notified(queue)
	}
	meanwhile()
	for _, queue := range queues {
		if notified(queue).After(before[queue]) {
			woken = append(woken, queue)
		}
	}
	return woken
}

// TestBadMessagesKeepNoProbe: where more queues fail than are noted, those that do not fail are
// woken up for the probe, and the others let it pass for as long as that may take.
func TestBadMessagesKeepNoProbe(t *testing.T) {
	k := openDesk(t)
	for i := range 30 {
		queue := fmt.Sprintf("bad%02d", i)
		k.put(queue, 1)
		check.Get(k.d.Create(t.Context(), queue, "c", delivery.First))
		c := k.claims(queue, 1, time.Minute)
		check.Get2(k.store.Requests(request.Inside{}).Fail(t.Context(), heldOf(c),
			request.Failure{Error: "no", Alone: true, Now: k.now, RetryAt: k.now, Since: k.now}))
		k.pass(time.Millisecond)
		k.hands(queue, endedCircuitOpen)
	}
	k.holds("good")
	k.probeDue()
	for turn := 1; ; turn++ {
		woken := k.woken(k.heldBack(), func() {
			_, _, _ = k.d.Wake(t.Context(), "", "c", delivery.SweepOptions{})
		})
		if slices.Contains(woken, "good") {
			break
		}
		for _, queue := range woken {
			if done := k.d.Deliver(t.Context(), queue, k.patient(), -1); turn == 1 &&
				ending(done) != endedCircuitOpen {
				t.Errorf("%s ended as %s; want that the probe passes to others", queue, ending(done))
			}
		}
		check.Need(t, turn <= 2, "turn %d wakes up %v", turn, woken)
		k.pass(time.Second)
	}
	k.fails = nil
	k.hands("good", endedCaughtUp)
	check.That(t, !k.circuit().Open(), "it stays open")
}

// TestHeldBackByWhatIsOver: the circuit closes between the look that stops a delivery and the one
// that notes its queue: it goes on then, since whichever process wakes others up passed it over.
func TestHeldBackByWhatIsOver(t *testing.T) {
	for nth := 1; ; nth++ {
		k := openDesk(t)
		k.put("r", 1)
		asked, jumps := 0, -1
		k.d = k.deliverer(delivery.Options{Now: func() time.Time {
			if asked++; asked == jumps {
				k.pass(6 * time.Second)
			}
			return k.now
		}})
		k.hands("q1", endedCircuitOpen) // it remembers that the circuit is open
		e := k.health()
		next := e
		next.By, next.Failing, next.Circuit = "another", nil, request.Circuit{Closed: k.now}
		_, made := check.Get2(k.store.Requests(request.Inside{}).Learn(t.Context(), e, next))
		check.Need(t, made, "nobody closed it")
		k.fails = nil
		asked, jumps = 0, nth
		done := k.hands("r", "")
		check.That(t, ending(done) == endedCaughtUp || slices.Contains(k.heldBack(), "r"),
			"clock %d: %s, and r is not held back", nth, ending(done))
		if asked < nth {
			break
		}
	}
}

// TestHeldBackAreWokenUp: when the circuit has closed, at a bounded rate, those first that wait for
// longest, and each once.
func TestHeldBackAreWokenUp(t *testing.T) {
	k := openDesk(t)
	want := names("r", 30)
	slices.Reverse(want)
	k.holds(want...)
	k.closes()
	var woken []string
	at := map[string]time.Time{}
	k.queues.fail = func(request, queue string) error {
		if request == "notify" {
			woken = append(woken, queue)
			at[queue] = k.now
			check.That(t, !slices.Contains(k.heldBack(), queue),
				"%s is woken up while its row is there: what holds it back anew would be lost", queue)
		}
		return nil
	}
	began := k.now
	reader := delivery.Reader{Name: "c", Circuit: delivery.Circuit{WakeRate: 10}}
	for calls := 0; k.circuit().Waking; calls++ {
		_, next := check.Get2(k.d.Wake(t.Context(), "", "c",
			delivery.SweepOptions{Readers: []delivery.Reader{reader}}))
		if next.After(k.now) {
			k.now = next
		}
		check.Need(t, calls <= 4, "no end")
	}
	k.same("woken", woken, append([]string{"q3"}, want...))
	k.same("held back", k.heldBack(), nil)
	k.same("names", k.open(), nil)
	took := at["r0"].Sub(began)
	check.That(t, took >= 2900*time.Millisecond && took <= 3200*time.Millisecond && len(k.waits) >= 30,
		"30 were woken up within %s, in %d steps; want 10 a second", took, len(k.waits))
}

// TestOneWakesHeldQueuesUp: another who comes meanwhile does not double the rate; where the turn is
// over, the next goes on.
func TestOneWakesHeldQueuesUp(t *testing.T) {
	k := openDesk(t)
	k.holds(names("r", 30)...)
	k.closes()
	o := delivery.SweepOptions{
		Readers: []delivery.Reader{{Name: "c", Circuit: delivery.Circuit{WakeRate: 1}}},
	}
	first := k.d
	began := k.now
	k.queues.fail = func(request, _ string) error {
		if k.d == first && request == "notify" && k.now.Sub(began) < 4*time.Second {
			k.restarted()
			did, next := check.Get2(k.d.Wake(t.Context(), "", "c", o))
			check.That(t, did.Notified <= 0 && next.Sub(began).Truncate(time.Second) == 5*time.Second,
				"the other did %+v, and comes again after %s", did, next.Sub(began))
			k.d = first
		}
		return nil
	}
	did, next := check.Get2(k.d.Wake(t.Context(), "", "c", o))
	check.That(t, did.Notified >= 4 && did.Notified <= 6 && !next.After(k.now),
		"%d in a turn, and the next is in %s", did.Notified, next.Sub(k.now))
	did, _ = check.Get2(k.d.Wake(t.Context(), "", "c", o))
	check.That(t, did.Notified >= 4, "%+v", did.Notified)
}

// TestOneQueueSleepsOn: one that cannot be woken up keeps none of the others held back, is tried
// once in a turn, and stays, as the last one.
func TestOneQueueSleepsOn(t *testing.T) {
	k := openDesk(t)
	k.holds("r1", "bad", "r2", "r3")
	k.closes()
	var tried []string
	k.queues.fail = func(request, queue string) error {
		if request == "notify" {
			tried = append(tried, queue)
			if queue == "bad" {
				return cursor.ErrUnavailable
			}
		}
		return nil
	}
	for _, want := range [][]string{{"q3", "r1", "bad", "r2", "r3"}, {"r4", "bad"}} {
		tried = nil
		_, next, err := k.d.Wake(t.Context(), "", "c", delivery.SweepOptions{})
		check.That(t, errors.Is(err, cursor.ErrUnavailable) && !next.IsZero(),
			"it is to be gone on with at %s, %v", next, err)
		k.same("tried", slices.Compact(tried), want)
		k.same("held back", k.heldBack(), []string{"bad"})
		k.now = next
		must := trouble.Row{State: trouble.HeldBy("c"), Queue: "r4", Consumer: "c",
			Since: k.now.Add(-time.Hour), N: 1}
		k.must(k.trouble().Put(t.Context(), must))
	}
	k.queues.fail = nil
	check.Get2(k.d.Wake(t.Context(), "", "c", delivery.SweepOptions{}))
	k.same("held back", k.heldBack(), nil)
}

// TestARedrivenQueueIsProbedFirst: at once where the probe is due, though others wait for longer;
// else with the next one, before those that were held back first.
func TestARedrivenQueueIsProbedFirst(t *testing.T) {
	for _, due := range []bool{true, false} {
		k := openDesk(t)
		k.pass(time.Second)
		k.holds(names("held", 30)...)
		k.fails = nil
		if due {
			k.probeDue()
			k.hands("q1", endedCircuitOpen) // its message failed: others go first
		}
		k.operates(redrives(orderOf("q1"), 1))
		if !due {
			k.hands("q1", endedCircuitOpen)
			k.probeDue()
			woken := k.notified("q1", func() {
				check.Get2(k.d.Wake(t.Context(), "", "c", delivery.SweepOptions{}))
			})
			check.That(t, woken, "the queue that was redriven is not woken up for the probe")
		}
		k.hands("q1", endedCaughtUp)
		check.That(t, !k.circuit().Open(), "due %t: it is open after the probe", due)
	}
}
