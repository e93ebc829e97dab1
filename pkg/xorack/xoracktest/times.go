package xoracktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/pkg/xorack"
)

func testExtend(t *testing.T, s xorack.Store) {
	want := create(t, s, newChain("a"))
	later := at.Add(2 * time.Hour)
	want.Deadline = later
	answers(t, s, "extend", want, true)(s.Extend(t.Context(), "a", inc, later))
	answers(t, s, "repeated", want, false)(s.Extend(t.Context(), "a", inc, later))
	answers(t, s, "earlier", want, false)(s.Extend(t.Context(), "a", inc, at))
	answers(t, s, "of a stranger", want, false)(s.Extend(t.Context(), "a", stranger, later.Add(1)))
	ended, _, err := s.Fail(t.Context(), failure("a", 1))
	check(t, err)
	answers(t, s, "after the end", ended, false)(s.Extend(t.Context(), "a", inc, later.Add(time.Hour)))

	orphan, _, err := s.Apply(t.Context(), work("b", 1, 1))
	check(t, err)
	answers(t, s, "not created", orphan, false)(s.Extend(t.Context(), "b", inc, later))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.Extend(t.Context(), "c", inc, later))
}

func overdue(tag string, now time.Time) xorack.Overdue {
	return xorack.Overdue{Tag: tag, Incarnation: inc, Reason: "late", Now: now}
}

func testTimeOut(t *testing.T, s xorack.Store) {
	want := create(t, s, newChain("a"))
	before, over := at.Add(time.Hour-time.Millisecond), at.Add(time.Hour)
	answers(t, s, "too early", want, false)(s.TimeOut(t.Context(), overdue("a", before)))
	other := overdue("a", over)
	other.Incarnation = stranger
	answers(t, s, "of a stranger", want, false)(s.TimeOut(t.Context(), other))
	want.Recorded, want.Reason, want.EndedAt = xorack.TimedOut, "late", over
	answers(t, s, "time out", want, true)(s.TimeOut(t.Context(), overdue("a", over)))
	answers(t, s, "repeated", want, false)(s.TimeOut(t.Context(), overdue("a", over)))

	want = create(t, s, newChain("b"))
	idle := overdue("b", at.Add(time.Minute))
	idle.Seen = at.Add(-time.Millisecond)
	answers(t, s, "progress meanwhile", want, false)(s.TimeOut(t.Context(), idle))
	idle.Seen = at
	want.Recorded, want.Reason, want.EndedAt = xorack.TimedOut, "late", idle.Now
	answers(t, s, "no progress", want, true)(s.TimeOut(t.Context(), idle))

	create(t, s, newChain("c"))
	done, _, err := s.Apply(t.Context(), work("c", -100, 1))
	check(t, err)
	answers(t, s, "after the end", done, false)(s.TimeOut(t.Context(), overdue("c", over)))
	orphan, _, err := s.Apply(t.Context(), work("d", 1, 1))
	check(t, err)
	answers(t, s, "not created", orphan, false)(s.TimeOut(t.Context(), overdue("d", over)))

	stamped := create(t, s, newStamped("e", "mark01aa"))
	stamped.Recorded, stamped.Reason, stamped.EndedAt = xorack.TimedOut, "late", over
	answers(t, s, "of stamps", stamped, true)(s.TimeOut(t.Context(), overdue("e", over)))
}

