package delivery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// dues has the desk's process tell when the circuit is to be seen to.
func (k *desk) dues() *[]time.Duration {
	k.t.Helper()
	var dues []time.Duration
	k.d = k.deliverer(delivery.Options{WakeCircuit: func(consumer string, due time.Time) {
		check.That(k.t, consumer == "c", "notified of %q", consumer)
		dues = append(dues, due.Sub(k.now).Truncate(time.Second))
	}})
	return &dues
}

// seesTo handles the circuit, and checks what was done, and when it is due next.
func (k *desk) seesTo(want delivery.SweepReport, next time.Duration) {
	k.t.Helper()
	report, due := check.Get2(k.d.Wake(k.t.Context(), "", "c",
		delivery.SweepOptions{Announce: func(_ context.Context, a delivery.Announcement) error {
			k.announced = append(k.announced, a)
			return nil
		}}))
	check.Is(k.t, cmp.Diff(want, report), "")
	if due.IsZero() != (next == 0) || next != 0 && due.Sub(k.now).Truncate(time.Second) != next {
		k.t.Errorf("the next is due in %s, want %s", due.Sub(k.now), next)
	}
}

// withoutRows is a desk whose tables have none of trouble.
func withoutRows(t *testing.T) *desk {
	k := newDesk(t)
	k.store = delivery.NewStore(k.consumers, delivery.Names{}.Tables())
	k.restarted()
	return k
}

// TestWakeCircuit: it is announced once, probed when that is due, and announced when it is closed.
func TestWakeCircuit(t *testing.T) {
	k := withoutRows(t)
	dues := k.dues()
	k.seesTo(delivery.SweepReport{}, 0)
	k.opens()
	opened := k.now
	k.hands("q", endedCircuitOpen)
	check.Is(t, cmp.Diff([]time.Duration{0, 0}, *dues), "")
	k.seesTo(delivery.SweepReport{CircuitsOpen: 1, Announced: 1}, 5*time.Second)
	k.seesTo(delivery.SweepReport{CircuitsOpen: 1}, 5*time.Second)
	k.probeDue()
	k.seesTo(delivery.SweepReport{CircuitsOpen: 1, Notified: 3}, 5*time.Second)
	for _, queue := range []string{"q1", "q2", "q3"} {
		check.Is(t, check.Get(k.sorter.Status(t.Context(), queue)).Notified, k.now, queue)
	}
	*dues = nil
	k.hands("q", endedFailed)
	check.Is(t, cmp.Diff([]time.Duration{time.Minute, 15 * time.Second}, *dues), "")
	k.fails = nil
	k.probeDue()
	*dues = nil
	k.put("r", 1)
	k.hands("r", endedCaughtUp)
	check.Is(t, cmp.Diff([]time.Duration{65 * time.Second, 0}, *dues), "")
	closed := k.now
	// Somebody may not know yet that it closed.
	k.seesTo(delivery.SweepReport{}, 10*time.Second)
	k.pass(9 * time.Second)
	k.seesTo(delivery.SweepReport{}, time.Second)
	k.pass(time.Second)
	k.seesTo(delivery.SweepReport{Announced: 1}, 0)
	k.seesTo(delivery.SweepReport{}, 0)
	want := []delivery.Announcement{
		{Kind: "consumer.circuit-open", ID: fmt.Sprintf("consumer.circuit-open/c/%d", opened.UnixMilli()), Consumer: "c", Since: opened},
		{Kind: "consumer.circuit-closed", ID: fmt.Sprintf("consumer.circuit-closed/c/%d", closed.UnixMilli()), Consumer: "c", Since: closed, Age: 10 * time.Second},
	}
	check.Is(t, cmp.Diff(want, k.announced), "")
	check.Is(t, k.circuit(), (request.Circuit{Closed: closed}))
}

// TestAShortOutageIsNotAnnounced: what people did not hear of did not end for them either.
func TestAShortOutageIsNotAnnounced(t *testing.T) {
	k := withoutRows(t)
	k.opens()
	k.closes()
	k.pass(10 * time.Second)
	k.seesTo(delivery.SweepReport{}, 0)
	check.That(t, !k.circuit().Waking, "it is to be seen to")
}

// TestWakeCircuitsRequestsGoWrong: what is announced is announced again, under the same id, until
// that is noted.
func TestWakeCircuitsRequestsGoWrong(t *testing.T) {
	ids := map[string]bool{}
	wake := func(k *desk) error {
		_, _, err := k.d.Wake(t.Context(), "", "c",
			delivery.SweepOptions{Announce: func(_ context.Context, a delivery.Announcement) error {
				ids[a.ID] = true
				return nil
			}})
		return err
	}
	everyFault(t, openDesk, func(k *desk) { clear(ids); _ = wake(k) }, func(k *desk, what string) {
		err := wake(k)
		check.That(t, err == nil && len(ids) == 1 && k.circuit().Announced,
			"%s: %v, announced %v", what, err, ids)
	})
	k := newDesk(t)
	_, _, err := k.d.Wake(t.Context(), "", "no name", delivery.SweepOptions{})
	invalid(t, err, "consumer")
}

