package cursor_test

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
	"github.com/streamsort/streamsort/pkg/cursor"
)

// alarmed is a sorter that notes which wake-ups it scheduled, by the minutes after its start.
type alarmed struct {
	*testing.T
	*cursor.Sorter
	meter      *ddbtest.Meter
	begin, now time.Time
	scheduled  []string
	announced  []cursor.AnnouncementKind
}

func newAlarmed(t *testing.T, policy cursor.Policy, after time.Duration) *alarmed {
	t.Helper()
	begin := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	a := &alarmed{T: t, meter: ddbtest.NewMeter(ddb.NewMemory(cursor.Names{}.Tables()...)),
		begin: begin, now: begin}
	store := check.Get(cursor.NewStore(a.meter, cursor.Names{}))
	defaults := cursor.DefaultSettings()
	defaults.Policy, defaults.GapAfter = policy, after
	a.Sorter = check.Get(cursor.New(store, &cursor.Options{
		Defaults: &defaults, ForEach: fanout.OneByOne, Now: func() time.Time { return a.now },
		WakeUp: func(queue string, due time.Time) {
			a.scheduled = append(a.scheduled, fmt.Sprintf("%s %v", queue, due.Sub(a.begin)))
		},
	}))
	return a
}

func (a *alarmed) put(seqs ...int64) {
	a.Helper()
	for _, seq := range seqs {
		check.OK(a.T, a.Put(a.Context(), cursor.Message{Queue: "q", Seq: seq, Body: []byte("b")})[0].Err)
	}
}

// tells checks of which wake-ups it scheduled since the last call.
func (a *alarmed) tells(want ...string) {
	a.Helper()
	if !slices.Equal(a.scheduled, want) {
		a.Errorf("scheduled %q, want %q", a.scheduled, want)
	}
	a.scheduled = nil
}

// wake wakes the queue up, and checks when it is due then, and what was requested.
func (a *alarmed) wake(skipped int, due string, reads, writes int) {
	a.Helper()
	a.meter.Take()
	report, next, err := a.Wake(a.Context(), "q",
		cursor.SweepOptions{Announce: func(_ context.Context, n cursor.Announcement) error {
			a.announced = append(a.announced, n.Kind)
			return nil
		}})
	cost := a.meter.Take()
	at := ""
	if !next.IsZero() {
		at = next.Sub(a.begin).String()
	}
	if err != nil || report.Skipped != skipped || at != due || cost.Reads != reads ||
		cost.Writes != writes {
		a.Errorf("%+v, due %q, %v, %d reads and %d writes; want %d skipped, due %q, %d and %d", report,
			at, err, cost.Reads, cost.Writes, skipped, due, reads, writes)
	}
}

func TestWakeUpsOfGaps(t *testing.T) {
	a := newAlarmed(t, cursor.PolicySkip, 5*time.Second)
	a.wake(0, "", 1, 0) // no such queue
	a.put(1)
	a.tells()
	a.put(3)
	a.tells("q 5s")
	a.put(5) // widens it: as old as it was
	a.tells()
	a.now = a.begin.Add(2 * time.Second)
	a.put(2) // to 3: the next gap is as old as the message behind it
	a.tells("q 7s")
	a.wake(0, "5s", 2, 0) // too early
	a.now = a.begin.Add(7 * time.Second)
	a.put(8)
	a.wake(1, "", 12, 4) // 4: the note, its tombstone, the move to 5, and the note taken back
	want := []cursor.AnnouncementKind{cursor.GapOpened, cursor.GapSkipped}
	check.That(t, slices.Equal(a.announced, want), "announced %v, want %v", a.announced, want)
	a.tells("q 12s", "q 12s")
	a.wake(0, "12s", 2, 0) // again
	a.put(6, 7)
	a.tells("q 12s")
	a.wake(0, "", 1, 0) // nothing is missing any more
}

func TestWakeUpsOfGapsByPolicy(t *testing.T) {
	a := newAlarmed(t, cursor.PolicyWait, time.Second)
	a.put(2)
	a.tells()
	a.now = a.begin.Add(time.Hour)
	a.wake(0, "", 1, 0)
	alert := cursor.PolicyAlert
	check.Get(a.Configure(t.Context(), "q", cursor.Change{Policy: &alert}))
	a.tells("q 1s") // long due
	a.wake(0, "", 4, 1)
	want := []cursor.AnnouncementKind{cursor.GapOpened}
	check.That(t, slices.Equal(a.announced, want), "announced %v, want %v", a.announced, want)
	a.wake(0, "", 1, 0) // it is announced
}

// TestWakeUpsFarAhead: who opens a gap tells of an hour at most, the sweep of the rest.
func TestWakeUpsFarAhead(t *testing.T) {
	a := newAlarmed(t, cursor.PolicySkip, 3*time.Hour)
	a.put(2)
	a.tells()
	sweep := func() {
		t.Helper()
		check.Get(a.Sweep(t.Context(), cursor.SweepOptions{}))
	}
	sweep()
	a.tells()
	a.now = a.begin.Add(2*time.Hour + time.Minute)
	sweep()
	a.tells("q 3h0m0s")
	near := newAlarmed(t, cursor.PolicySkip, time.Hour)
	near.put(2)
	near.tells("q 1h0m0s")
	check.Get(near.Sweep(t.Context(), cursor.SweepOptions{}))
	near.tells()
}

// TestWakeUpOfAnErasedQueue: there is nothing to do, and that is no error.
func TestWakeUpOfAnErasedQueue(t *testing.T) {
	a := newAlarmed(t, cursor.PolicySkip, time.Second)
	a.put(2)
	check.Get(a.Erase(t.Context(), "q", "op"))
	a.now = a.now.Add(time.Minute)
	a.wake(0, "", 1, 0)
	_, _, err := a.Wake(t.Context(), "", cursor.SweepOptions{})
	check.That(t, err != nil, "a queue without a name is no error")
}