func testAbandon(t *testing.T, s xorack.Store) {
	now := at.Add(time.Hour)
	abandoned := func(c xorack.Chain) xorack.Chain {
		c.Recorded, c.Reason, c.EndedAt, c.Due, c.ExpiresOn = xorack.TimedOut, "late", now, now, xorack.Never
		return c
	}
	want := abandoned(xorack.Chain{Tag: "a", Incarnation: inc})
	answers(t, s, "nothing yet", want, true)(s.Abandon(t.Context(), overdue("a", now)))
	answers(t, s, "repeated", want, false)(s.Abandon(t.Context(), overdue("a", now)))
	answers(t, s, "bars the create", want, false)(s.Create(t.Context(), newChain("a")))

	orphan, _, err := s.Apply(t.Context(), work("b", 1, 1))
	check(t, err)
	answers(t, s, "an orphan", abandoned(orphan), true)(s.Abandon(t.Context(), overdue("b", now)))

	kept := overdue("f", now)
	kept.Data = "kept"
	want = abandoned(xorack.Chain{Tag: "f", Incarnation: inc, Data: "kept"})
	answers(t, s, "with what is kept", want, true)(s.Abandon(t.Context(), kept))
	owned := newChain("g")
	owned.Data = "owned"
	owned = create(t, s, owned)
	answers(t, s, "keeps what its creation kept", abandoned(owned), true)(s.Abandon(t.Context(), overdue("g", now)))

	chain := create(t, s, newChain("c"))
	answers(t, s, "within its time", chain, false)(s.Abandon(t.Context(), overdue("c", now.Add(-time.Millisecond))))
	other := overdue("c", now)
	other.Incarnation = stranger
	answers(t, s, "of a stranger", chain, false)(s.Abandon(t.Context(), other))
	answers(t, s, "overdue", abandoned(chain), true)(s.Abandon(t.Context(), overdue("c", now)))

	create(t, s, newChain("d"))
	done, _, err := s.Apply(t.Context(), work("d", -100, 1))
	check(t, err)
	answers(t, s, "after the end", done, false)(s.Abandon(t.Context(), overdue("d", now)))
	stamped := create(t, s, newStamped("e", "mark01aa"))
	answers(t, s, "of stamps", stamped, false)(s.Abandon(t.Context(), overdue("e", now)))
}

func testPostpone(t *testing.T, s xorack.Store) {
	want := create(t, s, newChain("a"))
	from, to := want.Due, at.Add(time.Hour)
	answers(t, s, "from another time", want, false)(s.Postpone(t.Context(), "a", inc, at, to))
	answers(t, s, "of a stranger", want, false)(s.Postpone(t.Context(), "a", stranger, from, to))
	want.Due = to
	answers(t, s, "postpone", want, true)(s.Postpone(t.Context(), "a", inc, from, to))
	answers(t, s, "repeated", want, false)(s.Postpone(t.Context(), "a", inc, from, to))
	ended, _, err := s.Fail(t.Context(), failure("a", 1))
	check(t, err)
	answers(t, s, "after the end", ended, false)(s.Postpone(t.Context(), "a", inc, ended.Due, to))
	orphan, _, err := s.Apply(t.Context(), work("b", 1, 1))
	check(t, err)
	answers(t, s, "not due", orphan, false)(s.Postpone(t.Context(), "b", inc, from, to))
}

func testSeal(t *testing.T, s xorack.Store) {
	expires := at.Add(48 * time.Hour)
	open := create(t, s, newChain("a"))
	answers(t, s, "an open chain", open, false)(s.Seal(t.Context(), "a", inc, at, expires))
	want, _, err := s.Apply(t.Context(), work("a", -100, 1))
	check(t, err)
	answers(t, s, "of a stranger", want, false)(s.Seal(t.Context(), "a", stranger, at, expires))
	want.Recorded, want.EndedAt, want.Due, want.ExpiresOn = xorack.Done, at.Add(time.Minute), time.Time{}, expires
	answers(t, s, "done", want, true)(s.Seal(t.Context(), "a", inc, at.Add(time.Minute), expires))
	answers(t, s, "repeated", want, false)(s.Seal(t.Context(), "a", inc, at, expires.Add(time.Hour)))

	want = failed(create(t, s, newChain("b")), 1)
	_, _, err = s.Fail(t.Context(), failure("b", 1))
	check(t, err)
	want.Due, want.ExpiresOn = time.Time{}, expires
	answers(t, s, "failed", want, true)(s.Seal(t.Context(), "b", inc, at, expires))

	// Zero, and not created: nothing has ended.
	_, _, err = s.Apply(t.Context(), work("c", -5, 1))
	check(t, err)
	orphan, _, err := s.Apply(t.Context(), work("c", 5, 2))
	check(t, err)
	answers(t, s, "an orphan at zero", orphan, false)(s.Seal(t.Context(), "c", inc, at, expires))
	same(t, "end", orphan.End(), xorack.Open)
}

