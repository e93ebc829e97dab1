package xorack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func testCreate(t *testing.T, s *xorack.Store) {
	create(t, s, newChain("create a"))
	plain := newChain("create b")
	plain.Idle, plain.Parent, plain.Sub = 0, xorack.Edge{}, false
	create(t, s, plain)
	nested := newChain("create c")
	nested.Sub = false
	create(t, s, nested)
}

func testCreateOverOrphans(t *testing.T, s *xorack.Store) {
	orphan, applied := check.Get2(s.Apply(t.Context(), work("over orphans a", -100, 1)))
	same(t, "applied", applied, true)
	same(t, "orphan", orphan, xorack.Chain{
		Tag: "over orphans a", Incarnation: inc, Sum: sum(-100), Edges: 2, Ops: []xorack.Op{op(1)},
		Seen: at.Add(time.Minute), LastOp: op(1), ExpiresOn: at.Add(24 * time.Hour),
	})
	want := newChain("over orphans a")
	want.Sum, want.Edges, want.Ops, want.Seen = sum(0), 3, []xorack.Op{op(1)}, at.Add(time.Minute)
	answers(t, s, "created over it", want, true)(s.Create(t.Context(), newChain("over orphans a")))
	same(t, "end", want.End(), xorack.Done)
}

// zeroOrphan is what two operations left that came before their chain.
func zeroOrphan(t *testing.T, s *xorack.Store, tag string) xorack.Chain {
	t.Helper()
	for i, n := range []int64{-100, 100} {
		check.Get2(s.Apply(t.Context(), work(tag, n, i)))
	}
	return standing(t, s, tag)
}

func testOrphanAtZero(t *testing.T, s *xorack.Store) {
	orphan := zeroOrphan(t, s, "zero a")
	same(t, "end", orphan.End(), xorack.Open)
	orphan.Sum, orphan.Edges, orphan.Ops, orphan.LastOp = sum(7), 6,
		[]xorack.Op{op(0), op(1), op(2)}, op(2)
	answers(t, s, "goes on", orphan, true)(s.Apply(t.Context(), work("zero a", 7, 2)))
}

func testCreateRefused(t *testing.T, s *xorack.Store) {
	first := create(t, s, newChain("refused a"))
	other := newChain("refused a")
	other.Options, other.Deadline, other.Created = [8]byte{1}, at.Add(2*time.Hour), at.Add(time.Second)
	answers(t, s, "created twice", first, false)(s.Create(t.Context(), other))
	other.Incarnation = stranger
	answers(t, s, "by a stranger", first, false)(s.Create(t.Context(), other))

	orphan, _ := check.Get2(s.Apply(t.Context(), work("refused b", 5, 1)))
	byStranger := newChain("refused b")
	byStranger.Incarnation = stranger
	answers(t, s, "over a stranger's orphan", orphan, false)(s.Create(t.Context(), byStranger))
	stamped := put(t, s, xorack.Chain{Tag: "refused d", Incarnation: inc, StampLen: 2,
		Stamps: [][]byte{[]byte("mark01aa")}})
	answers(t, s, "over stamps", stamped, false)(s.Create(t.Context(), newChain("refused d")))

	failed, _ := check.Get2(fail(t, s, "refused c", 1))
	answers(t, s, "after it failed", failed, false)(s.Create(t.Context(), newChain("refused c")))
}

