package cursor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// sweep runs the sweep and returns what it announced, "kind id" each.
func (b *bench) sweep(options cursor.SweepOptions) (cursor.SweepReport, []string) {
	b.t.Helper()
	var announced []string
	options.Announce = func(_ context.Context, a cursor.Announcement) error {
		announced = append(announced, fmt.Sprintf("%s %d→%d", a.ID, a.Missing.From, a.Missing.To))
		return nil
	}
	return check.Get(b.sorter.Sweep(b.t.Context(), options)), announced
}

func (b *bench) announces(what string, options cursor.SweepOptions,
	want ...string) cursor.SweepReport {
	b.t.Helper()
	report, got := b.sweep(options)
	same(b.t, what, got, want)
	return report
}

func TestSweepAnnouncesAGapUntilItIsGone(t *testing.T) {
	b := newBench(t, withSettings(alerting))
	b.put(body(3))
	var seen []string
	report := b.announces("a young gap",
		cursor.SweepOptions{Gap: func(of cursor.Cursor, age time.Duration) {
			seen = append(seen, fmt.Sprint(of.Queue, age))
		}})
	same(t, "gaps", seen, []string{"q0s"})
	check.That(t, report.OpenGaps == 1 && report.OldestGap == 0,
		"report %+v, want one open gap of no age", report)
	b.now = b.now.Add(time.Minute)
	for range 2 {
		report = b.announces("an old gap", cursor.SweepOptions{}, "gap.opened/1/q/1 0→2")
	}
	check.That(t, report.OpenGaps == 1 && report.OldestGap == time.Minute,
		"report %+v, want one open gap of a minute", report)
	b.put(body(1))
	b.announces("filled in part: the rest is as old", cursor.SweepOptions{}, "gap.closed/1/q/1 0→1",
		"gap.opened/1/q/2 1→2")
	b.put(body(2))
	b.announces("filled", cursor.SweepOptions{}, "gap.closed/1/q/2 1→2")
	b.announces("nothing is left", cursor.SweepOptions{})
}

func TestSweepTriesAnAnnouncementAgain(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) {
		s.Policy, s.GapAfter = cursor.PolicySkip, time.Second
	}))
	b.put(body(2))
	b.now = b.now.Add(time.Second)
	deaf := errors.New("nobody there")
	report, err := b.sorter.Sweep(t.Context(), cursor.SweepOptions{
		Announce: func(context.Context, cursor.Announcement) error { return deaf },
	})
	check.That(t, errors.Is(err, deaf) && report.Failed != 0 && report.Skipped == 0,
		"report %+v, error %v; want a failure, and nothing skipped unannounced", report, err)
	b.announces("once somebody listens", cursor.SweepOptions{}, "gap.opened/1/q/1 0→1",
		"gap.skipped/1/q/1 0→1")
}

// TestSweepGoesOnWhereItStopped: a run ends with its time, and the next one goes on; what a round
// saw is reported by the run in which it ends, all of it.
func TestSweepGoesOnWhereItStopped(t *testing.T) {
	b := newBench(t, nil)
	const queues, gaps, perRun = 1100, 11, 300
	for i := range queues {
		seq := int64(1)
		if i%(queues/gaps) == 0 {
			seq = 3
		}
		b.put(in(fmt.Sprint("q", i), body(seq)))
	}
	b.now = b.now.Add(time.Hour)
	visits := map[string]int{}
	var report cursor.SweepReport
	runs := 0
	for !report.Round.Ended && runs < 10 {
		runs++
		ctx, cancel := context.WithCancel(t.Context())
		left := perRun
		var err error
		report, err = b.process(cursor.Options{}).Sweep(ctx,
			cursor.SweepOptions{Segments: 2, Beside: cursor.Beside{
				Visit: func(_ context.Context, c cursor.Cursor, full bool, seen *tally.Tally) error {
					if full {
						return nil
					}
					visits[c.Queue]++
					seen.Add("visited", 1)
					if left--; left == 0 {
						cancel()
					}
					return nil
				},
			}})
		cancel()
		check.That(t, (err == nil) == report.Round.Ended &&
			(report.Round.Ended || report.OpenGaps == 0), "run %d: %+v, %v", runs, report, err)
	}
	check.That(t, runs == 4 && len(visits) == queues &&
		report.Round.Seen.Count("visited") == queues,
		"%d runs visited %d queues and counted %d, want 4 and each of %d once", runs, len(visits),
		report.Round.Seen.Count("visited"), queues)
	check.That(t, report.OpenGaps == gaps && report.OldestGap == time.Hour,
		"%d gaps, the oldest of %v; want those of the whole round, %d of an hour",
		report.OpenGaps, report.OldestGap, gaps)
}

