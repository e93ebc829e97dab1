package xorack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

func (f *fixture) sweep(o xorack.Announce) xorack.SweepReport {
	f.t.Helper()
	return check.Get(f.Sweep(f.t.Context(), o))
}

func TestSweepTimesOutByAge(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", &xorack.CreateOptions{Deadline: 10 * time.Minute})
	f.want(xorack.Applied)(f.Extend(t.Context(), root, start.Add(20*time.Minute)))
	f.now = start.Add(10 * time.Minute)
	report := f.sweep(nil)
	check.That(t, report.Postponed == 1 && report.TimedOut == 0, "extended: %+v", report)
	f.now = start.Add(21 * time.Minute)
	report = f.sweep(nil)
	check.That(t, report.TimedOut == 1 && report.Finished == 1 && report.Late == time.Minute,
		"overdue: %+v", report)
	c := f.chain("t")
	check.That(t, c.End() == xorack.TimedOut && c.Sealed() &&
		c.ExpiresOn.Equal(f.now.Add(xorack.DefaultTombstone)),
		"%+v", c)
	f.want(xorack.AlreadyTimedOut)(f.Done(t.Context(), root))
	check.Is(t, f.table.Expire(f.now.Add(xorack.DefaultTombstone)), 1)
}

func TestSweepTimesOutWithoutProgress(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", &xorack.CreateOptions{Idle: 10 * time.Minute})
	f.now = start.Add(5 * time.Minute)
	f.want(xorack.Applied)(f.Done(t.Context(), root, root.Child(0)))
	f.now = start.Add(10 * time.Minute)
	check.Is(t, f.sweep(nil).Postponed, 1)
	f.now = start.Add(15 * time.Minute)
	check.Is(t, f.sweep(nil).TimedOut, 1)
}

// TestSweepFindsAnEndWhoseRecordWasLost: within twice the time that the chain took, and a quarter
// of an hour.
func TestSweepFindsAnEndWhoseRecordWasLost(t *testing.T) {
	for _, took := range []time.Duration{0, time.Minute, 5 * time.Hour} {
		f := newFixture(t)
		root := f.create("t", nil)
		for ; f.now.Sub(start) < took; f.now = f.now.Add(5 * time.Minute) {
			f.sweep(nil)
		}
		f.want(xorack.Ended)(f.Done(t.Context(), root))
		announced := 0
		until := f.now.Add(took + 20*time.Minute)
		for ; f.now.Before(until); f.now = f.now.Add(5 * time.Minute) {
			f.sweep(func(context.Context, xorack.Chain) error { announced++; return nil })
		}
		check.That(t, announced == 1, "took %v: announced %d times", took, announced)
	}
}

func TestSweepGoesPastAFailure(t *testing.T) {
	f := newFixture(t)
	const many = 300
	for i := range many {
		f.create(fmt.Sprint("chain ", i),
			&xorack.CreateOptions{Deadline: time.Duration(1+i) * time.Second})
	}
	f.now = start.Add(time.Hour)
	broken := errors.New("nobody listens")
	stuck := func(tag string) bool { return len(tag) == len("chain 1") }
	report, err := f.Sweep(t.Context(), func(_ context.Context, c xorack.Chain) error {
		if stuck(c.Tag) {
			return broken
		}
		return nil
	})
	check.That(t, errors.Is(err, broken) && report.Chains == many && report.TimedOut == many &&
		report.Failed == 10 && report.Finished == many-10, "%+v, %v", report, err)
	report = f.sweep(nil)
	check.That(t, report.Finished == 10 && report.TimedOut == 0, "and again: %+v", report)
}

// TestAChainThatFailsIsTriedLast: behind those that have been due since before it failed.
func TestAChainThatFailsIsTriedLast(t *testing.T) {
	f := newFixture(t)
	bad, good := "bad", ""
	for n := 0; chains.DueShardOf(bad) != chains.DueShardOf(good); n++ {
		good = fmt.Sprint("good ", n)
	}
	var tried []string
	announce := func(_ context.Context, c xorack.Chain) error {
		tried = append(tried, c.Tag)
		if c.Tag == bad {
			return errors.New("nobody listens")
		}
		return nil
	}
	f.create(bad, &xorack.CreateOptions{Deadline: time.Second})
	f.now = start.Add(10 * time.Second)
	report, err := f.Sweep(t.Context(), announce)
	check.Need(t, err != nil && report.Failed == 1, "%+v, %v", report, err)
	f.now = start
	f.create(good, &xorack.CreateOptions{Deadline: 5 * time.Second})
	f.now = start.Add(time.Minute)
	report, err = f.Sweep(t.Context(), announce)
	check.That(t, err != nil && report.Failed == 1 && report.Finished == 1, "%+v, %v", report, err)
	check.Is(t, cmp.Diff([]string{bad, good, bad}, tried), "")
}

