package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func (k *desk) circuit() request.Circuit {
	k.t.Helper()
	return k.health().Circuit
}

// opens makes the circuit open: three queues of which nothing is taken, and one that was not tried.
func (k *desk) opens() {
	k.t.Helper()
	k.fails = func(delivery.Batch) error { return errNo }
	for _, queue := range []string{"q1", "q2", "q3"} {
		k.put(queue, 1)
		k.hands(queue, endedFailed)
	}
	k.pass(10 * time.Second)
	k.hands("q3", endedFailed)
	k.put("q", 1)
	check.Need(k.t, k.circuit().Open(), "it is not open")
	k.got = nil
}

func openDesk(t *testing.T) *desk {
	t.Helper()
	k := newDesk(t)
	k.opens()
	return k
}

// TestOpensNotBesideWhatIsTaken: who delivers looks every few seconds at what fails, so what was
// taken may be noted a little later than three bad messages fail. Where nothing is noted for
// longer, it opens.
func TestOpensNotBesideWhatIsTaken(t *testing.T) {
	k := newDesk(t)
	k.refuses("a", "b", "c", "d", "e", "f")
	for _, queue := range []string{"a", "b", "good", "c", "d", "e", "f"} {
		k.put(queue, 1)
		k.hands(queue, "")
		k.pass(time.Second)
	}
	check.That(t, !k.circuit().Open(), "want it closed, as something was taken 5 s ago")
	k.pass(6 * time.Second)
	k.hands("c", "")
	check.That(t, !k.circuit().Open(), "want it closed, as something was taken 11 s ago")
	k.pass(4 * time.Second)
	k.hands("d", "")
	check.That(t, k.circuit().Open(), "want it open")
}

func (k *desk) probeDue() { k.now = k.circuit().ProbeAt }

// TestTheCircuitOpens: after three queues failed, no other is claimed for.
func TestTheCircuitOpens(t *testing.T) {
	for name, cause := range map[string]error{"fails": errNo, "is away": delivery.SinkAway(errNo)} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.fails = func(delivery.Batch) error { return cause }
			for _, queue := range []string{"q1", "q2", "q3", "q4"} {
				k.put(queue, 1)
			}
			for range 2 {
				k.hands("q1", endedFailed)
				k.hands("q2", endedFailed)
				k.pass(10 * time.Second)
			}
			check.That(t, !k.circuit().Open(), "it is open, and two queues failed")
			k.hands("q3", endedFailed)
			again := fmt.Sprint(max(k.standing("q1").Attempts, 1))
			k.gets("q1 1 #1", "q2 1 #1", "q1 1 #"+again, "q2 1 #"+again, "q3 1 #1")
			for range 2 {
				k.hands("q4", endedCircuitOpen)
				k.gets()
				check.Is(t, k.standing("q4").Token.N, 0)
				k.restarted() // another process sees it too
			}
		})
	}
}

// TestProbes: while the circuit is open one batch is delivered at a time, by the schedule.
func TestProbes(t *testing.T) {
	k := openDesk(t)
	asked := k.now
	for _, want := range []time.Duration{5 * time.Second, 15 * time.Second, time.Minute,
		2 * time.Minute, 2 * time.Minute} {
		var wait time.Duration
		for ; len(k.got) == 0; wait += time.Second {
			k.pass(time.Second)
			for _, queue := range []string{"q1", "q2", "q3", "q"} {
				k.d.Deliver(t.Context(), queue, k.patient(), -1)
			}
		}
		check.That(t, len(k.got) == 1 && wait >= want && wait <= want+want/10+7*time.Second,
			"%v came after %s, want one after %s", k.got, wait, want)
		k.got = nil
	}
	check.That(t, k.now.Sub(asked) <= 7*time.Minute, "it took %s", k.now.Sub(asked))
}

