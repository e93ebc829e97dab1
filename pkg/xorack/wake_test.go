package xorack_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// alarmed is an acker that notes which wake-ups it scheduled, by the time after the start.
type alarmed struct {
	*testing.T
	*xorack.Acker
	meter     *ddbtest.Meter
	now       time.Time
	scheduled []string
}

func newAlarmed(t *testing.T) *alarmed {
	t.Helper()
	a := &alarmed{T: t, meter: ddbtest.NewMeter(ddb.NewMemory(xorack.Names{}.Tables()...)), now: start}
	a.Acker = check.Get(xorack.New(storeOn(t, a.meter, xorack.Names{}), &xorack.Options{
		Now: func() time.Time { return a.now }, ForEach: fanout.OneByOne,
		WakeUp: func(tag string, due time.Time) {
			a.scheduled = append(a.scheduled, fmt.Sprintf("%s %v", tag, due.Sub(start)))
		},
	}))
	return a
}

func (a *alarmed) tells(want ...string) {
	a.Helper()
	check.That(a.T, slices.Equal(a.scheduled, want), "scheduled %q, want %q", a.scheduled, want)
	a.scheduled = nil
}

// wake wakes a chain up, and checks when it is late then, and what was requested.
func (a *alarmed) wake(tag string, timedOut int, late string, reads, writes int) {
	a.Helper()
	a.meter.Take()
	announced := 0
	report, next, err := a.Wake(a.Context(), tag, xorack.SweepOptions{Announce: func(context.Context, xorack.Chain) error {
		announced++
		return nil
	}})
	cost := a.meter.Take()
	at := ""
	if !next.IsZero() {
		at = next.Sub(start).String()
	}
	if err != nil || report.TimedOut != timedOut || report.Finished != timedOut || announced != timedOut || at != late || cost.Reads != reads || cost.Writes != writes {
		a.Errorf("%+v, late %q, %v, %d reads, %d writes, %d announced; want %d timed out, late %q, %d and %d", report, at, err, cost.Reads, cost.Writes, announced, timedOut, late, reads, writes)
	}
}

func (a *alarmed) create(tag string, o xorack.CreateOptions) xorack.Edge {
	a.Helper()
	created := check.Get(a.Create(a.Context(), tag, &o))
	return created.Root
}

func TestWakeUpsOfDeadlines(t *testing.T) {
	a := newAlarmed(t)
	a.wake("t", 0, "", 1, 0) // no such chain
	root := a.create("t", xorack.CreateOptions{Deadline: time.Minute})
	a.tells("t 1m0s")
	a.wake("t", 0, "1m0s", 1, 0)
	check.Get(a.Extend(t.Context(), root, start.Add(5*time.Minute)))
	a.tells("t 5m0s")
	a.now = start.Add(time.Minute)
	a.wake("t", 0, "5m0s", 1, 0) // that of the first deadline
	a.now = start.Add(5 * time.Minute)
	a.wake("t", 1, "", 1, 2)
	a.wake("t", 0, "", 1, 0) // repeated
	a.tells()
}

func TestWakeUpsOfIdleChains(t *testing.T) {
	a := newAlarmed(t)
	root := a.create("t", xorack.CreateOptions{Deadline: 10 * time.Minute, Idle: time.Minute})
	a.tells("t 1m0s")
	a.now = start.Add(30 * time.Second)
	check.Get(a.Done(t.Context(), root, root.Child(0)))
	a.now = start.Add(time.Minute)
	a.wake("t", 0, "1m30s", 1, 0)
	a.now = start.Add(90 * time.Second)
	a.wake("t", 1, "", 1, 2)
}

// TestWakeUpsFarAhead: of a deadline that is far ahead, the sweep tells, which looks
// shortly before.
func TestWakeUpsFarAhead(t *testing.T) {
	a := newAlarmed(t)
	a.create("t", xorack.CreateOptions{})
	a.tells()
	looks := 0
	for a.now.Before(start.Add(24*time.Hour - 20*time.Minute)) {
		a.now = a.now.Add(time.Minute)
		report := check.Get(a.Sweep(t.Context(), xorack.SweepOptions{}))
		looks += report.Chains
	}
	a.tells("t 24h0m0s")
	check.That(t, looks == 8,
		"%d looks, want 7 ever farther apart, and one half an hour before the deadline", looks)
}

// TestWakeUpsOfOtherChains: stamps have deadlines too; what has ended, has none.
func TestWakeUpsOfOtherChains(t *testing.T) {
	a := newAlarmed(t)
	check.Get(stamps.New(a.Acker).Create(t.Context(), "s", []byte{1}, &stamps.Options{Deadline: time.Minute}))
	a.tells("s 1m0s")
	a.wake("s", 0, "1m0s", 1, 0)
	a.now = start.Add(time.Minute)
	a.wake("s", 1, "", 1, 2)
	root := a.create("t", xorack.CreateOptions{Deadline: time.Minute})
	a.tells("t 2m0s")
	check.Get(a.Fan(t.Context(), root, 2000))
	a.tells() // its parts end with it
	early := a.create("u", xorack.CreateOptions{ID: "1"})
	check.Get(a.Done(t.Context(), early))
	_, _, err := a.Wake(t.Context(), "", xorack.SweepOptions{})
	check.That(t, err != nil, "a chain without a tag is no error")
}
