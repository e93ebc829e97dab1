package cursor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Lasting holes: a producer whose numbers go by steps, or whose transactions are rolled back.

// opened is the announcement that goes before each skip.
const opened = "gap.opened from 1, skipped []"

func skipping(s *cursor.Settings) { s.Policy, s.GapAfter = cursor.PolicySkip, time.Minute }

func alerting(s *cursor.Settings) { s.Policy, s.GapAfter = cursor.PolicyAlert, time.Minute }

// wakes wakes the queue up by a process of its own, and returns what was announced, the wake-up
// that was scheduled last, and when the gap is due.
func (b *bench) wakes() (report cursor.SweepReport, said []string, scheduled, next time.Time) {
	b.t.Helper()
	s := b.process(cursor.Options{WakeUp: func(_ string, due time.Time) { scheduled = due }})
	report, next = check.Get2(s.Wake(b.t.Context(), "q", cursor.SweepOptions{
		Announce: func(_ context.Context, a cursor.Announcement) error {
			said = append(said, fmt.Sprintf("%s from %d, skipped %v", a.Kind, a.Missing.From+1, a.Skipped))
			return nil
		},
	}))
	return report, said, scheduled, next
}

func (b *bench) announced(what string, got []string, want ...string) {
	b.t.Helper()
	same(b.t, what, got, want)
}

// TestManyGapsAreSkippedInOneVisit: all that are old enough go at once, and one announcement names
// them. The next one is due when the message behind it is old enough.
func TestManyGapsAreSkippedInOneVisit(t *testing.T) {
	b := newBench(t, withSettings(skipping))
	const holes = 30
	var runs []cursor.Range
	for i := range int64(holes) {
		b.put(body(2*i + 2))
		runs = append(runs, cursor.Range{From: 2 * i, To: 2*i + 1})
	}
	b.now = b.now.Add(59 * time.Second)
	b.put(body(2*holes + 2))
	b.now = b.now.Add(time.Second)
	meter := ddbtest.NewMeter(b.tables)
	b.engine = meter
	report, said, scheduled, next := b.wakes()
	check.Need(t, report.Skipped == holes && b.status().Position == 2*holes && next.IsZero(),
		"%+v, next %v, position %d; want %d skipped", report, next, b.status().Position, holes)
	b.announced("all", said, opened, fmt.Sprint("gap.skipped from 1, skipped ", runs))
	reads := meter.Take().Reads
	check.That(t, reads <= 60, "%d reads for %d gaps: want a few each time that the page doubles",
		reads, holes)
	due := b.now.Add(59 * time.Second)
	check.That(t, scheduled.Equal(due), "a wake-up is scheduled for %v, want %v", scheduled, due)
	b.now = due.Add(-time.Second)
	if report, _, _, next := b.wakes(); report.Skipped != 0 || !next.Equal(due) {
		t.Errorf("a second early: %+v, next %v; want %v", report, next, due)
	}
	b.now = due
	if report, _, _, _ := b.wakes(); report.Skipped != 1 || b.status().Position != 2*holes+2 {
		t.Errorf("when it is due: %+v, position %d", report, b.status().Position)
	}
}

// TestSkippedGapsFarApart: the announcement names those that no page shows together.
func TestSkippedGapsFarApart(t *testing.T) {
	b := newBench(t, withSettings(skipping))
	for seq := int64(2); seq < 2500; seq++ {
		if seq != 2400 {
			b.put(body(seq))
		}
	}
	b.now = b.now.Add(time.Minute)
	_, said, _, _ := b.wakes()
	b.announced("both", said, opened, "gap.skipped from 1, skipped [{0 1} {2399 2400}]")
}

// TestAMessageComesBeforeItsTombstone: it stays, and is not reported as skipped.
func TestAMessageComesBeforeItsTombstone(t *testing.T) {
	b := newBench(t, withSettings(skipping))
	b.put(body(2))
	b.put(body(4))
	b.now = b.now.Add(time.Minute)
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		put, _ := r.(ddb.Put)
		if put.Item.Has("tombstone") && put.Item.Get("seq").Equal(ddb.Int(1)) {
			b.put(body(1))
		}
		return b.tables.Do(ctx, r)
	})
	report, said, _, _ := b.wakes()
	check.That(t, report.Skipped == 1 && b.status().Position == 4,
		"%+v, position %d; want the other one skipped", report, b.status().Position)
	b.announced("both", said, opened, "gap.closed from 1, skipped []",
		"gap.skipped from 3, skipped [{2 3}]")
}