func TestTheProbesAreASetting(t *testing.T) {
	k := newDesk(t)
	k.put("q1", 1)
	k.put("q2", 1)
	k.fails = func(delivery.Batch) error { return errNo }
	r := k.patient()
	r.Circuit = delivery.Circuit{Queues: 2, Probes: []time.Duration{time.Hour}}
	k.d.Deliver(t.Context(), "q1", r, -1)
	k.pass(10 * time.Second)
	k.d.Deliver(t.Context(), "q2", r, -1)
	wait := k.circuit().ProbeAt.Sub(k.now)
	check.That(t, wait >= time.Hour && wait <= 66*time.Minute, "the first probe comes after %s", wait)
}

// TestOneProbeAtATime: not while another is under way, be it of this process or of another one, and
// however long the probe takes.
func TestOneProbeAtATime(t *testing.T) {
	k := openDesk(t)
	k.put("r", 1)
	k.probeDue()
	prober := k.d
	k.fails = func(delivery.Batch) error {
		for range 2 {
			k.hands("r", endedCircuitOpen)
			k.pass(20 * time.Second) // the next probe would be due
			k.restarted()
		}
		return errNo
	}
	k.hands("q", endedFailed)
	k.gets("q 1 #1")
	k.d = prober
	if at := k.circuit().ProbeAt; at.Sub(k.now) < 15*time.Second || at.Sub(k.now) > 17*time.Second {
		t.Errorf("the next one is due %s after it failed", at.Sub(k.now))
	}
}

// TestOnlyOneOfTwoProbesIsMade: both saw that it is due.
func TestOnlyOneOfTwoProbesIsMade(t *testing.T) {
	k := openDesk(t)
	k.put("r", 1)
	k.probeDue()
	other := k.d
	k.restarted()
	k.see = func(r ddb.Request) error {
		if r.Name() == "learn" && k.d != other {
			k.d = other // which saw it before
			k.fails = func(delivery.Batch) error { return errNo }
			k.hands("r", endedFailed)
		}
		return nil
	}
	k.hands("q", endedCircuitOpen)
	k.gets("r 1 #1")
}

// TestAProbeThatDies: the next one comes when its claim is over.
func TestAProbeThatDies(t *testing.T) {
	k := openDesk(t)
	k.put("r", 1)
	k.probeDue()
	k.fails = func(delivery.Batch) error {
		k.consumers = ddb.NewMemory(delivery.Names{}.Tables()...) // nothing that it does now is kept
		return errNo
	}
	kept := k.consumers
	k.restarted()
	k.d.Deliver(t.Context(), "q", k.patient(), -1)
	k.consumers, k.got, k.fails = kept, nil, nil
	k.restarted()
	lease := k.standing("q").LeaseUntil
	for k.now.Before(lease) {
		k.hands("r", endedCircuitOpen)
		k.pass(time.Second)
	}
	k.hands("r", endedCaughtUp)
}

// TestTheCircuitCloses: with the first batch that is taken, and all goes on.
func TestTheCircuitCloses(t *testing.T) {
	k := openDesk(t)
	k.put("q", 2, 3, 4)
	k.closes()
	k.gets("q 1 #1", "q 2,3,4 #1")
	check.Is(t, k.circuit(), (request.Circuit{Closed: k.now, Waking: true}))
	// For those that failed nothing is waited for.
	k.pass(time.Second)
	for _, queue := range []string{"q1", "q2", "q3"} {
		k.hands(queue, endedCaughtUp)
	}
	// The schedule begins anew, for people too.
	k.fails = func(delivery.Batch) error { return errNo }
	for _, queue := range []string{"q1", "q2", "q3"} {
		k.put(queue, 2)
		k.hands(queue, endedFailed)
		k.hands(queue, endedWait)
	}
	k.pass(15 * time.Second)
	k.hands("q3", endedFailed)
	is := k.circuit()
	check.That(t, is.ProbeAt.Sub(k.now) <= 6*time.Second && is.Probes == 0, "%+v", is)
}