func testDue(t *testing.T, s xorack.Store) {
	want := map[string]time.Time{}
	for n := range 40 {
		c := newChain(fmt.Sprint("chain ", n))
		c.Due = at.Add(time.Duration(n/4) * time.Second)
		create(t, s, c)
		want[c.Tag] = c.Due
	}
	_, _, err := s.Postpone(t.Context(), "chain 0", inc, at, at.Add(time.Hour))
	check(t, err)
	delete(want, "chain 0")
	_, _, err = s.Apply(t.Context(), work("chain 1", -100, 1))
	check(t, err)
	_, _, err = s.Seal(t.Context(), "chain 1", inc, at, at.Add(time.Hour))
	check(t, err)
	delete(want, "chain 1")
	until := at.Add(8 * time.Second)
	for tag, due := range want {
		if due.After(until) {
			delete(want, tag)
		}
	}
	// An index may be behind: every older state is right until then.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if got := allDue(t, s, until); cmp.Equal(got, want) || time.Now().After(deadline) {
			same(t, "due", got, want)
			return
		}
	}
}

// allDue reads all parts, in pages of two, and checks their order.
func allDue(t *testing.T, s xorack.Store, until time.Time) map[string]time.Time {
	t.Helper()
	got := map[string]time.Time{}
	for shard := range xorack.DueShards {
		var last xorack.DueChain
		for {
			page, err := s.Due(t.Context(), xorack.DueQuery{Shard: shard, At: until, After: last, Limit: 2})
			check(t, err)
			if len(page) == 0 {
				break
			}
			for _, one := range page {
				if one.Due.Before(last.Due) {
					t.Errorf("part %d: %v is before %v", shard, one, last)
				}
				if _, twice := got[one.Tag]; twice {
					t.Errorf("part %d: %v is there twice", shard, one)
				}
				got[one.Tag], last = one.Due, one
			}
		}
	}
	return got
}

func testSums(t *testing.T, s xorack.Store) {
	big := xorack.Sum{Hi: 1<<40 + 12345, Lo: 0x123456789abcdef0}
	var total xorack.Sum
	for i, n := range []xorack.Sum{big, sum(-1), sum(0).Minus(big).Minus(big), {Hi: -1, Lo: 0}, sum(7)} {
		w := work("a", 0, i)
		w.Delta = n
		c, applied, err := s.Apply(t.Context(), w)
		check(t, err)
		total = total.Plus(n)
		same(t, "applied", applied, true)
		same(t, fmt.Sprint("sum ", i), c.Sum, total)
	}
}

func testTags(t *testing.T, s xorack.Store) {
	tags := []string{"é ← \u0000\n\"", strings.Repeat("x", xorack.MaxTag), "a", "A", "a ", "ａ"}
	for i, tag := range tags {
		c := newChain(tag)
		c.Edges = int64(i + 1)
		create(t, s, c)
	}
	for i, tag := range tags {
		same(t, "edges", standing(t, s, tag).Edges, int64(i+1))
	}
}

func testNoChain(t *testing.T, s xorack.Store) {
	same(t, "chain", standing(t, s, "a"), xorack.Chain{})
	_, _, err := s.DeleteStamps(t.Context(), "a", op(1), at, at)
	check(t, err)
	_, _, err = s.TimeOut(t.Context(), overdue("a", at))
	check(t, err)
	_, _, err = s.Seal(t.Context(), "a", inc, at, at)
	check(t, err)
	_, _, err = s.Settle(t.Context(), "a", inc, 0, at)
	check(t, err)
	_, _, err = s.Postpone(t.Context(), "a", inc, at, at)
	check(t, err)
	same(t, "still none", standing(t, s, "a"), xorack.Chain{})
	for shard := range xorack.DueShards {
		page, err := s.Due(t.Context(), xorack.DueQuery{Shard: shard, At: at, Limit: 1})
		check(t, err)
		if len(page) > 0 {
			t.Errorf("due: %v", slices.Collect(slices.Values(page)))
		}
	}
}