// TestGapBehindAMessageWithoutATime: one that was stored by another way than this package. Its gap
// counts since the position came to it.
func TestGapBehindAMessageWithoutATime(t *testing.T) {
	b := newBench(t, withSettings(skipping))
	b.put(body(2))
	b.put(body(4))
	m := body(6)
	m.Digest, m.Op = []byte("digest"), []byte("op")
	check.Get(b.memory.Inside().PutMessage(t.Context(), m))
	for _, position := range []int64{0, 4, 6} {
		b.now = b.now.Add(time.Minute - time.Second)
		b.wakes()
		b.want("before a minute", fmt.Sprint(b.status().Position), fmt.Sprint(position))
		b.now = b.now.Add(time.Second)
		b.wakes()
	}
}

// TestASweepSchedulesWhatItsWritersCouldNot: one that fills a gap does not know how old the message
// is behind the next.
func TestASweepSchedulesWhatItsWritersCouldNot(t *testing.T) {
	b := newBench(t, withSettings(skipping))
	b.put(body(2))
	b.put(body(4))
	began := b.now
	b.now = b.now.Add(30 * time.Second)
	var scheduled []time.Duration
	s := b.process(cursor.Options{WakeUp: func(_ string, due time.Time) {
		scheduled = append(scheduled, due.Sub(began))
	}})
	check.OK(t, s.Put(t.Context(), body(1))[0].Err)
	for range 2 {
		check.Get(s.Sweep(t.Context(), cursor.SweepOptions{}))
	}
	check.That(t,
		slices.Equal(slices.Compact(scheduled), []time.Duration{90 * time.Second, time.Minute}),
		"scheduled %v: want 90 s by the writer, a minute by the sweep", scheduled)
}

// full is a count at its full size with the tag whole, else a tenth of it.
func full(n int64) int64 {
	if whole.Tests {
		return n
	}
	return n / 10
}

// partitionWrites is how many write units a second DynamoDB takes for one queue, whose messages are
// in one partition.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const partitionWrites = 1000

// TestAGapIsSkippedInOneRun: 100,000 missing messages, as many as a queue may have ahead by
// default, are skipped by one run of the sweep of 4 minutes.
func TestAGapIsSkippedInOneRun(t *testing.T) {
	missing := full(100_000 - 1)
	b := newBench(t, withSettings(skipping))
	b.put(body(missing + 1))
	b.now = b.now.Add(time.Minute)
	meter := ddbtest.NewMeter(b.tables)
	b.engine = meter
	const run = 4 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), run)
	defer cancel()
	report, err := b.process(cursor.Options{}).Sweep(ctx, cursor.SweepOptions{})
	cost := meter.Take()
	check.That(t, err == nil && int64(report.Skipped) == missing &&
		b.status().Position == missing+1,
		"%+v, %v, position %d; want all %d skipped", report, err, b.status().Position, missing)
	// The first round does it all, in half of what is left of the run at most.
	seconds := cost.Units.Writes / partitionWrites
	check.That(t, seconds <= run.Seconds()/2, "%.0f s of writes, want half of %v", seconds, run)
	pieces := float64(missing)/1000 + 1
	over := cost.Units.Writes - float64(missing)
	check.That(t, over <= pieces+20 && float64(cost.Reads) <= 2*pieces+60 &&
		cost.Units.Reads <= float64(missing)/10,
		"%+v for %d missing seqs: want a write each, a move and few reads for each 1,000", cost,
		missing)
	t.Logf("%d missing: %d writes of %.0f units, %d reads of %.0f units, $%.4f", missing, cost.Writes,
		cost.Units.Writes,
		cost.Reads, cost.Units.Reads, (cost.Units.Writes*0.625+cost.Units.Reads*0.125)/1e6)
}

// TestASkipKeepsTheGapsAge: whichever tombstones are stored first, and cannot be, what is still
// missing is as old as the gap was.
func TestASkipKeepsTheGapsAge(t *testing.T) {
	for requests := 3; requests < 9; requests++ {
		b := newBench(t, nil)
		b.put(body(6))
		b.now = b.now.Add(time.Minute)
		b.engine = &bounded{b.tables, requests}
		inAnyOrder := func(n int, do func(int)) {
			for i := range n {
				do((n - i) % n) // the first, and then from the last one on
			}
		}
		cut := b.process(cursor.Options{ForEach: inAnyOrder})
		_, _, _ = cut.Steps().SkipGap(t.Context(), "q", "old", time.Minute, 100, nil)
		check.Get(b.sorter.Steps().Recheck(t.Context(), "q"))
		b.engine = b.tables
		_, _, err := b.process(cursor.Options{}).Steps().SkipGap(t.Context(), "q",
			"old", time.Minute, 100, nil)
		check.That(t, err == nil && b.status().Position == 6,
			"after %d requests: position %d, %v: want all skipped", requests, b.status().Position,
			err)
	}
}