// TestNothingIsWaitedForOnceTheCircuitCloses: the time of the next try was for a sink that was
// away.
func TestNothingIsWaitedForOnceTheCircuitCloses(t *testing.T) {
	k := newDesk(t)
	k.put("q1", 1)
	k.fails = func(delivery.Batch) error { return errNo }
	slow := k.patient()
	slow.Retries = []time.Duration{time.Hour}
	k.d.Deliver(t.Context(), "q1", slow, -1)
	for _, queue := range []string{"q2", "q3"} {
		k.put(queue, 1)
		k.hands(queue, endedFailed)
	}
	k.pass(10 * time.Second)
	k.hands("q3", endedFailed)
	k.fails = nil
	k.probeDue()
	k.hands("q1", endedWait)
	k.put("q", 1)
	k.hands("q", endedCaughtUp)
	k.hands("q1", endedCaughtUp)
}

// TestACircuitClosedByAClockThatIsAhead: what fails after it waits for its time, as always.
func TestACircuitClosedByAClockThatIsAhead(t *testing.T) {
	k := openDesk(t)
	k.fails = nil
	now := k.now
	k.pass(time.Hour)
	k.put("q", 1)
	k.hands("q", endedCaughtUp) // the probe, by the clock that is ahead
	k.now = now
	k.fails = func(delivery.Batch) error { return errNo }
	k.put("late", 1)
	k.hands("late", endedFailed)
	k.hands("late", endedWait)
}

// TestWhatIsLearntBesideAProbe: a batch that was under way when the circuit opened fails while the
// probe is taken, and the circuit closes; it does not where another has opened since.
func TestWhatIsLearntBesideAProbe(t *testing.T) {
	for _, another := range []bool{false, true} {
		k := openDesk(t)
		k.probeDue()
		k.fails = func(delivery.Batch) error {
			seen := k.health()
			next := seen
			if next.By = "another"; another {
				next.Circuit.Opened = k.now
			}
			check.Get2(k.store.Requests(request.Inside{}).Learn(t.Context(), seen, next))
			return nil
		}
		k.hands("q", endedCaughtUp)
		h := k.health()
		check.Is(t, h.Circuit.Open(), another)
		check.That(t, another || h.TakenAt.Equal(k.now) && len(h.Failing) == 0, "%+v", h)
	}
}

// TestAProbeIsOneMessage: one that no sink takes blocks with its first probe, whatever comes behind
// it, and says nothing of the sink. One that is taken closes the circuit.
func TestAProbeIsOneMessage(t *testing.T) {
	k := openDesk(t)
	k.put("q", 2, 3, 4)
	probe := func(bad int64) request.Health {
		k.poison(bad, delivery.Permanent(errNo))
		k.probeDue()
		k.hands("q", "")
		return k.health()
	}
	e := probe(1)
	k.gets("q 1 #1")
	k.at("q", 0, delivery.Blocked)
	listed := slices.ContainsFunc(e.Failing, func(f request.FailingQueue) bool {
		return f.Queue == "q"
	})
	if at := e.Circuit.ProbeAt.Sub(k.now); !e.Circuit.Open() || at > 17*time.Second || listed {
		t.Errorf("the next probe is due in %s: %+v", at, e)
	}
	k.operates(skips(order("op"), 1))
	if e = probe(3); len(k.got) == 0 || k.got[0] != "q 2 #1" || e.Circuit.Open() {
		t.Errorf("the sink got %q, and the circuit is %+v", k.got, e.Circuit)
	}
}