func testReplace(t *testing.T, s *xorack.Store) {
	old := create(t, s, newChain("replace a"))
	fresh := newChain("replace a")
	fresh.Incarnation, fresh.Sub = stranger, false
	answers(t, s, "a living one", old, false)(s.Replace(t.Context(), fresh, old))

	// Sealed, with an expiry that is over when the next one is created.
	ended, _ := check.Get2(s.Apply(t.Context(), work("replace a", -100, 1)))
	sealed, _ := check.Get2(s.Seal(t.Context(), "replace a", inc, ended.Seen, at.Add(48*time.Hour)))
	fresh.Created = at.Add(48*time.Hour - time.Second)
	answers(t, s, "a second before", sealed, false)(s.Replace(t.Context(), fresh, sealed))
	fresh.Created = at.Add(48 * time.Hour)
	unseen := sealed
	unseen.Incarnation = xorack.Incarnation{4}
	answers(t, s, "another than was seen", sealed, false)(s.Replace(t.Context(), fresh, unseen))
	answers(t, s, "expired", fresh, true)(s.Replace(t.Context(), fresh, sealed))
	answers(t, s, "repeated", fresh, false)(s.Replace(t.Context(), fresh, sealed))

	orphan, _ := check.Get2(s.Apply(t.Context(), work("replace b", 5, 1)))
	fresh.Tag = "replace b"
	answers(t, s, "an orphan", fresh, true)(s.Replace(t.Context(), fresh, orphan))

	deleted := newStamped("replace c", "mark01aa")
	deleted.Recorded, deleted.LastOp, deleted.Due = xorack.Deleted, op(7), time.Time{}
	put(t, s, deleted)
	fresh.Tag, unseen = "replace c", deleted
	unseen.LastOp = op(8)
	answers(t, s, "deleted by another", deleted, false)(s.Replace(t.Context(), fresh, unseen))
	answers(t, s, "deleted", fresh, true)(s.Replace(t.Context(), fresh, deleted))

	create(t, s, newChain("replace d"))
	due, _ := check.Get2(s.Delete(t.Context(), "replace d", op(7), at))
	fresh.Tag = "replace d"
	answers(t, s, "deleted, and not sealed", due, false)(s.Replace(t.Context(), fresh, due))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.Replace(t.Context(), newChain("replace e"), old))
}

// orphanStamps are stamps that came before their chain, each of two bytes.
func orphanStamps(t *testing.T, s *xorack.Store, tag string, stamps ...string) xorack.Chain {
	t.Helper()
	c := newStamped(tag, stamps...)
	c.Incarnation, c.Created, c.Due, c.Deadline = xorack.Incarnation{}, time.Time{},
		time.Time{}, time.Time{}
	c.Seen, c.ExpiresOn = at.Add(time.Minute), at.Add(24*time.Hour)
	return put(t, s, c)
}

func testCreateStamps(t *testing.T, s *xorack.Store) {
	create(t, s, newStamped("create stamps a", "mark01aa"))
	orphan := orphanStamps(t, s, "create stamps b", "mark01bb")
	want := newStamped("create stamps b", "mark01bb", "mark02cc")
	want.Seen = orphan.Seen
	fresh := newStamped("create stamps b", "mark02cc")
	answers(t, s, "created over it", want, true)(s.Create(t.Context(), fresh))
}

func testCreateStampsRefused(t *testing.T, s *xorack.Store) {
	first := create(t, s, newStamped("stamps refused a", "mark01aa"))
	again := newStamped("stamps refused a", "mark02aa")
	answers(t, s, "twice", first, false)(s.Create(t.Context(), again))
	other := newStamped("stamps refused a", "mark02bbb")
	other.StampLen, other.Incarnation = 3, stranger
	answers(t, s, "by a stranger", first, false)(s.Create(t.Context(), other))

	orphan := orphanStamps(t, s, "stamps refused b", "mark01aa")
	other.Tag = "stamps refused b"
	answers(t, s, "over orphans of another length", orphan, false)(s.Create(t.Context(), other))
	left, _ := check.Get2(s.Apply(t.Context(), work("stamps refused c", 5, 1)))
	fresh := newStamped("stamps refused c", "mark01aa")
	answers(t, s, "over an orphan of edges", left, false)(s.Create(t.Context(), fresh))
	failed, _ := check.Get2(fail(t, s, "stamps refused d", 1))
	fresh.Tag = "stamps refused d"
	answers(t, s, "over a failed one", failed, false)(s.Create(t.Context(), fresh))

	deleted := orphanStamps(t, s, "stamps refused e", "mark01aa")
	deleted.Recorded, deleted.LastOp = xorack.Deleted, op(5)
	put(t, s, deleted)
	fresh.Tag = "stamps refused e"
	answers(t, s, "after it was deleted", deleted, false)(s.Create(t.Context(), fresh))
}

