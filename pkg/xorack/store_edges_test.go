package xorack_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
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
	orphan.Sum, orphan.Edges, orphan.Ops, orphan.LastOp = sum(7), 6, []xorack.Op{op(0), op(1), op(2)}, op(2)
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
	stamped := put(t, s, xorack.Chain{Tag: "refused d", Incarnation: inc, StampLen: 2, Stamps: [][]byte{[]byte("mark01aa")}})
	answers(t, s, "over stamps", stamped, false)(s.Create(t.Context(), newChain("refused d")))

	failed, _ := check.Get2(s.Fail(t.Context(), failure("refused c", 1)))
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
	want.Sum, want.Edges, want.Ops, want.Splits = sum(130), 3, []xorack.Op{op(7)}, [][4]byte{{0, 1}, {9}}
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
	answers(t, s, "one of two again", one, false)(s.Apply(t.Context(), work("work refused a", 1, 2, 1)))
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

func failure(tag string, n int) xorack.Failure {
	return xorack.Failure{Tag: tag, Incarnation: inc, Op: op(n), Reason: "why", Now: at.Add(time.Minute)}
}

// failed is a chain after failure.
func failed(c xorack.Chain, n int) xorack.Chain {
	c.Recorded, c.Reason, c.LastOp = xorack.Failed, "why", op(n)
	c.EndedAt, c.Due, c.ExpiresOn = at.Add(time.Minute), at.Add(time.Minute), xorack.Never
	return c
}

func testFail(t *testing.T, s *xorack.Store) {
	want := failed(create(t, s, newChain("fail a")), 1)
	answers(t, s, "fail", want, true)(s.Fail(t.Context(), failure("fail a", 1)))
	answers(t, s, "repeated", want, false)(s.Fail(t.Context(), failure("fail a", 1)))
	answers(t, s, "another", want, false)(s.Fail(t.Context(), failure("fail a", 2)))
	answers(t, s, "and work", want, false)(s.Apply(t.Context(), work("fail a", 1, 2)))

	early := failed(xorack.Chain{Tag: "fail b", Incarnation: inc}, 1)
	answers(t, s, "before its creation", early, true)(s.Fail(t.Context(), failure("fail b", 1)))

	create(t, s, newChain("fail c"))
	one, _ := check.Get2(s.Apply(t.Context(), work("fail c", 1, 1)))
	answers(t, s, "an edge that ended", one, false)(s.Fail(t.Context(), failure("fail c", 1)))
	other := failure("fail c", 2)
	other.Incarnation = stranger
	answers(t, s, "of a stranger", one, false)(s.Fail(t.Context(), other))
	done, _ := check.Get2(s.Apply(t.Context(), work("fail c", -101, 3)))
	answers(t, s, "after the end", done, false)(s.Fail(t.Context(), failure("fail c", 2)))

	zero := zeroOrphan(t, s, "fail e")
	answers(t, s, "an orphan at zero", failed(zero, 2), true)(s.Fail(t.Context(), failure("fail e", 2)))

	stamped := put(t, s, newStamped("fail d", "mark01aa"))
	answers(t, s, "of stamps", stamped, false)(s.Fail(t.Context(), failure("fail d", 1)))
}

func testDelete(t *testing.T, s *xorack.Store) {
	now := at.Add(time.Minute)
	want := create(t, s, newChain("delete a"))
	want.Recorded, want.LastOp, want.EndedAt, want.Due, want.ExpiresOn = xorack.Deleted, op(5), now, now, xorack.Never
	answers(t, s, "delete", want, true)(s.Delete(t.Context(), "delete a", op(5), now))
	answers(t, s, "repeated", want, false)(s.Delete(t.Context(), "delete a", op(5), now))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.Delete(t.Context(), "delete b", op(5), now))

	create(t, s, newChain("delete c"))
	done, _ := check.Get2(s.Apply(t.Context(), work("delete c", -100, 1)))
	answers(t, s, "after the end", done, false)(s.Delete(t.Context(), "delete c", op(5), now))

	orphan := zeroOrphan(t, s, "delete d")
	orphan.Recorded, orphan.LastOp, orphan.EndedAt, orphan.Due, orphan.ExpiresOn = xorack.Deleted, op(5), now, now, xorack.Never
	answers(t, s, "an orphan", orphan, true)(s.Delete(t.Context(), "delete d", op(5), now))

	stamped := put(t, s, newStamped("delete e", "mark01aa"))
	answers(t, s, "of stamps", stamped, false)(s.Delete(t.Context(), "delete e", op(5), now))
}