// TestSweepGoesOnBehindAPage: a part of the index may have more chains than are read at a time.
func TestSweepGoesOnBehindAPage(t *testing.T) {
	f := newFixture(t)
	const many = 2500
	for i := range many {
		f.create(fmt.Sprint("chain ", i), &xorack.CreateOptions{Deadline: time.Second})
	}
	f.now = start.Add(time.Hour)
	if report := f.sweep(nil); report.Chains != many || report.TimedOut != many || report.More {
		t.Errorf("%+v, want all %d", report, many)
	}
}

// TestSweepIsBoundedByTime: a run says that it is not through, and the next one goes on. A chain
// whose end nobody takes keeps no other waiting.
func TestSweepIsBoundedByTime(t *testing.T) {
	f := newFixture(t)
	const count = 500
	for i := range count {
		f.create(fmt.Sprint("chain ", i), &xorack.CreateOptions{Deadline: time.Second})
	}
	f.now = start.Add(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	ended := 0
	report, err := f.Sweep(ctx, func(context.Context, xorack.Chain) error {
		if ended++; ended == 50 {
			cancel()
		}
		return nil
	})
	check.That(t, errors.Is(err, context.Canceled) && report.More &&
		report.Late == time.Hour-time.Second, "%+v, %v; want that there is more", report, err)
	for range 2 {
		report = f.sweep(nil)
	}
	check.That(t, report.Chains == 0 && !report.More, "%+v, want nothing left", report)
}

// TestAChainThatHangsKeepsNoOtherWaiting for longer than its turn.
func TestAChainThatHangsKeepsNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const count = 300
		for i := range count {
			f.create(fmt.Sprint("chain ", i), &xorack.CreateOptions{Deadline: time.Second})
		}
		f.now = start.Add(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
		defer cancel()
		report, err := f.Sweep(ctx, func(ctx context.Context, c xorack.Chain) error {
			if c.Tag == "chain 7" {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		check.That(t, errors.Is(err, context.DeadlineExceeded) && report.Finished == count-1 &&
			report.Failed == 1 && !report.More,
			"%+v, %v; want all but the one", report, err)
	})
}

// record is a record of the table's stream.
func record(seq int, event, image string) []byte {
	return fmt.Appendf(nil,
		`{"eventName":%q,"dynamodb":{"SequenceNumber":"%d","Keys":{"tag":{"S":"t"}}%s}}`,
		event, seq, image)
}

const doneImage = `,"NewImage":{"tag":{"S":"t"},"v":{"N":"1"},"inc":{"B":"AQIDBAUGBwg="},"n":{"N":"0"},"edges":{"N":"1"},
	"created":{"N":"1000"},"seen":{"N":"5000"},"deadline":{"N":"9000"},"due":{"N":"9000"},"dueShard":{"N":"3"}}`

func TestOnEnds(t *testing.T) {
	f := newFixture(t)
	var announced []string
	var failures []error
	handle := xorack.OnEnds(f.Acker, func(_ context.Context, c xorack.Chain) error {
		announced = append(announced,
			fmt.Sprint(c.Tag, " ", c.End(), " ", c.Age(time.Time{}), " ", c.EventID()))
		return nil
	}, &xorack.OnEndsOptions{Failed: func(err error) { failures = append(failures, err) }})
	response, err := handle(t.Context(), table.StreamEvent{Records: []json.RawMessage{
		record(1, "INSERT", strings.Replace(doneImage, `"N":"0"`, `"N":"7"`, 1)),
		record(2, "MODIFY", doneImage),
		record(3, "MODIFY", strings.Replace(doneImage, `"due":{"N":"9000"},`, "", 1)),
		record(4, "MODIFY", strings.Replace(doneImage, `"created":{"N":"1000"},`, "", 1)),
		record(5, "REMOVE", ""),
		record(6, "MODIFY", ""),
		record(7, "MODIFY", strings.Replace(doneImage, `"v":{"N":"1"}`, `"v":{"N":"2"}`, 1)),
		record(8, "MODIFY", `,"NewImage":{"v":{"N":"1"}}`),
		record(9, "MODIFY", doneImage),
	}})
	check.That(t, err == nil && len(response.BatchItemFailures) == 1 &&
		response.BatchItemFailures[0].ItemIdentifier == "6" && len(failures) == 3,
		"%v, %v, %v", response, err, failures)
	check.That(t, len(announced) == 2 && announced[0] == announced[1] &&
		strings.HasPrefix(announced[0], "t DONE 4s "),
		"announced %q", announced)
	check.That(t, errors.Is(failures[1], table.ErrNewerLayout), "a newer layout: %v", failures[1])
	for _, broken := range []string{`{}`, `7`, `{"dynamodb":{"NewImage":7}}`} {
		check.That(t,
			check.Err(handle(t.Context(),
				table.StreamEvent{Records: []json.RawMessage{[]byte(broken)}})) != nil, "%s: no error", broken)
	}
}

// TestFan: fans of every depth, ended in the order that is worst, end their root once and not
// before.
func TestFan(t *testing.T) {
	for _, n := range []int{1, 2, xorack.FanWidth, xorack.FanWidth + 1, 1000,
		xorack.FanWidth*xorack.FanWidth + 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFixture(t)
			root := f.create("t", nil)
			leaves := root.Fan(n)
			seen := map[xorack.Edge]bool{}
			for _, leaf := range leaves {
				seen[leaf] = true
			}
			check.Need(t, len(seen) == n, "%d different edges, want %d", len(seen), n)
			// The first one ends before the fan is made, which happens twice.
			f.want(xorack.Applied)(f.Done(t.Context(), leaves[0]))
			outcome := xorack.Applied
			if n == 1 {
				outcome = xorack.Ended
			}
			for range 2 {
				f.want(outcome)(f.Fan(t.Context(), root, n))
				f.now = f.now.Add(time.Second)
			}
			for _, leaf := range leaves[1:] {
				end := f.chain("t").End()
				check.Need(t, end == xorack.Open, "ended before all edges: %s", end)
				check.Get(f.Done(t.Context(), leaf))
			}
			for range 8 {
				f.now = f.now.Add(time.Hour)
				f.sweep(func(_ context.Context, c xorack.Chain) error {
					check.That(t, c.Tag == "t", "a part was announced: %s", c.Tag)
					return nil
				})
			}
			check.Is(t, f.chain("t").End(), xorack.Done)
			for _, tag := range f.tags() {
				if c := f.chain(tag); !c.Sealed() || len(c.Ops) > xorack.FanWidth+1 {
					t.Errorf("%s: %d operations, sealed %v", tag, len(c.Ops), c.Sealed())
				}
			}
		})
	}
}