func testReplaceByStamps(t *testing.T, s *xorack.Store) {
	deleted := newStamped("by stamps a", "mark01aa")
	deleted.Recorded, deleted.LastOp, deleted.Due = xorack.Deleted, op(7), time.Time{}
	put(t, s, deleted)
	fresh := newStamped("by stamps a", "mark02bb")
	fresh.Incarnation = stranger
	answers(t, s, "deleted", fresh, true)(s.Replace(t.Context(), fresh, deleted))
	answers(t, s, "repeated", fresh, false)(s.Replace(t.Context(), fresh, deleted))

	orphan, _ := check.Get2(s.Apply(t.Context(), work("by stamps b", 5, 1)))
	fresh.Tag = "by stamps b"
	answers(t, s, "an orphan of edges", fresh, true)(s.Replace(t.Context(), fresh, orphan))
}

func testApply(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("apply a"))
	want.Sum, want.Edges, want.Ops = sum(130), 3, []xorack.Op{op(7)}
	want.Seen, want.LastOp = at.Add(time.Minute), op(7)
	answers(t, s, "first", want, true)(s.Apply(t.Context(), work("apply a", 30, 7)))
	want.Sum, want.Edges, want.Ops, want.LastOp = sum(0), 5, []xorack.Op{op(2), op(5), op(7)}, op(2)
	answers(t, s, "two, unsorted", want, true)(s.Apply(t.Context(), work("apply a", -130, 5, 2)))
	same(t, "end", want.End(), xorack.Done)
}

func testSplits(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("splits a"))
	splits := work("splits a", 30, 7)
	splits.Splits, splits.Before = [][4]byte{{9}, {0, 1}}, []xorack.Op{op(5)}
	want.Sum, want.Edges, want.Ops, want.Splits = sum(130), 3, []xorack.Op{op(7)},
		[][4]byte{{0, 1}, {9}}
	want.Seen, want.LastOp = at.Add(time.Minute), op(7)
	answers(t, s, "two splits", want, true)(s.Apply(t.Context(), splits))
	splits = work("splits a", 1, 8)
	splits.Splits, splits.Before = [][4]byte{{3}}, []xorack.Op{op(6), op(7)}
	answers(t, s, "after the end that it must come before", want, false)(s.Apply(t.Context(), splits))
	splits.Splits, splits.Before = [][4]byte{{0, 1}, {3}}, nil
	want.Sum, want.Edges, want.Ops, want.LastOp = sum(131), 5, []xorack.Op{op(7), op(8)}, op(8)
	want.Splits = [][4]byte{{0, 1}, {3}, {9}}
	answers(t, s, "one that is there", want, true)(s.Apply(t.Context(), splits))
}

func testApplyRefused(t *testing.T, s *xorack.Store) {
	create(t, s, newChain("work refused a"))
	one, _ := check.Get2(s.Apply(t.Context(), work("work refused a", 1, 1)))
	answers(t, s, "again", one, false)(s.Apply(t.Context(), work("work refused a", 1, 1)))
	answers(t, s, "one of two again", one,
		false)(s.Apply(t.Context(), work("work refused a", 1, 2, 1)))
	other := work("work refused a", 1, 2)
	other.Incarnation = stranger
	answers(t, s, "of a stranger", one, false)(s.Apply(t.Context(), other))
	done, _ := check.Get2(s.Apply(t.Context(), work("work refused a", -101, 2)))
	answers(t, s, "after the end", done, false)(s.Apply(t.Context(), work("work refused a", 1, 3)))

	stamped := put(t, s, newStamped("work refused b", "mark01aa"))
	answers(t, s, "on stamps", stamped, false)(s.Apply(t.Context(), work("work refused b", 1, 1)))
}

