package delivery_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// rows are all rows of trouble, such as "blocked q|c 1h0m0s", with how long it has been so.
func (k *desk) rows() string {
	k.t.Helper()
	var all []string
	for _, state := range append(trouble.States, trouble.HeldBy("c")) {
		page, _ := check.Get2(k.trouble().Page(k.t.Context(), state, "", "", 0))
		for _, row := range page {
			all = append(all, fmt.Sprintf("%s %s|%s %s", row.State, row.Queue, row.Consumer,
				k.now.Sub(row.Since)))
		}
	}
	return strings.Join(all, ", ")
}

func (k *desk) troubled(what, want string) {
	k.t.Helper()
	check.Is(k.t, k.rows(), want, what)
}

func orderOf(queue string) delivery.Order {
	return delivery.Order{Queue: queue, Consumer: "c", Reason: "why"}
}

// TestTroubleOfOperations: who blocks notes it, and so does who pauses; an operator who ends it
// deletes that, and wakes the consumer up.
func TestTroubleOfOperations(t *testing.T) {
	for name, end := range map[string]delivery.Order{
		"skip": skips(orderOf("q"), 2), "redrive": redrives(orderOf("q"), 2), "rewind": rewinds(orderOf("q"), delivery.First),
	} {
		k := newDesk(t, 0, 1, 2)
		k.block("q", 2)
		k.troubled(name+": blocked", "blocked q|c 10m0s")
		k.operates(does("pause", orderOf("q")))
		k.pass(time.Minute)
		k.troubled(name+": paused", "blocked q|c 11m0s, paused q|c 1m0s")
		ends := func() { k.operates(end) }
		ends()
		k.troubled(name, "paused q|c 1m0s")
		k.operates(does("resume", orderOf("q")))
		k.troubled(name+": resumed", "")
		k.ends("q", endedCaughtUp)
		k.put("q", 3)
		k.block("q", 3)
		k.put("q", 4) // who moved just now is awake, and is not kept so by a rewind
		end.Seq = 3
		check.That(t, k.notified("q", ends), "%s wakes nobody up", name)
	}
}

// TestARowSaysWhatIsWrong: the message, and the first 300 bytes of why; of a lag that lasts, as the
// sweep last saw it.
func TestARowSaysWhatIsWrong(t *testing.T) {
	k := newDesk(t)
	said := func(state trouble.State) string {
		t.Helper()
		row, _ := check.Get2(k.trouble().Row(t.Context(), state, "q", "c"))
		return fmt.Sprintf("%d: %s", row.Seq, row.Error)
	}
	k.put("q", 1, 2, 4)
	k.poison(2, errors.New("no "+strings.Repeat("é", 200)))
	k.deliver("q")
	k.pass(time.Hour)
	k.sweep(delivery.SweepOptions{})
	long := "no " + strings.Repeat("é", 148)
	check.Is(t, said(trouble.Lagging), "1: "+long, "a lag")
	k.deliver("q")
	k.deliver("q")
	k.pass(time.Minute)
	k.sweep(delivery.SweepOptions{})
	check.Is(t, said(trouble.Lagging), fmt.Sprintf("%d: %s", k.standing("q").Delivered+1, long),
		"a lag that lasts")
	k.block("q", 2)
	check.Is(t, said(trouble.Blocked), "2: no", "blocked")
	row, _ := check.Get2(k.trouble().Row(t.Context(), trouble.Gap, "q", ""))
	check.Is(t, fmt.Sprint(row.Seq), "3", "a gap")
}

// TestTroubleOfWhatIsGone: a consumer that is removed, and a queue that is erased, leave no row.
func TestTroubleOfWhatIsGone(t *testing.T) {
	k := newDesk(t)
	all := append(slices.Clone(trouble.States), trouble.HeldBy("c"))
	for _, queue := range []string{"removed", "erased", "other"} {
		k.put(queue, 0)
		k.deliver(queue)
		for _, state := range all {
			if row := (trouble.Row{State: state, Queue: queue, Consumer: "c", Since: k.now,
				N: 1 << 50}); state == trouble.Gap {
				row.Consumer = ""
				k.must(k.trouble().Put(t.Context(), row))
			} else if state != trouble.CircuitOpen {
				k.must(k.trouble().Put(t.Context(), row))
			}
		}
	}
	k.operates(does("remove", orderOf("removed")))
	erased := check.Get(k.d.Inside(request.Inside{}).Erase(t.Context(),
		delivery.Order{Queue: "erased", Reason: "why"}))
	check.Get2(k.d.Inside(request.Inside{}).EraseMore(t.Context(), erased, nil))
	k.troubled("removed and erased", "gap other| 0s, gap removed| 0s, lagging other|c 0s, blocked other|c 0s, failing other|c 0s, paused other|c 0s, in-doubt other|c 0s, "+
		"quarantined other|c 0s, missing other|c 0s, replying other|c 0s, circuit-open c other|c 0s")
}