// TestAQueueHasATurn: one that takes its time keeps no other waiting, and is gone on with when the
// round is over.
func TestAQueueHasATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSettings(alerting))
		b.sweep(cursor.SweepOptions{}) // the day's full round
		for _, queue := range []string{"a", "b", "c"} {
			b.put(in(queue, body(3)))
		}
		b.now = b.now.Add(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
		defer cancel()
		began, calls := time.Now(), 0
		var last time.Duration
		report, err := b.sorter.Sweep(ctx,
			cursor.SweepOptions{Segments: 1,
				Announce: func(ctx context.Context, a cursor.Announcement) error {
					if a.Queue != "b" {
						last = max(last, time.Since(began))
						return nil
					}
					if calls++; calls > 1 {
						return nil
					}
					<-ctx.Done()
					return ctx.Err()
				}})
		check.That(t, err == nil && report.OpenGaps == 3 && report.Failed == 0 && calls >= 2 &&
			last <= 6*time.Second,
			"%+v, %v, %d calls, the others after %v; want all announced, and the others after a turn",
			report, err, calls, last)
	})
}

// TestManyOpenGapsAreNotAllAnnouncedAgain: those that are new are, and 1,000 others a run.
func TestManyOpenGapsAreNotAllAnnouncedAgain(t *testing.T) {
	b := newBench(t, withSettings(alerting))
	const gaps = 1500
	for i := range gaps {
		b.put(in(fmt.Sprint("q", i), body(3)))
	}
	b.now = b.now.Add(time.Minute)
	if report, _ := b.sweep(cursor.SweepOptions{}); report.Announced < gaps {
		t.Errorf("%d are announced, want all %d that are new", report.Announced, gaps)
	}
	b.put(in("zz, the last one", body(3)))
	b.now = b.now.Add(time.Minute)
	report, announced := b.sweep(cursor.SweepOptions{})
	check.That(t, report.OpenGaps == gaps+1 && report.Announced == 1001,
		"%d of %d gaps are announced, want 1000 again and the new one", report.Announced,
		report.OpenGaps)
	check.Has(t, strings.Join(announced, " "), "zz, the last one", "the new one is not among them")
}

func TestSweepNamesTheOptionThatIsOutOfBounds(t *testing.T) {
	b := newBench(t, nil)
	for field, options := range map[string]cursor.SweepOptions{
		"segments":  {Segments: -1},
		"every":     {Every: -1},
		"skipLimit": {SkipLimit: -1},
		"fullEvery": {FullEvery: 365 * 24 * time.Hour},
	} {
		refuses(t, "error", check.Err(b.sorter.Sweep(t.Context(), options)), field)
	}
}

// TestAWalkGoesOnBehindTheQueueItStoppedAt: a queue that takes all the time there is does not hold
// the others up.
func TestAWalkGoesOnBehindTheQueueItStoppedAt(t *testing.T) {
	b := newBench(t, nil)
	for _, queue := range []string{"a", "b", "c"} {
		b.put(in(queue, body(1)))
	}
	var visited []string
	for range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := cursor.WalkAll(b.sorter, ctx, cursor.Walk{Name: "w", Segments: 1},
			func(ctx context.Context, c cursor.Cursor, _ *tally.Tally) error {
				visited = append(visited, c.Queue)
				if c.Queue == "b" {
					cancel()
				}
				return ctx.Err()
			})
		last := visited[len(visited)-1]
		check.That(t, (err == nil) == (last == "c"), "after %s: %v", last, err)
		cancel()
	}
	same(t, "visited", visited, []string{"a", "b", "c", "a", "b", "c"})
}