func testHundred(t *testing.T, s *xorack.Store) {
	create(t, s, newChain("hundred a"))
	var ops []int
	for n := range xorack.MaxMerge {
		ops = append(ops, n)
	}
	got, applied := check.Get2(s.Apply(t.Context(), work("hundred a", 1, ops...)))
	same(t, "applied", applied, true)
	same(t, "operations", len(got.Ops), xorack.MaxMerge)
	w := work("hundred a", 1, append(ops[1:], 1000)...)
	w.Room = 1000
	answers(t, s, "all but one again", got, false)(s.Apply(t.Context(), w))
	create(t, s, newChain("hundred b"))
	half := work("hundred b", 1, ops[:xorack.MaxMerge/2]...)
	half.Before = half.Ops
	_, applied = check.Get2(s.Apply(t.Context(), half))
	same(t, "with as many that they come before", applied, true)
}

func testFull(t *testing.T, s *xorack.Store) {
	create(t, s, newChain("full a"))
	var full xorack.Chain
	for n := range 6 {
		c, applied := check.Get2(s.Apply(t.Context(), work("full a", 1, n)))
		same(t, "applied", applied, true)
		full = c
	}
	answers(t, s, "one too many", full, false)(s.Apply(t.Context(), work("full a", 1, 6)))
}

func fail(t *testing.T, s *xorack.Store, tag string, n int) (xorack.Chain, bool, error) {
	return s.Fail(t.Context(), xorack.EdgeOf(tag, inc, op(n)), "why", at.Add(time.Minute))
}

// failed is a chain after fail.
func failed(c xorack.Chain, n int) xorack.Chain {
	c.Recorded, c.Reason, c.LastOp = xorack.Failed, "why", op(n)
	c.EndedAt, c.Due, c.ExpiresOn = at.Add(time.Minute), at.Add(time.Minute), xorack.Never
	return c
}

func testFail(t *testing.T, s *xorack.Store) {
	want := failed(create(t, s, newChain("fail a")), 1)
	answers(t, s, "fail", want, true)(fail(t, s, "fail a", 1))
	answers(t, s, "repeated", want, false)(fail(t, s, "fail a", 1))
	answers(t, s, "another", want, false)(fail(t, s, "fail a", 2))
	answers(t, s, "and work", want, false)(s.Apply(t.Context(), work("fail a", 1, 2)))

	early := failed(xorack.Chain{Tag: "fail b", Incarnation: inc}, 1)
	answers(t, s, "before its creation", early, true)(fail(t, s, "fail b", 1))

	create(t, s, newChain("fail c"))
	one, _ := check.Get2(s.Apply(t.Context(), work("fail c", 1, 1)))
	answers(t, s, "an edge that ended", one, false)(fail(t, s, "fail c", 1))
	other := xorack.EdgeOf("fail c", stranger, op(2))
	answers(t, s, "of a stranger", one, false)(s.Fail(t.Context(), other, "why", at.Add(time.Minute)))
	done, _ := check.Get2(s.Apply(t.Context(), work("fail c", -101, 3)))
	answers(t, s, "after the end", done, false)(fail(t, s, "fail c", 2))

	zero := zeroOrphan(t, s, "fail e")
	answers(t, s, "an orphan at zero", failed(zero, 2), true)(fail(t, s, "fail e", 2))

	stamped := put(t, s, newStamped("fail d", "mark01aa"))
	answers(t, s, "of stamps", stamped, false)(fail(t, s, "fail d", 1))
}