// TestProbesWithoutAnnouncements: while nobody can be notified, queues are woken up for probes all
// the same.
func TestProbesWithoutAnnouncements(t *testing.T) {
	k := openDesk(t)
	k.probeDue()
	did, _, err := k.d.Wake(t.Context(), "", "c",
		delivery.SweepOptions{Announce: func(context.Context, delivery.Announcement) error {
			return errNo
		}})
	check.That(t, err != nil && did.Notified != 0, "%+v, %v", did, err)
}

// TestClocksOfCircuits: who closes the circuit has a clock behind that of who opened it, and what
// was held back is woken up once.
func TestClocksOfCircuits(t *testing.T) {
	k := openDesk(t)
	k.holds("r")
	e := k.health()
	opened := e.Circuit.Opened
	e.Circuit.ProbeAt = opened.Add(-time.Hour)
	check.Get2(k.store.Requests(request.Inside{}).Learn(t.Context(), e, e))
	k.now = opened.Add(-time.Minute)
	k.fails = nil
	k.hands("q", endedCaughtUp)
	check.That(t, !k.circuit().Closed.Before(opened),
		"closed at %s, opened at %s", k.circuit().Closed, opened)
	for calls := 0; k.circuit().Waking; calls++ {
		did, next := check.Get2(k.d.Wake(t.Context(), "", "c", delivery.SweepOptions{}))
		check.Need(t, did.Notified <= 10 && calls <= 5, "no end: %+v", did)
		if next.After(k.now) {
			k.now = next
		}
	}
	k.same("held back", k.heldBack(), nil)
}

// TestALateRowOfACircuit: who was late wrote that the circuit is open, and the sweep deletes it.
func TestALateRowOfACircuit(t *testing.T) {
	k := openDesk(t)
	row, _ := check.Get2(k.trouble().Page(t.Context(), trouble.CircuitOpen, "", "", 1))
	k.closes()
	o := delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}}
	for range 3 {
		k.pass(time.Minute)
		k.sweep(o)
	}
	k.same("over", k.open(), nil)
	k.must(k.trouble().Put(t.Context(), row[0]))
	k.sweep(o)
	k.same("late", k.open(), nil)
	// And queues of which it is noted that late that they are held back.
	for _, queue := range []string{"q", "never put to"} {
		k.must(k.trouble().Put(t.Context(), trouble.Row{State: trouble.HeldBy("c"), Queue: queue,
			Consumer: "c", Since: k.now, N: row[0].N}))
	}
	o.Readers = []delivery.Reader{{Name: "c"}}
	k.sweep(o)
	k.same("held back", k.heldBack(), nil)
}

// TestACircuitThatNobodyProbes: that of a consumer that was taken out of its file ends after an
// hour, with its row and those of what it held back. One that is probed does not.
func TestACircuitThatNobodyProbes(t *testing.T) {
	for _, probed := range []bool{false, true} {
		k := openDesk(t)
		k.holds(names("r", 40)...)
		began := k.now
		for k.now.Sub(began) < 2*time.Hour {
			if k.sweep(delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}}); probed {
				k.d.Deliver(t.Context(), "q1", k.patient(), -1)
				k.d.Deliver(t.Context(), "r0", k.patient(), -1)
			}
			k.pass(4 * time.Minute)
		}
		k.same("names", k.open(), map[bool][]string{true: {"c"}}[probed])
		if open := k.circuit().Open(); open != probed || !probed && len(k.heldBack()) > 0 {
			t.Errorf("probed %v: open %v, held back %v", probed, open, k.heldBack())
		}
	}
}

// TestACircuitThatIsSwitchedOff: the sweep ends it, where nothing is delivered, and wakes up what
// is held back.
func TestACircuitThatIsSwitchedOff(t *testing.T) {
	k := openDesk(t)
	k.hands("q", endedCircuitOpen)
	o := delivery.SweepOptions{
		Readers: []delivery.Reader{{Name: "c", Circuit: delivery.Circuit{Off: true}}},
	}
	for range 10 {
		_, next := check.Get2(k.d.Wake(t.Context(), "", "c", o))
		if next.IsZero() {
			break
		}
		k.now = next
	}
	c := k.circuit()
	check.That(t, !c.Open() && !c.Waking, "it is %+v", c)
	k.same("held back", k.heldBack(), nil)
	k.same("names", k.open(), nil)
}