// TestTroubleOfLag: the sweep notes who lags for long, and finds that it is over.
func TestTroubleOfLag(t *testing.T) {
	k := newDesk(t, 0, 1)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	k.pass(14 * time.Minute)
	k.sweep(delivery.SweepOptions{})
	k.troubled("young", "")
	k.pass(time.Minute)
	k.sweep(delivery.SweepOptions{})
	k.troubled("old", "lagging q|c 15m0s")
	k.ends("q", endedCaughtUp)
	k.put("q", 2)
	k.sweep(delivery.SweepOptions{})
	k.troubled("caught up but for what is young", "")
}

// TestTroubleOfGaps: the sweep notes gaps once they are 5 seconds old, whatever the policy, and
// their ends.
func TestTroubleOfGaps(t *testing.T) {
	k := newDesk(t)
	k.put("alert", 0, 2)
	k.put("wait", 0, 2)
	check.Get(k.sorter.Configure(t.Context(), "wait", cursor.Change{Policy: new(cursor.PolicyWait)}))
	check.Get(k.sorter.Configure(t.Context(), "alert",
		cursor.Change{Policy: new(cursor.PolicyAlert), GapAfter: new(time.Minute)}))
	k.sweep(delivery.SweepOptions{})
	k.pass(4 * time.Second)
	k.sweep(delivery.SweepOptions{})
	k.troubled("young", "")
	k.pass(time.Second)
	k.sweep(delivery.SweepOptions{})
	k.troubled("open", "gap alert| 5s, gap wait| 5s")
	k.pass(5 * time.Minute)
	k.sweep(delivery.SweepOptions{})
	k.troubled("announced", "gap alert| 5m5s, gap wait| 5m5s")
	k.put("alert", 1)
	k.put("wait", 1, 4) // its next gap is young
	k.sweep(delivery.SweepOptions{})
	k.troubled("closed", "")
}

// TestTheRowOfAGapIsWrittenOnce: however much later than the sorter the sweep asks for the time.
func TestTheRowOfAGapIsWrittenOnce(t *testing.T) {
	k := newDesk(t)
	written := 0
	k.see = func(r ddb.Request) error {
		if r.Name() == "put trouble" {
			written++
		}
		return nil
	}
	later := time.Duration(0)
	k.d = k.deliverer(delivery.Options{Now: func() time.Time {
		later += time.Millisecond
		return k.now.Add(later)
	}})
	k.put("wait", 0, 2)
	k.pass(time.Hour)
	for range 3 {
		k.sweep(delivery.SweepOptions{})
		k.pass(time.Minute)
	}
	check.That(t, written == 1, "the row is written %d times", written)
}

// TestTheRowOfACancelledClaimIsWrittenOnce: and it is not looked at besides.
func TestTheRowOfACancelledClaimIsWrittenOnce(t *testing.T) {
	k := newDesk(t)
	requests := map[string]int{}
	k.see = func(r ddb.Request) error { requests[r.Name()]++; return nil }
	k.put("q", 1)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	for range 2 { // whose workers die
		k.claims("q", 1, time.Minute)
		k.pass(time.Hour)
	}
	clear(requests)
	k.sweep(delivery.SweepOptions{MaxAttempts: 2})
	c := k.standing("q")
	check.That(t, c.State == delivery.Blocked && requests["put trouble"] == 1 &&
		requests["trouble"] == 0, "%s: %v", c.State, requests)
	k.sweep(delivery.SweepOptions{MaxAttempts: 2})
	check.That(t, requests["put trouble"] == 1 && requests["trouble"] == 1,
		"a run later: %v", requests)
}