func testDelete(t *testing.T, s *xorack.Store) {
	now := at.Add(time.Minute)
	want := create(t, s, newChain("delete a"))
	want.Recorded, want.LastOp, want.EndedAt, want.Due, want.ExpiresOn = xorack.Deleted, op(5), now,
		now, xorack.Never
	answers(t, s, "delete", want, true)(s.Delete(t.Context(), "delete a", op(5), now))
	answers(t, s, "repeated", want, false)(s.Delete(t.Context(), "delete a", op(5), now))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.Delete(t.Context(), "delete b", op(5), now))

	create(t, s, newChain("delete c"))
	done, _ := check.Get2(s.Apply(t.Context(), work("delete c", -100, 1)))
	answers(t, s, "after the end", done, false)(s.Delete(t.Context(), "delete c", op(5), now))

	orphan := zeroOrphan(t, s, "delete d")
	orphan.Recorded, orphan.LastOp, orphan.EndedAt, orphan.Due, orphan.ExpiresOn = xorack.Deleted,
		op(5), now, now, xorack.Never
	answers(t, s, "an orphan", orphan, true)(s.Delete(t.Context(), "delete d", op(5), now))

	stamped := put(t, s, newStamped("delete e", "mark01aa"))
	answers(t, s, "of stamps", stamped, false)(s.Delete(t.Context(), "delete e", op(5), now))
}

func testExtend(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("extend a"))
	later := at.Add(2 * time.Hour)
	want.Deadline = later
	answers(t, s, "extend", want, true)(s.Extend(t.Context(), "extend a", inc, later))
	answers(t, s, "repeated", want, false)(s.Extend(t.Context(), "extend a", inc, later))
	answers(t, s, "earlier", want, false)(s.Extend(t.Context(), "extend a", inc, at))
	answers(t, s, "of a stranger", want,
		false)(s.Extend(t.Context(), "extend a", stranger, later.Add(time.Hour)))
	ended, _ := check.Get2(fail(t, s, "extend a", 1))
	answers(t, s, "after the end", ended,
		false)(s.Extend(t.Context(), "extend a", inc, later.Add(time.Hour)))

	create(t, s, newChain("extend d"))
	done, _ := check.Get2(s.Apply(t.Context(), work("extend d", -100, 1)))
	answers(t, s, "when it is done", done, false)(s.Extend(t.Context(), "extend d", inc, later))

	orphan, _ := check.Get2(s.Apply(t.Context(), work("extend b", 1, 1)))
	answers(t, s, "not created", orphan, false)(s.Extend(t.Context(), "extend b", inc, later))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.Extend(t.Context(), "extend c", inc, later))
}

func timeOut(t *testing.T, s *xorack.Store, tag string, now time.Time) (xorack.Chain, bool, error) {
	return idle(t, s, tag, time.Time{}, now)
}

func idle(t *testing.T, s *xorack.Store, tag string,
	seen, now time.Time) (xorack.Chain, bool, error) {
	return s.TimeOut(t.Context(), xorack.Chain{Tag: tag, Incarnation: inc}, "late", seen, now)
}

func testTimeOut(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("time out a"))
	before, over := at.Add(time.Hour-time.Millisecond), at.Add(time.Hour)
	answers(t, s, "too early", want, false)(timeOut(t, s, "time out a", before))
	other := xorack.Chain{Tag: "time out a", Incarnation: stranger}
	answers(t, s, "of a stranger", want,
		false)(s.TimeOut(t.Context(), other, "late", time.Time{}, over))
	want.Recorded, want.Reason, want.EndedAt = xorack.TimedOut, "late", over
	answers(t, s, "time out", want, true)(timeOut(t, s, "time out a", over))
	answers(t, s, "repeated", want, false)(timeOut(t, s, "time out a", over))

	want = create(t, s, newChain("time out b"))
	now := at.Add(time.Minute)
	answers(t, s, "progress meanwhile", want,
		false)(idle(t, s, "time out b", at.Add(-time.Millisecond), now))
	want.Recorded, want.Reason, want.EndedAt = xorack.TimedOut, "late", now
	answers(t, s, "no progress", want, true)(idle(t, s, "time out b", at, now))

	create(t, s, newChain("time out c"))
	done, _ := check.Get2(s.Apply(t.Context(), work("time out c", -100, 1)))
	answers(t, s, "after the end", done, false)(timeOut(t, s, "time out c", over))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("time out d", 1, 1)))
	answers(t, s, "not created", orphan, false)(timeOut(t, s, "time out d", over))
	answers(t, s, "not created, without progress", orphan,
		false)(idle(t, s, "time out d", orphan.Seen, over))

	stamped := put(t, s, newStamped("time out e", "mark01aa"))
	stamped.Recorded, stamped.Reason, stamped.EndedAt = xorack.TimedOut, "late", over
	answers(t, s, "of stamps", stamped, true)(timeOut(t, s, "time out e", over))
}