// bounded is an invocation that dies after so many requests: what it was in the middle of then is
// left to the next one.
type bounded struct {
	next ddb.Engine
	left int
}

var errOver = errors.New("the invocation is over")

// Do implements [ddb.Engine].
func (b *bounded) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if b.left--; b.left < 0 {
		return ddb.Answer{}, errOver
	}
	return b.next.Do(ctx, r)
}

// invocation is a process that dies after so many requests.
func (b *bench) invocation(requests int) *cursor.Sorter {
	b.t.Helper()
	s := check.Get(cursor.New(storeOn(b.t, &bounded{b.engine, requests}, cursor.Names{}),
		&cursor.Options{
			Now: func() time.Time { return b.now }, ForEach: fanout.OneByOne,
		}))
	return s
}

// parked stores messages behind the missing first one, as writers do that know no gap: the gap is
// on record, or it is not.
func (b *bench) parked(first, last int64, size int, recorded bool) {
	b.t.Helper()
	body := []byte(strings.Repeat("x", size))
	if recorded {
		b.put(cursor.Message{Queue: "q", Seq: last, Body: body})
	} else if _, err := b.sorter.Configure(b.t.Context(), "q", cursor.Change{}); err != nil {
		b.t.Fatal(err)
	}
	for seq := first; seq <= last; seq++ {
		check.Get(b.memory.Inside().PutMessage(b.t.Context(),
			cursor.Message{Queue: "q", Seq: seq, Body: body, Op: []byte("op"), Digest: []byte("digest")}))
	}
}

func (b *bench) status() cursor.Cursor {
	b.t.Helper()
	return check.Get(b.memory.Inside().Cursor(b.t.Context(), "q", true))
}

// rest is what goes on for a gap on record: the stream's handler; the sweep for what is on no
// record.
func (b *bench) rest(s *cursor.Sorter, recorded bool) (err error) {
	if recorded {
		_, err = s.Steps().Heal(b.t.Context(), "q", 1)
	} else {
		_, err = s.Steps().Recheck(b.t.Context(), "q")
	}
	return err
}

// TestAFilledGapMovesInPieces: with large messages and with small ones, on record and not, the
// cursor moves after a few requests, however much there is to move over; and each invocation that
// dies after a few more leaves less to the next one.
func TestAFilledGapMovesInPieces(t *testing.T) {
	for _, c := range []struct {
		count    int64
		size     int
		recorded bool
		// requests are those after which an invocation dies.
		requests int
	}{
		{3000, 100, true, 9},
		{3000, 100, false, 9},
		{300, 30_000, true, 9},
		{300, 30_000, false, 9},
		{3000, 100, true, 40},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes, on record %v, %d requests", c.count, c.size, c.recorded,
			c.requests), func(t *testing.T) {
			b := newBench(t, nil)
			b.parked(2, c.count, c.size, c.recorded)
			meter := ddbtest.NewMeter(b.tables)
			b.engine = meter
			check.OK(t, b.process(cursor.Options{}).Put(t.Context(), body(1))[0].Err)
			put := meter.Take()
			t.Logf("the put: %+v, position %d", put, b.status().Position)
			if now := b.status().Position; now < 1 || put.Reads+put.Writes > 20 || put.Units.Reads > 1100 {
				t.Errorf("the put moved to %d by %+v", now, put)
			}
			invocations := 0
			for done := false; !done; invocations++ {
				before := b.status()
				done = b.rest(b.invocation(c.requests), c.recorded) == nil
				after := b.status()
				check.Need(t, (done || after.Position != before.Position) && invocations <= 1000,
					"invocation %d did nothing: position %d", invocations, after.Position)
				check.That(t, after.Position <= before.Position || after.Position >= c.count ||
					after.GapOpen(),
					"invocation %d left a run that is not on record: position %d, parked %d",
					invocations, after.Position, after.MaxParked)
			}
			check.Is(t, b.status().Position, c.count, "after", invocations)
		})
	}
}

