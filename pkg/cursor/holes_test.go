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
	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/pkg/cursor"
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
	if cost := meter.Take(); cost.Reads > 60 {
		t.Errorf("%d reads for %d gaps: want a few each time that the page doubles", cost.Reads, holes)
	}
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
	if seconds := cost.Units.Writes / partitionWrites; seconds > run.Seconds()/2 {
		t.Errorf("%.0f seconds of writes, want half of %v at most", seconds, run)
	}
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

// TestASkipIsGoneOnWith by the next run, where the time of one is not enough.
func TestASkipIsGoneOnWith(t *testing.T) {
	b := newBench(t, withSettings(skipping))
	b.put(body(5001))
	b.now = b.now.Add(time.Minute)
	runs := 0
	for ; b.status().Position < 5001 && runs < 10; runs++ {
		b.engine = &bounded{b.tables, 2010}
		_, _ = b.process(cursor.Options{}).Sweep(t.Context(), cursor.SweepOptions{Segments: 1})
		if cur := b.status(); cur.Position == 0 && b.now.Sub(cur.MovedAt) < time.Minute {
			t.Fatalf("run %d: the gap is young again: %+v", runs, cur)
		}
	}
	check.That(t, runs <= 4, "%d runs, want no more than the requests take", runs)
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
		_, _, _ = cut.Steps().SkipGap(t.Context(), "q", "old", time.Minute, 100)
		check.Get(b.sorter.Steps().Recheck(t.Context(), "q"))
		b.engine = b.tables
		_, _, err := b.process(cursor.Options{}).Steps().SkipGap(t.Context(), "q",
			"old", time.Minute, 100)
		check.That(t, err == nil && b.status().Position == 6,
			"after %d requests: position %d, %v: want all skipped", requests, b.status().Position,
			err)
	}
}