func testPostpone(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("postpone a"))
	from, to := want.Due, at.Add(time.Hour)
	answers(t, s, "from another time", want, false)(s.Postpone(t.Context(), "postpone a", inc, at, to))
	answers(t, s, "of a stranger", want,
		false)(s.Postpone(t.Context(), "postpone a", stranger, from, to))
	want.Due = to
	answers(t, s, "postpone", want, true)(s.Postpone(t.Context(), "postpone a", inc, from, to))
	answers(t, s, "repeated", want, false)(s.Postpone(t.Context(), "postpone a", inc, from, to))
	ended, _ := check.Get2(fail(t, s, "postpone a", 1))
	answers(t, s, "after the end", ended,
		false)(s.Postpone(t.Context(), "postpone a", inc, ended.Due, to))
	create(t, s, newChain("postpone c"))
	done, _ := check.Get2(s.Apply(t.Context(), work("postpone c", -100, 1)))
	answers(t, s, "when it is done", done, false)(s.Postpone(t.Context(), "postpone c", inc, from, to))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("postpone b", 1, 1)))
	answers(t, s, "not due", orphan, false)(s.Postpone(t.Context(), "postpone b", inc, from, to))
}

func testPutOff(t *testing.T, s *xorack.Store) {
	create(t, s, newChain("put off a"))
	want, _ := check.Get2(fail(t, s, "put off a", 1))
	from, to := want.Due, want.Due.Add(time.Hour)
	answers(t, s, "from another time", want, false)(s.PutOff(t.Context(), "put off a", to, from))
	want.Due = to
	answers(t, s, "put off", want, true)(s.PutOff(t.Context(), "put off a", from, to))
	answers(t, s, "repeated", want, false)(s.PutOff(t.Context(), "put off a", from, to))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("put off b", 1, 1)))
	answers(t, s, "not due", orphan, false)(s.PutOff(t.Context(), "put off b", from, to))
}

func testSeal(t *testing.T, s *xorack.Store) {
	expires := at.Add(48 * time.Hour)
	open := create(t, s, newChain("seal a"))
	answers(t, s, "an open chain", open, false)(s.Seal(t.Context(), "seal a", inc, at, expires))
	want, _ := check.Get2(s.Apply(t.Context(), work("seal a", -100, 1)))
	answers(t, s, "of a stranger", want, false)(s.Seal(t.Context(), "seal a", stranger, at, expires))
	want.Recorded, want.EndedAt, want.Due, want.ExpiresOn = xorack.Done, at.Add(time.Minute),
		time.Time{}, expires
	answers(t, s, "done", want, true)(s.Seal(t.Context(), "seal a", inc, at.Add(time.Minute), expires))
	answers(t, s, "repeated", want,
		false)(s.Seal(t.Context(), "seal a", inc, at, expires.Add(time.Hour)))

	want = failed(create(t, s, newChain("seal b")), 1)
	check.Get2(fail(t, s, "seal b", 1))
	want.Due, want.ExpiresOn = time.Time{}, expires
	answers(t, s, "failed", want, true)(s.Seal(t.Context(), "seal b", inc, at, expires))

	// Zero, and not created: nothing has ended.
	check.Get2(s.Apply(t.Context(), work("seal c", -5, 1)))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("seal c", 5, 2)))
	answers(t, s, "an orphan at zero", orphan, false)(s.Seal(t.Context(), "seal c", inc, at, expires))
	same(t, "end", orphan.End(), xorack.Open)
}