// TestTheCircuitOpensNotForASinkThatTakesParts: however many queues have a batch that was taken in
// part.
func TestTheCircuitOpensNotForASinkThatTakesParts(t *testing.T) {
	for name, cause := range map[string]error{"a failure": errNo,
		"the sink is away": delivery.SinkAway(errNo)} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.fails = func(b delivery.Batch) error { return delivery.DoneUpTo(cause, b.From+1) }
			for i := range request.MaxFailing {
				// Its claim was made before the parts of the others were taken.
				k.knows(request.Health{Failing: k.listed(names("other", i)...),
					FailingSince: k.now.Add(-time.Minute)})
				queue := fmt.Sprint("q", i)
				k.put(queue, 1, 2, 3)
				k.hands(queue, endedFailed)
				h := k.health()
				check.Need(t, h.Circuit == (request.Circuit{}) && len(h.Failing) <= 0,
					"after %d parts: %+v; want none that fails, and a circuit that never was open", i+1, h)
				k.pass(time.Minute)
			}
		})
	}
}

func names(name string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(name, i))
	}
	return all
}

// TestWorkThatIsDoneKeepsTheCircuitClosed: bad messages of three queues open no circuit while the
// work of others gets done, whichever process says so, and block when their time is over.
func TestWorkThatIsDoneKeepsTheCircuitClosed(t *testing.T) {
	for name, with := range map[string]struct{ tracked, token, other bool }{
		"by a chain":                    {tracked: true},
		"by a chain, another process":   {tracked: true, other: true},
		"by its token":                  {token: true},
		"by its token, another process": {token: true, other: true},
		"a chain's by its token":        {tracked: true, token: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t)
			r := k.reader()
			r.BlockAfter = 5 * time.Minute
			r.Handle = func(_ context.Context, b delivery.Batch) error {
				if b.Edges != nil {
					k.edges = b.Edges
				}
				switch {
				case b.Queue != "good":
					return errNo
				case with.tracked:
					return nil
				}
				return b.Defer(time.Minute)
			}
			if !with.tracked {
				r.Track = 0
			}
			ends := k.d
			if with.other {
				ends, _ = k.process(k.chains)
			}
			worker := check.Get(delivery.NewClaims(ends, nil))
			bad := []string{"bad1", "bad2", "bad3"}
			for _, queue := range bad {
				k.put(queue, 1)
			}
			for seq := range int64(40) {
				k.put("good", seq+1)
				done := k.to(r, "good", endedDeferred)
				if with.token {
					answered(t, "commit", delivery.OK)(worker.Commit(t.Context(), heldOf(done.Record)))
				} else {
					k.works(k.edges...)
					chain := check.Get(k.acker.Get(t.Context(), k.edges[0].Tag()))
					check.Get(k.acker.Finish(t.Context(), chain, ends.Ender(nil)))
				}
				for _, queue := range bad {
					k.to(r, queue, "")
				}
				k.pass(12 * time.Second)
			}
			for _, queue := range bad {
				k.at(queue, 0, delivery.Blocked)
			}
		})
	}
}

// TestLateWorkClosesNoCircuit: what a worker has done may have been handed over before the sink
// went away.
func TestLateWorkClosesNoCircuit(t *testing.T) {
	k := newDesk(t)
	k.put("slow", 1)
	done := k.d.Deliver(t.Context(), "slow", k.defers(), -1)
	k.opens()
	k.pass(time.Second)
	answered(t, "commit", delivery.OK)(k.worker().Commit(t.Context(), heldOf(done.Record)))
	check.That(t, k.circuit().Open(), "it is closed")
}