// TestFanHasTheTimeOfItsTree: its parts time out an hour after the tree would, and not before, also
// where the tree was given more time.
func TestFanHasTheTimeOfItsTree(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", &xorack.CreateOptions{Deadline: 2 * time.Hour})
	n := xorack.FanWidth*xorack.FanWidth + 1
	f.want(xorack.Applied)(f.Fan(t.Context(), root, n))
	part := root.Fan(n)[0]
	c := f.chain(part.Tag())
	check.That(t, c.Deadline.Equal(start.Add(3*time.Hour)), "deadline %v", c.Deadline)
	f.want(xorack.Applied)(f.Extend(t.Context(), root, start.Add(5*time.Hour)))
	f.want(xorack.Applied)(f.Fan(t.Context(), root, n))
	f.now = start.Add(4 * time.Hour)
	did := f.sweep(nil)
	check.That(t, did.TimedOut == 0 && did.Postponed != 0, "extended: %+v", did)
	if c := f.chain(part.Tag()); c.End() != xorack.Open || !c.Deadline.Equal(start.Add(6*time.Hour)) {
		t.Errorf("a part is %q, its deadline %v", c.End(), c.Deadline)
	}
	f.now = start.Add(7 * time.Hour)
	f.sweep(nil)
	check.Is(t, f.chain("t").End(), xorack.TimedOut)
	f.now = start.Add(9 * time.Hour)
	f.sweep(nil)
	for _, tag := range f.tags() {
		if c := f.chain(tag); c.End() == xorack.Open || !c.Sealed() {
			t.Errorf("%s is %q, sealed: %v", tag, c.End(), c.Sealed())
		}
	}
}

// TestFanBeforeItsTree: the parts cannot know its time yet.
func TestFanBeforeItsTree(t *testing.T) {
	f := newFixture(t)
	root := xorack.Root("t", "", 0)
	f.want(xorack.Applied)(f.Fan(t.Context(), root, 200))
	part := root.Fan(200)[0]
	c := f.chain(part.Tag())
	check.That(t, c.Deadline.Equal(start.Add(xorack.MaxDeadline)), "deadline %v", c.Deadline)
	f.create("t", nil)
	f.want(xorack.Applied)(f.Fan(t.Context(), root, 200))
	check.Is(t, len(f.tags()), 4)
}