// TestGapsReadsWhatItMust: one gap is found by looking at one message, and no list reads all that
// is parked.
func TestGapsReadsWhatItMust(t *testing.T) {
	b := newBench(t, nil)
	b.put(body(1))
	b.parked(3, 12_000, 100, true)
	meter := ddbtest.NewMeter(b.tables)
	b.engine = meter
	for limit, most := range map[int]ddbtest.Total{1: {Reads: 2, Units: ddb.Units{Reads: 2}},
		100: {Reads: 9, Units: ddb.Units{Reads: 500}}} {
		list, err := b.process(cursor.Options{}).Gaps(t.Context(), "q", limit)
		cost := meter.Take()
		check.That(t, err == nil && len(list.Gaps) == 1 &&
			list.Gaps[0].Missing == (cursor.Range{From: 1, To: 2}) && list.More,
			"limit %d: %+v, %v; want the gap at 2, and that there may be more", limit, list, err)
		check.That(t, cost.Reads <= most.Reads && cost.Units.Reads <= most.Units.Reads,
			"limit %d: %+v, want at most %+v", limit, cost, most)
	}
}

// TestSkipOfAQueueInArrivalOrder is refused: a tombstone under the seq of an order item that is
// still to come would keep the tail from ever being flushed.
func TestSkipOfAQueueInArrivalOrder(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 10)
	_, err := b.process(cursor.Options{}).Skip(t.Context(), "q", queuelog.OrderItemEntries, "lost")
	check.Is(t, check.As[*cursor.InvalidError](t, err).Code, invalid.Clash, err)
	b.fill("b", 2*queuelog.MaxTail)
	check.Is(t, b.status().Position, 10+2*queuelog.MaxTail)
}

// alarmed is a sorter that notes which wake-ups it scheduled, by the minutes after its start.
type alarmed struct {
	*bench
	meter     *ddbtest.Meter
	begin     time.Time
	scheduled []string
	announced []cursor.AnnouncementKind
}

func newAlarmed(t *testing.T, policy cursor.Policy, after time.Duration) *alarmed {
	t.Helper()
	b := newBench(t, nil)
	a := &alarmed{bench: b, meter: ddbtest.NewMeter(b.tables), begin: b.now}
	defaults := cursor.DefaultSettings()
	defaults.Policy, defaults.GapAfter = policy, after
	b.engine = a.meter
	b.sorter = b.process(cursor.Options{Defaults: &defaults, WakeUp: func(q string, due time.Time) {
		a.scheduled = append(a.scheduled, fmt.Sprintf("%s %v", q, due.Sub(a.begin)))
	}})
	return a
}

func (a *alarmed) put(seqs ...int64) {
	a.t.Helper()
	for _, seq := range seqs {
		a.bench.put(body(seq))
	}
}

// tells checks of which wake-ups it scheduled since the last call.
func (a *alarmed) tells(want ...string) {
	a.t.Helper()
	if !slices.Equal(a.scheduled, want) {
		a.t.Errorf("scheduled %q, want %q", a.scheduled, want)
	}
	a.scheduled = nil
}

// wake wakes the queue up, and checks when it is due then, and what was requested.
func (a *alarmed) wake(skipped int, due string, reads, writes int) {
	a.t.Helper()
	a.meter.Take()
	report, next, err := a.sorter.Wake(a.t.Context(), "q",
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
		a.t.Errorf("%+v, due %q, %v, %d reads and %d writes; want %d skipped, due %q, %d and %d", report,
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
	check.Get(a.sorter.Configure(t.Context(), "q", cursor.Change{Policy: &alert}))
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
		check.Get(a.sorter.Sweep(t.Context(), cursor.SweepOptions{}))
	}
	sweep()
	a.tells()
	a.now = a.begin.Add(2*time.Hour + time.Minute)
	sweep()
	a.tells("q 3h0m0s")
	near := newAlarmed(t, cursor.PolicySkip, time.Hour)
	near.put(2)
	near.tells("q 1h0m0s")
	check.Get(near.sorter.Sweep(t.Context(), cursor.SweepOptions{}))
	near.tells()
}

// TestWakeUpOfAnErasedQueue: there is nothing to do, and that is no error.
func TestWakeUpOfAnErasedQueue(t *testing.T) {
	a := newAlarmed(t, cursor.PolicySkip, time.Second)
	a.put(2)
	check.Get(a.sorter.Erase(t.Context(), "q", "op"))
	a.now = a.now.Add(time.Minute)
	a.wake(0, "", 1, 0)
	_, _, err := a.sorter.Wake(t.Context(), "", cursor.SweepOptions{})
	check.That(t, err != nil, "a queue without a name is no error")
}