func testSettle(t *testing.T, s *xorack.Store) {
	now := at.Add(time.Hour)
	want := put(t, s, newStamped("settle a", "mark01aa", "mark02aa"))
	same(t, "end", want.End(), xorack.Open)
	before, other := want, want
	before.Stamps = want.Stamps[:1]
	answers(t, s, "one stamp too few", want, false)(s.Settle(t.Context(), before, now))
	other.Incarnation = stranger
	answers(t, s, "of a stranger", want, false)(s.Settle(t.Context(), other, now))
	want.Recorded, want.EndedAt = xorack.Done, now
	answers(t, s, "settle", want, true)(s.Settle(t.Context(), want, now))
	answers(t, s, "repeated", want, false)(s.Settle(t.Context(), want, now))
	want.Due, want.ExpiresOn = time.Time{}, at.Add(48*time.Hour)
	answers(t, s, "sealed", want, true)(s.Seal(t.Context(), "settle a", inc, at, at.Add(48*time.Hour)))

	orphan := orphanStamps(t, s, "settle b", "mark01aa", "mark02aa")
	claimed := orphan
	claimed.Incarnation = inc
	answers(t, s, "not created", orphan, false)(s.Settle(t.Context(), claimed, now))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.Settle(t.Context(), newStamped("settle c"), now))
}

func testDue(t *testing.T, s *xorack.Store) {
	want := map[string]time.Time{}
	for n := range 40 {
		c := newChain(fmt.Sprint("due ", n))
		c.Due = at.Add(time.Duration(n/4) * time.Second)
		create(t, s, c)
		want[c.Tag] = c.Due
	}
	check.Get2(s.Postpone(t.Context(), "due 0", inc, at, at.Add(time.Hour)))
	delete(want, "due 0")
	check.Get2(s.Apply(t.Context(), work("due 1", -100, 1)))
	check.Get2(s.Seal(t.Context(), "due 1", inc, at, at.Add(time.Hour)))
	delete(want, "due 1")
	until := at.Add(8 * time.Second)
	for tag, due := range want {
		if due.After(until) {
			delete(want, tag)
		}
	}
	ddbtest.Settles(t, "due", func() map[string]time.Time { return allDue(t, s, "due ", until) }, want)
}

// allDue reads all parts, in pages of two, and checks their order. It returns the chains whose tags
// begin with a prefix: others are of other tests.
func allDue(t *testing.T, s *xorack.Store, prefix string, until time.Time) map[string]time.Time {
	t.Helper()
	got := map[string]time.Time{}
	for shard := range xorack.DueShards {
		var last xorack.Pending
		for {
			page := check.Get(s.Due(t.Context(), shard, until, last, 2))
			if len(page) == 0 {
				break
			}
			for _, one := range page {
				check.That(t, !one.Due.Before(last.Due), "part %d: %v is before %v", shard, one, last)
				_, twice := got[one.Tag]
				check.That(t, !twice, "part %d: %v is there twice", shard, one)
				last = one
				if strings.HasPrefix(one.Tag, prefix) {
					got[one.Tag] = one.Due
				}
			}
		}
	}
	return got
}

// testEndsAreDue: the end of a chain that was never created makes it due, or nobody would look for
// it.
func testEndsAreDue(t *testing.T, s *xorack.Store) {
	for what, end := range map[string]func(tag string) (xorack.Chain, bool, error){
		"failed":  func(tag string) (xorack.Chain, bool, error) { return fail(t, s, tag, 2) },
		"deleted": func(tag string) (xorack.Chain, bool, error) { return s.Delete(t.Context(), tag, op(2), at) },
	} {
		tag := "end " + what
		check.Get2(s.Apply(t.Context(), work(tag, 1, 1)))
		_, changed := check.Get2(end(tag))
		same(t, what, changed, true)
		ddbtest.Settles(t, "due", func() bool {
			return !allDue(t, s, "end ", at.Add(time.Minute))[tag].IsZero()
		}, true)
	}
}