// TestFanAfterTheEnd makes no chains that nobody needs.
func TestFanAfterTheEnd(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	f.want(xorack.Ended)(f.Done(t.Context(), root))
	f.want(xorack.AlreadyDone)(f.Fan(t.Context(), root.Child(0), 200))
	f.want(xorack.OtherChildren)(f.Fan(t.Context(), root, 200))
	check.Fails(t, check.Err(f.Fan(t.Context(), xorack.Root("t", "other", 0), 200)),
		xorack.ErrOtherChain)
	check.Is(t, len(f.tags()), 1)
}

func TestFanFails(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	f.want(xorack.Applied)(f.Fan(t.Context(), root, 10_000))
	f.want(xorack.Ended)(f.Fail(t.Context(), root.Fan(10_000)[777], "bad address"))
	for range 3 {
		f.now = f.now.Add(time.Hour)
		f.sweep(nil)
	}
	c := f.chain("t")
	check.That(t, c.End() == xorack.Failed && c.Reason == "bad address", "%s: %s", c.End(), c.Reason)
	check.That(t, root.Fan(0) == nil &&
		root.Fan(xorack.FanWidth*xorack.FanWidth*xorack.FanWidth+1) == nil, "a fan that cannot be")
}

func (f *fixture) tells(want ...string) {
	f.t.Helper()
	check.That(f.t, slices.Equal(f.scheduled, want), "scheduled %q, want %q", f.scheduled, want)
	f.scheduled = nil
}

// wake wakes a chain up, and checks when it is late then, and what was requested.
func (f *fixture) wake(tag string, timedOut int, late string, reads, writes int) {
	f.t.Helper()
	f.meter.Take()
	announced := 0
	report, next, err := f.Wake(f.t.Context(), tag, func(context.Context, xorack.Chain) error {
		announced++
		return nil
	})
	cost := f.meter.Take()
	at := ""
	if !next.IsZero() {
		at = next.Sub(start).String()
	}
	if err != nil || report.TimedOut != timedOut || report.Finished != timedOut ||
		announced != timedOut || at != late || cost.Reads != reads || cost.Writes != writes {
		f.t.Errorf("%+v, late %q, %v, %d reads, %d writes, %d announced; want %d timed out, late %q, %d and %d", report, at, err, cost.Reads, cost.Writes, announced, timedOut, late, reads, writes)
	}
}

func TestWakeUpsOfDeadlines(t *testing.T) {
	a := newFixture(t)
	a.wake("t", 0, "", 1, 0) // no such chain
	root := a.create("t", &xorack.CreateOptions{Deadline: time.Minute})
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
	a := newFixture(t)
	root := a.create("t", &xorack.CreateOptions{Deadline: 10 * time.Minute, Idle: time.Minute})
	a.tells("t 1m0s")
	a.now = start.Add(30 * time.Second)
	check.Get(a.Done(t.Context(), root, root.Child(0)))
	a.now = start.Add(time.Minute)
	a.wake("t", 0, "1m30s", 1, 0)
	a.now = start.Add(90 * time.Second)
	a.wake("t", 1, "", 1, 2)
}

// TestWakeUpsFarAhead: of a deadline that is far ahead, the sweep tells, which looks shortly
// before.
func TestWakeUpsFarAhead(t *testing.T) {
	a := newFixture(t)
	a.create("t", nil)
	a.tells()
	looks := 0
	for a.now.Before(start.Add(24*time.Hour - 20*time.Minute)) {
		a.now = a.now.Add(time.Minute)
		report := check.Get(a.Sweep(t.Context(), nil))
		looks += report.Chains
	}
	a.tells("t 24h0m0s")
	check.Is(t, looks, 8)
}

// TestWakeUpsOfOtherChains: stamps have deadlines too; what has ended, has none.
func TestWakeUpsOfOtherChains(t *testing.T) {
	a := newFixture(t)
	check.Get(a.stamper.Create(t.Context(), "s", []byte{1}, &stamps.Options{Deadline: time.Minute}))
	a.tells("s 1m0s")
	a.wake("s", 0, "1m0s", 1, 0)
	a.now = start.Add(time.Minute)
	a.wake("s", 1, "", 1, 2)
	root := a.create("t", &xorack.CreateOptions{Deadline: time.Minute})
	a.tells("t 2m0s")
	check.Get(a.Fan(t.Context(), root, 2000))
	a.tells() // its parts end with it
	check.Get(a.Done(t.Context(), a.create("u", &xorack.CreateOptions{ID: "1"})))
	_, _, err := a.Wake(t.Context(), "", nil)
	check.That(t, err != nil, "a chain without a tag is no error")
}