// TestAQueueHasATurnInTheFullRound too, and is gone on with when that is over: no gap brings it to
// another round.
func TestAQueueHasATurnInTheFullRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.put(body(1))
		b.parked(2, 2, 1, false)
		looks := 0
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if r.Name() == "query messages" {
				if looks++; looks == 1 {
					<-ctx.Done()
					return ddb.Answer{}, ctx.Err()
				}
			}
			return b.tables.Do(ctx, r)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
		defer cancel()
		report, err := b.process(cursor.Options{}).Sweep(ctx, cursor.SweepOptions{Segments: 1})
		check.That(t, err == nil && report.Failed == 0 && report.Moves == 1,
			"%+v, %v, after %d looks; want the move made up for", report, err, looks)
	})
}

// unreadable makes these queues, with a gap open in each, and gives the cursor of b a layout of a
// later time.
func (b *bench) unreadable(queues ...string) {
	b.t.Helper()
	for _, queue := range queues {
		for _, seq := range []int64{1, 3} {
			b.put(in(queue, body(seq)))
		}
	}
	check.Get(b.tables.Do(b.t.Context(), ddb.Update{
		Op:  ddb.Op{Op: "newer layout", Table: &cursor.Names{}.Tables()[1]},
		Key: ddb.Fields{"queue": ddb.Text("b")}.Item(),
		Do:  []ddb.Action{ddb.Path("v").Set(ddb.Int(99))},
	}))
}

// TestACursorThatCannotBeReadIsPassedOver by all rounds: each handles the queues before it and
// behind it, says that it failed, and ends.
func TestACursorThatCannotBeReadIsPassedOver(t *testing.T) {
	const retention = 8 * time.Hour
	b := newBench(t, func(o *cursor.Options) { o.Retention = retention })
	b.unreadable("a", "b", "c")
	b.now = b.now.Add(5 * time.Hour)
	visited := map[string]int{}
	report, err := b.process(cursor.Options{Retention: retention}).Sweep(t.Context(),
		cursor.SweepOptions{
			Segments: 1,
			Beside: cursor.Beside{Visit: func(_ context.Context, c cursor.Cursor, _ bool,
				_ *tally.Tally) error {
				visited[c.Queue]++
				return nil
			}},
			Delivered: func(context.Context, string) (int64, bool, error) { return 0, true, nil },
		})
	check.That(t, err != nil && strings.Count(err.Error(), `queue "b"`) == 3,
		"error %v, want each round to name the queue", err)
	check.That(t, report.Round.Ended && report.OpenGaps == 2 && report.Failed == 3 &&
		report.Kept == 4 && report.Queues == 4,
		"%+v; want rounds that ended, two gaps, 3 failures, 4 kept", report)
	check.That(t, visited["a"] == 2 && visited["c"] == 2,
		"visited %v, want a and c by both rounds", visited)
}

// TestACursorThatCannotBeReadWidensNoRound: rounds that tell of it, each of them, do not look at
// all that moved since the first. The full round does, which leaves out what was quiet.
func TestACursorThatCannotBeReadWidensNoRound(t *testing.T) {
	b := newBench(t, nil)
	b.unreadable("a", "b")
	var visits []int
	for range 3 {
		visited := 0
		_, err := b.sorter.Sweep(t.Context(), cursor.SweepOptions{
			Beside: cursor.Beside{Visit: func(_ context.Context, _ cursor.Cursor, full bool,
				_ *tally.Tally) error {
				if !full {
					visited++
				}
				return nil
			}},
		})
		check.Need(t, err != nil, "a round does not tell of the cursor that it cannot read")
		visits = append(visits, visited)
		b.now = b.now.Add(time.Hour)
	}
	check.That(t, slices.Equal(visits, []int{1, 1, 0}), "visits %v, want none by the third round",
		visits)
	for _, name := range []string{"gaps", "full"} {
		progress := check.Get(b.memory.Inside().SweepProgress(t.Context(), name))
		check.Is(t, progress.Failed, name == "full", name, progress)
	}
}