// TestTroubleIsRepaired: what nobody could note the sweep writes, and what nobody could delete it
// deletes, in a bounded time a run.
func TestTroubleIsRepaired(t *testing.T) {
	k := newDesk(t)
	slow := time.Duration(0)
	k.see = func(r ddb.Request) error {
		// no tenants' shard
		if q, ok := r.(ddb.Query); ok && r.Name() == "list trouble" &&
			!strings.Contains(q.Partition.Str(), "/") {
			k.now = k.now.Add(slow)
		}
		return nil
	}
	k.put("q", 0, 1, 2)
	k.block("q", 2)
	k.operates(does("pause", orderOf("q")))
	is := k.rows()
	k.must(k.trouble().Forget(t.Context(), "q", "c", trouble.Blocked, trouble.Paused))
	k.put("fine", 0)
	k.deliver("fine")
	const states = 8
	for i, state := range trouble.States[:states] {
		for n := range 50 {
			row := trouble.Row{State: state, Queue: []string{"fine", "none"}[n%2],
				Consumer: fmt.Sprintf("c%d", n), Since: k.now, N: 1}
			if state == trouble.Gap {
				row.Queue, row.Consumer = fmt.Sprintf("none%d", n), ""
			}
			if n == 0 && i > 0 {
				row.Consumer = "c"
			}
			k.must(k.trouble().Put(t.Context(), row))
		}
	}
	// A run has time for three states, the last one of which it comes to when it is nearly over.
	slow = 2 * time.Second
	began := k.now
	for run, left := range []int{250, 100, 0} {
		k.sweep(delivery.SweepOptions{})
		check.Is(t, strings.Count(k.rows(), "|")-strings.Count(is, "|"), left, run+1)
	}
	slow, k.now = 0, began
	k.troubled("repaired", is)
}

// TestTroubleThatCannotBeNoted: no delivery, and no operation, fails by it.
func TestTroubleThatCannotBeNoted(t *testing.T) {
	k := newDesk(t)
	away := true
	k.see = func(r ddb.Request) error {
		if away && r.On().Name == trouble.DefaultName {
			return errFlaky
		}
		return nil
	}
	k.put("q", 0, 1, 2, 4)
	k.block("q", 2)
	k.operates(does("pause", orderOf("q")))
	report, err := k.d.Sweep(t.Context(), delivery.SweepOptions{})
	check.That(t, errors.Is(err, errFlaky) && report.Blocked == 1 && report.Failed == 0,
		"the sweep saw %+v, error %v", report, err)
	k.operates(skips(orderOf("q"), 2))
	k.operates(does("resume", orderOf("q")))
	k.ends("q", endedCaughtUp)
	k.operates(does("remove", orderOf("q")))
	away = false
	k.troubled("not noted", "")
}

// TestTroubleOfDoubt: the sweep notes claims in doubt and in quarantine, and who settles them
// deletes that.
func TestTroubleOfDoubt(t *testing.T) {
	k := newDesk(t, 0, 1, 2)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	c := k.claims("q", 0, time.Minute)
	check.Get2(k.store.Requests(request.Inside{}).Prepare(t.Context(), heldOf(c)))
	k.pass(2 * time.Minute)
	k.sweep(delivery.SweepOptions{})
	k.troubled("in doubt", "in-doubt q|c 1m0s")
	announced := func(kind string) {
		t.Helper()
		a := k.announced[slices.IndexFunc(k.announced, func(a delivery.Announcement) bool {
			return a.Kind == kind
		})]
		check.That(t, a.Token == c.Token && a.From == c.From && a.To == c.To &&
			a.State == delivery.InDoubt, "announced %+v", a)
	}
	announced("consumer.in-doubt")
	k.pass(time.Hour)
	k.sweep(delivery.SweepOptions{})
	k.troubled("in quarantine", "lagging q|c 1h2m0s, quarantined q|c 1h1m0s")
	announced("consumer.quarantined")
	kept, _ := check.Get2(k.d.Inside(request.Inside{}).Delivered(t.Context(), "q"))
	check.Is(t, kept, c.From, "what is aside is kept")
	settle := does("settle", orderOf("q"))
	settle.Token, settle.Outcome = c.Token, delivery.Committed
	k.operates(settle)
	k.ends("q", endedCaughtUp)
	k.sweep(delivery.SweepOptions{})
	k.troubled("settled", "")
}