// TestTheCircuitsRequestsGoWrong: whatever goes wrong once, while a queue is held back, a probe is
// taken or the sweep runs, the circuit is closed by one later, each queue is woken up, and all is
// delivered.
func TestTheCircuitsRequestsGoWrong(t *testing.T) {
	o := delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1},
		Readers: []delivery.Reader{{Name: "c"}}}
	everyFault(t, openDesk, func(k *desk) {
		k.d.Deliver(t.Context(), "q", k.patient(), -1) // held back
		k.fails = nil
		k.pass(6 * time.Second)
		k.put("r", 1)
		k.d.Deliver(t.Context(), "r", k.patient(), -1) // closes it
		_, _ = k.d.Sweep(t.Context(), o)
	}, func(k *desk, what string) {
		for range 3 {
			k.pass(2 * time.Minute)
			_, _ = k.d.Sweep(t.Context(), o)
			it := check.Get(k.sorter.Status(t.Context(), "q"))
			check.That(t, !it.Notified.IsZero(), "%s: q is not woken up", what)
			k.put("r", k.standing("r").Delivered+1)
			k.d.Deliver(t.Context(), "r", k.patient(), -1)
		}
		c, circuit := k.standing("r"), k.circuit()
		check.That(t, c.State == delivery.Idle && c.Delivered > 0 && !circuit.Open() &&
			(circuit.Waking || len(k.heldBack()) == 0),
			"%s: %+v, %+v, held back %v", what, c, circuit, k.heldBack())
	})
}

// TestACircuitThatIsOff never opens, and one that was opened before stops nobody.
func TestACircuitThatIsOff(t *testing.T) {
	k := newDesk(t)
	off := k.patient()
	off.Circuit.Off = true
	k.fails = func(delivery.Batch) error { return errNo }
	for _, queue := range []string{"q1", "q2", "q3", "q4"} {
		k.put(queue, 1)
		k.to(off, queue, endedFailed)
	}
	check.That(t, !k.circuit().Open(), "it is open")
	k = openDesk(t)
	probe := k.circuit().ProbeAt
	check.That(t, k.to(off, "q", endedFailed).Record.RetryAt.Before(probe), "it waits for the probe")
	c := k.circuit()
	check.That(t, !c.Open() && c.Waking, "it was switched off, and is %+v", c)
	check.That(t, !slices.Contains(k.heldBack(), "q"), "it holds q back")
}

// TestSkippedMessagesShowNothing: a batch of nothing but messages that never come is no sign of a
// sink that is there, and the next probe comes in its time.
func TestSkippedMessagesShowNothing(t *testing.T) {
	k := newDesk(t)
	k.put("s", 1)
	k.hands("s", endedCaughtUp)
	k.put("s", 3)
	check.Get2(k.sorter.Inside(queuelog.Inside{}).SkipGap(t.Context(), "s", "lost", 0, 10, nil))
	k.opens()
	k.poison(3, errNo)
	k.probeDue()
	one := k.patient()
	one.MaxMessages = 1
	done := k.to(one, "s", endedCircuitOpen)
	check.That(t, done.Batches == 1 && done.Skipped == 1, "%+v", done)
	e := k.health()
	wait := e.Circuit.ProbeAt.Sub(k.now)
	check.That(t, e.Circuit.Open() && e.TakenAt.IsZero() && wait > 0 && wait <= 20*time.Second,
		"the next probe is after %s: %+v", wait, e)
}

// TestAChainThatFailsDoesNotKeepTheCircuitClosed: where as many queues are known by their chains as
// open the circuit, others whose batches are not taken open it.
func TestAChainThatFailsDoesNotKeepTheCircuitClosed(t *testing.T) {
	k := newTrackedDesk(t)
	for _, queue := range []string{"q1", "q2", "q3"} {
		k.put(queue, 1)
		k.to(k.reader(), queue, "")
		check.Get(k.acker.Fail(t.Context(), k.edges[0], "bad"))
	}
	k.finishes()
	e := k.health()
	check.Need(t, len(e.Failing) == 3 && !e.Circuit.Open(), "%+v", e)
	k.fails = func(delivery.Batch) error { return errNo }
	k.pass(10 * time.Second)
	k.put("r1", 1)
	k.to(k.reader(), "r1", "")
	check.That(t, k.circuit().Open(), "it is not open, and three queues failed")
	// A batch that is handed over closes it: what becomes of the work is the chain's.
	k.probeDue()
	k.fails = nil
	k.put("r2", 1)
	k.to(k.reader(), "r2", endedDeferred)
	check.That(t, !k.circuit().Open(), "it is open after a batch was handed over")
}