// TestNothingIsLeftToProbe: where an operator gave up, paused or removed what was waiting, the
// circuit is closed when the next probe is due, and whatever fails then opens it again: at once,
// where others still fail.
func TestNothingIsLeftToProbe(t *testing.T) {
	latest := func(queue string) delivery.Order { return rewinds(orderOf(queue), delivery.Latest) }
	for name, c := range map[string]struct {
		give  func(queue string) delivery.Order
		fails int
	}{
		"rewind": {latest, 0},
		"pause":  {func(queue string) delivery.Order { return does("pause", orderOf(queue)) }, 3},
		"remove": {func(queue string) delivery.Order { return does("remove", orderOf(queue)) }, 0},
	} {
		for _, table := range []bool{true, false} {
			k := withoutRows(t)
			if k.opens(); table {
				k = openDesk(t)
			}
			k.hands("q", endedCircuitOpen)
			k.operates(latest("q"))
			for i, queue := range []string{"q1", "q2", "q3"} {
				k.probeDue()
				k.now = k.now.Add(time.Minute)
				for range 2 { // held rows that are over go first
					check.Get2(k.d.Wake(t.Context(), "", "c", delivery.SweepOptions{}))
				}
				check.Need(t, k.circuit().Open(), "%s: it is closed, and %d wait", name, 3-i)
				k.operates(c.give(queue))
			}
			for range 10 {
				_, next := check.Get2(k.d.Wake(t.Context(), "", "c", delivery.SweepOptions{}))
				check.Need(t, next.Sub(k.now) <= 10*time.Second,
					"%s: the next is %s: %+v", name, next, k.circuit())
				if k.now = next; next.IsZero() {
					break
				}
			}
			e := k.health()
			k.now = e.Circuit.Closed.Add(time.Minute)
			check.That(t, !e.Circuit.Waking, "%s: %+v", name, e.Circuit)
			check.That(t, len(e.Failing) == c.fails && e.FailingSince.IsZero() == (c.fails == 0) &&
				e.TakenAt.IsZero(), "%s: %+v", name, e)
			k.put("r", 1)
			k.hands("r", endedFailed)
			check.Is(t, k.circuit().Open(), (c.fails > 0), name)
		}
	}
}

// TestTheSweepLeavesHeldQueuesToTheirCircuit: while it is open it notifies none of them, and while
// it wakes them up none beyond its rate; however long that is, they are looked at by each round,
// and are woken up once it is over. For another consumer of a queue nothing is held.
func TestTheSweepLeavesHeldQueuesToTheirCircuit(t *testing.T) {
	k := openDesk(t)
	k.hands("q", endedCircuitOpen)
	queues := names("r", 20)
	k.holds(queues...)
	for _, queue := range queues[10:] { // their rows are lost
		k.must(k.trouble().Delete(t.Context(),
			trouble.Row{State: trouble.HeldBy("c"), Queue: queue, Consumer: "c",
				N: k.circuit().Opened.UnixMilli()}))
	}
	check.Get(k.d.Create(t.Context(), "r0", "other", delivery.First))
	o := delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1},
		Readers: []delivery.Reader{{Name: "c", Circuit: delivery.Circuit{WakeRate: 1}}}}
	rounds := func(n int) (woken []string) {
		t.Helper()
		return k.woken(queues, func() {
			for range n {
				k.circuitIsNotDue()
				k.sweep(o)
				k.pass(time.Minute)
			}
		})
	}
	k.same("woken while it is open", rounds(30), []string{"r0"})
	check.That(t, len(k.heldBack()) >= 20, "held back: %v", k.heldBack())
	k.fails = nil
	k.probeDue()
	k.put("good", 1)
	k.hands("good", endedCaughtUp)
	began, last, woken := k.now, k.now, 0
	k.queues.fail = func(request, queue string) error {
		if request == "notify" && k.standing(queue).Delivered == 0 && queue != "good" {
			last, woken = k.now, woken+1
			k.hands(queue, endedCaughtUp)
		}
		return nil
	}
	rounds(1)
	// One turn ends where the next begins: one more then.
	if took := last.Sub(began); woken != 24 || took < 17*time.Second || took > 25*time.Second {
		t.Errorf("%d are woken up within %s, want 24, one a second", woken, took)
	}
	check.That(t, len(k.waits) != 0, "nobody waits")
}

func (k *desk) circuitIsNotDue() {
	k.t.Helper()
	h := k.health()
	if !h.Circuit.Open() {
		return
	}
	h.Circuit.ProbeAt = k.now.Add(time.Hour)
	check.Get2(k.store.Requests(request.Inside{}).Learn(k.t.Context(), h, h))
}

// TestWakeUpsBesideACircuit: while it is open a retry is left to it, also where its row is lost;
// once it has closed, a retry waits for no other.
func TestWakeUpsBesideACircuit(t *testing.T) {
	k := openDesk(t)
	k.pass(time.Second)
	wake := func(want int) {
		t.Helper()
		did, _ := check.Get2(k.d.Wake(t.Context(), "q1", "c", delivery.SweepOptions{}))
		check.Is(t, did.Notified, want)
	}
	wake(0)
	k.same("held back", k.heldBack(), []string{"q3", "q1"})
	k.closes()
	wake(1)
}