// TestAWakeUpThatFails counts what failed: the next one does it.
func TestAWakeUpThatFails(t *testing.T) {
	a := newFixture(t)
	a.create("t", &xorack.CreateOptions{Deadline: time.Minute})
	a.now = start.Add(time.Minute)
	for _, c := range []struct {
		failure error
		want    xorack.SweepReport
	}{
		{ddb.ErrUnavailable, xorack.SweepReport{Chains: 1, TimedOut: 1, Failed: 1}},
		{nil, xorack.SweepReport{Chains: 1, Finished: 1}},
	} {
		announce := func(context.Context, xorack.Chain) error { return c.failure }
		report, next, err := a.Wake(t.Context(), "t", announce)
		check.That(t, errors.Is(err, c.failure) && report == c.want && next.IsZero(),
			"%+v, %v, %v; want %+v, %v", report, next, err, c.want, c.failure)
	}
}

// pending are the tags of all pages, and the most read units of a page.
func (f *fixture) pending(limit int, between func()) (tags []string, most float64) {
	f.t.Helper()
	var after xorack.Pending
	for range 10_000 {
		f.meter.Take()
		page, more, err := f.Pending(f.t.Context(), after, limit)
		check.Need(f.t, err == nil && len(page) <= limit && (!more || len(page) >= limit),
			"%d chains, more %v, %v", len(page), more, err)
		most = max(most, f.meter.Take().Units.Reads)
		for _, it := range page {
			tags = append(tags, it.Tag)
			after = it
		}
		if !more {
			return tags, most
		}
		between()
	}
	f.t.Fatal("the pages do not end")
	return nil, 0
}

// TestPendingListsEachOnce: whatever ends and begins meanwhile, what is open all the while is
// listed once.
func TestPendingListsEachOnce(t *testing.T) {
	f := newFixture(t)
	stays, ends := map[string]bool{}, []xorack.Edge{}
	for i := range 200 {
		stays[fmt.Sprintf("stays-%d", i)] = true
		f.create(fmt.Sprintf("stays-%d", i), nil)
		ends = append(ends, f.create(fmt.Sprintf("ends-%d", i), nil))
	}
	for _, limit := range []int{1, 7, 50, 1000} {
		tags, _ := f.pending(limit, func() {
			f.create(fmt.Sprintf("comes-%d-%d", limit, len(ends)), nil)
			end := ends[0]
			ends = ends[1:]
			done, err := f.Done(t.Context(), end)
			if err == nil {
				_, err = f.Finish(t.Context(), done.Chain, nil)
			}
			check.OK(t, err)
			if len(ends) == 0 {
				ends = append(ends, f.create("again-"+fmt.Sprint(limit, len(stays), f.now), nil))
				f.now = f.now.Add(time.Millisecond)
			}
		})
		seen := map[string]int{}
		for _, tag := range tags {
			seen[tag]++
		}
		for tag := range stays {
			check.That(t, seen[tag] == 1, "by %d: %s is listed %d times", limit, tag, seen[tag])
		}
	}
}

// TestPendingIsWhatTheSweepLooksAt: an end is pending until it is announced; what was never created
// is not.
func TestPendingIsWhatTheSweepLooksAt(t *testing.T) {
	f := newFixture(t)
	failed := check.Get(f.Fail(t.Context(), f.create("fails", nil), "why"))
	f.create("open", nil)
	check.Get(f.Done(t.Context(), xorack.Root("orphan", "", 0)))
	want := func(tags ...string) {
		t.Helper()
		got, _ := f.pending(100, func() {})
		if slices.Sort(got); !slices.Equal(got, tags) {
			t.Errorf("%v are pending, want %v", got, tags)
		}
	}
	want("fails", "open")
	check.Get(f.Finish(t.Context(), failed.Chain, nil))
	want("open")
}

// TestPendingUnits: 50 chains are 1 read unit at most where there are many, and all of few 8.
func TestPendingUnits(t *testing.T) {
	f := newFixture(t)
	n := 0
	for _, c := range []struct {
		chains int
		most   float64
	}{{0, 8}, {30, 8}, {2000, 1}, {10_000, 1}} {
		for ; n < c.chains; n++ {
			f.create(fmt.Sprintf("orders/2026-11-23/%08d", n), nil)
		}
		tags, most := f.pending(50, func() {})
		check.That(t, len(tags) == c.chains && most == c.most,
			"%d chains: %d are listed, for %v units a page at most; want %v", c.chains,
			len(tags), most, c.most)
	}
}
