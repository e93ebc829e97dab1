package xorack

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

func testCreate(b *bench) {
	b.creates(newChain("create a"))
	plain := newChain("create b")
	plain.Idle, plain.Parent, plain.Sub = 0, Edge{}, false
	b.creates(plain)
	nested := newChain("create c")
	nested.Sub = false
	b.creates(nested)
}

func testCreateOverOrphans(b *bench) {
	orphan, applied := check.Get2(b.applies("over orphans a", -100, 1))
	same(b, "applied", applied, true)
	same(b, "orphan", orphan, Chain{
		Tag: "over orphans a", Incarnation: inc, Sum: sum(-100), Edges: 2, Ops: []Op{op(1)},
		Seen: at.Add(time.Minute), LastOp: op(1), ExpiresOn: at.Add(24 * time.Hour),
	})
	want := newChain("over orphans a")
	want.Sum, want.Edges, want.Ops, want.Seen = sum(0), 3, []Op{op(1)}, at.Add(time.Minute)
	b.made("created over it", want)(b.create(b.Context(), newChain("over orphans a")))
	same(b, "end", want.End(), Done)
}

// zeroOrphan is what two operations left that came before their chain.
func (b *bench) zeroOrphan(tag string) Chain {
	b.Helper()
	for i, n := range []int64{-100, 100} {
		check.Get2(b.applies(tag, n, i))
	}
	return b.standing(tag)
}

func testOrphanAtZero(b *bench) {
	orphan := b.zeroOrphan("zero a")
	same(b, "end", orphan.End(), Open)
	orphan.Sum, orphan.Edges, orphan.Ops, orphan.LastOp = sum(7), 6,
		[]Op{op(0), op(1), op(2)}, op(2)
	b.made("goes on", orphan)(b.applies("zero a", 7, 2))
}

func testCreateRefused(b *bench) {
	first := b.creates(newChain("refused a"))
	other := newChain("refused a")
	other.Options, other.Deadline, other.Created = [8]byte{1}, at.Add(2*time.Hour), at.Add(time.Second)
	b.not("created twice", first)(b.create(b.Context(), other))
	other.Incarnation = stranger
	b.not("by a stranger", first)(b.create(b.Context(), other))

	orphan, _ := check.Get2(b.applies("refused b", 5, 1))
	byStranger := newChain("refused b")
	byStranger.Incarnation = stranger
	b.not("over a stranger's orphan", orphan)(b.create(b.Context(), byStranger))
	stamped := b.puts(Chain{Tag: "refused d", Incarnation: inc, StampLen: 2,
		Stamps: [][]byte{[]byte("mark01aa")}})
	b.not("over stamps", stamped)(b.create(b.Context(), newChain("refused d")))

	failed, _ := check.Get2(b.fails("refused c", 1))
	b.not("after it failed", failed)(b.create(b.Context(), newChain("refused c")))
}

func testReplace(b *bench) {
	old := b.creates(newChain("replace a"))
	fresh := newChain("replace a")
	fresh.Incarnation, fresh.Sub = stranger, false
	b.not("a living one", old)(b.replace(b.Context(), fresh, old))

	// Sealed, with an expiry that is over when the next one is created.
	ended, _ := check.Get2(b.applies("replace a", -100, 1))
	sealed, _ := check.Get2(b.seal(b.Context(), "replace a", inc, ended.Seen, at.Add(48*time.Hour)))
	fresh.Created = at.Add(48*time.Hour - time.Second)
	b.not("a second before", sealed)(b.replace(b.Context(), fresh, sealed))
	fresh.Created = at.Add(48 * time.Hour)
	unseen := sealed
	unseen.Incarnation = Incarnation{4}
	b.not("another than was seen", sealed)(b.replace(b.Context(), fresh, unseen))
	b.made("expired", fresh)(b.replace(b.Context(), fresh, sealed))
	b.not("repeated", fresh)(b.replace(b.Context(), fresh, sealed))

	orphan, _ := check.Get2(b.applies("replace b", 5, 1))
	fresh.Tag = "replace b"
	b.made("an orphan", fresh)(b.replace(b.Context(), fresh, orphan))

	deleted := newStamped("replace c", "mark01aa")
	deleted.Recorded, deleted.LastOp, deleted.Due = Deleted, op(7), time.Time{}
	b.puts(deleted)
	fresh.Tag, unseen = "replace c", deleted
	unseen.LastOp = op(8)
	b.not("deleted by another", deleted)(b.replace(b.Context(), fresh, unseen))
	b.made("deleted", fresh)(b.replace(b.Context(), fresh, deleted))

	b.creates(newChain("replace d"))
	due, _ := check.Get2(b.delete(b.Context(), "replace d", op(7), at))
	fresh.Tag = "replace d"
	b.not("deleted, and not sealed", due)(b.replace(b.Context(), fresh, due))
	b.not("nothing", Chain{})(b.replace(b.Context(), newChain("replace e"), old))
}

// orphanStamps are stamps that came before their chain, each of two bytes.
func (b *bench) orphanStamps(tag string, stamps ...string) Chain {
	b.Helper()
	c := newStamped(tag, stamps...)
	c.Incarnation, c.Created, c.Due, c.Deadline = Incarnation{}, time.Time{},
		time.Time{}, time.Time{}
	c.Seen, c.ExpiresOn = at.Add(time.Minute), at.Add(24*time.Hour)
	return b.puts(c)
}

func testCreateStamps(b *bench) {
	b.creates(newStamped("create stamps a", "mark01aa"))
	orphan := b.orphanStamps("create stamps b", "mark01bb")
	want := newStamped("create stamps b", "mark01bb", "mark02cc")
	want.Seen = orphan.Seen
	fresh := newStamped("create stamps b", "mark02cc")
	b.made("created over it", want)(b.create(b.Context(), fresh))
}

func testCreateStampsRefused(b *bench) {
	first := b.creates(newStamped("stamps refused a", "mark01aa"))
	again := newStamped("stamps refused a", "mark02aa")
	b.not("twice", first)(b.create(b.Context(), again))
	other := newStamped("stamps refused a", "mark02bbb")
	other.StampLen, other.Incarnation = 3, stranger
	b.not("by a stranger", first)(b.create(b.Context(), other))

	orphan := b.orphanStamps("stamps refused b", "mark01aa")
	other.Tag = "stamps refused b"
	b.not("over orphans of another length", orphan)(b.create(b.Context(), other))
	left, _ := check.Get2(b.applies("stamps refused c", 5, 1))
	fresh := newStamped("stamps refused c", "mark01aa")
	b.not("over an orphan of edges", left)(b.create(b.Context(), fresh))
	failed, _ := check.Get2(b.fails("stamps refused d", 1))
	fresh.Tag = "stamps refused d"
	b.not("over a failed one", failed)(b.create(b.Context(), fresh))

	deleted := b.orphanStamps("stamps refused e", "mark01aa")
	deleted.Recorded, deleted.LastOp = Deleted, op(5)
	b.puts(deleted)
	fresh.Tag = "stamps refused e"
	b.not("after it was deleted", deleted)(b.create(b.Context(), fresh))
}

func testReplaceByStamps(b *bench) {
	deleted := newStamped("by stamps a", "mark01aa")
	deleted.Recorded, deleted.LastOp, deleted.Due = Deleted, op(7), time.Time{}
	b.puts(deleted)
	fresh := newStamped("by stamps a", "mark02bb")
	fresh.Incarnation = stranger
	b.made("deleted", fresh)(b.replace(b.Context(), fresh, deleted))
	b.not("repeated", fresh)(b.replace(b.Context(), fresh, deleted))

	orphan, _ := check.Get2(b.applies("by stamps b", 5, 1))
	fresh.Tag = "by stamps b"
	b.made("an orphan of edges", fresh)(b.replace(b.Context(), fresh, orphan))
}

func testApply(b *bench) {
	want := b.creates(newChain("apply a"))
	want.Sum, want.Edges, want.Ops = sum(130), 3, []Op{op(7)}
	want.Seen, want.LastOp = at.Add(time.Minute), op(7)
	b.made("first", want)(b.applies("apply a", 30, 7))
	want.Sum, want.Edges, want.Ops, want.LastOp = sum(0), 5, []Op{op(2), op(5), op(7)}, op(2)
	b.made("two, unsorted", want)(b.applies("apply a", -130, 5, 2))
	same(b, "end", want.End(), Done)
}

func testSplits(b *bench) {
	want := b.creates(newChain("splits a"))
	splits := adding("splits a", 30, 7)
	splits.Splits, splits.Before = [][4]byte{{9}, {0, 1}}, []Op{op(5)}
	want.Sum, want.Edges, want.Ops, want.Splits = sum(130), 3, []Op{op(7)},
		[][4]byte{{0, 1}, {9}}
	want.Seen, want.LastOp = at.Add(time.Minute), op(7)
	b.made("two splits", want)(b.apply(b.Context(), splits))
	splits = adding("splits a", 1, 8)
	splits.Splits, splits.Before = [][4]byte{{3}}, []Op{op(6), op(7)}
	b.not("after the end that it must come before", want)(b.apply(b.Context(), splits))
	splits.Splits, splits.Before = [][4]byte{{0, 1}, {3}}, nil
	want.Sum, want.Edges, want.Ops, want.LastOp = sum(131), 5, []Op{op(7), op(8)}, op(8)
	want.Splits = [][4]byte{{0, 1}, {3}, {9}}
	b.made("one that is there", want)(b.apply(b.Context(), splits))
}

func testApplyRefused(b *bench) {
	b.creates(newChain("work refused a"))
	one, _ := check.Get2(b.applies("work refused a", 1, 1))
	b.not("again", one)(b.applies("work refused a", 1, 1))
	b.not("one of two again", one)(b.applies("work refused a", 1, 2, 1))
	other := adding("work refused a", 1, 2)
	other.Incarnation = stranger
	b.not("of a stranger", one)(b.apply(b.Context(), other))
	done, _ := check.Get2(b.applies("work refused a", -101, 2))
	b.not("after the end", done)(b.applies("work refused a", 1, 3))

	stamped := b.puts(newStamped("work refused b", "mark01aa"))
	b.not("on stamps", stamped)(b.applies("work refused b", 1, 1))
}

func testHundred(b *bench) {
	b.creates(newChain("hundred a"))
	var ops []int
	for n := range maxMerge {
		ops = append(ops, n)
	}
	got, applied := check.Get2(b.applies("hundred a", 1, ops...))
	same(b, "applied", applied, true)
	same(b, "operations", len(got.Ops), maxMerge)
	w := adding("hundred a", 1, append(ops[1:], 1000)...)
	w.Room = 1000
	b.not("all but one again", got)(b.apply(b.Context(), w))
	b.creates(newChain("hundred b"))
	half := adding("hundred b", 1, ops[:maxMerge/2]...)
	half.Before = half.Ops
	_, applied = check.Get2(b.apply(b.Context(), half))
	same(b, "with as many that they come before", applied, true)
}

func testFull(b *bench) {
	b.creates(newChain("full a"))
	var full Chain
	for n := range 6 {
		c, applied := check.Get2(b.applies("full a", 1, n))
		same(b, "applied", applied, true)
		full = c
	}
	b.not("one too many", full)(b.applies("full a", 1, 6))
}

// edgeOf is an edge of a chain whose end leaves this mark.
func edgeOf(tag string, inc Incarnation, op Op) Edge {
	e := Edge{tag: tag, inc: inc}
	copy(e.id[:], op[:])
	return e
}

func (b *bench) fails(tag string, n int) (Chain, bool, error) {
	return b.fail(b.Context(), edgeOf(tag, inc, op(n)), "why", at.Add(time.Minute))
}

// failed is a chain after fail.
func failed(c Chain, n int) Chain {
	c.Recorded, c.Reason, c.LastOp = Failed, "why", op(n)
	c.EndedAt, c.Due, c.ExpiresOn = at.Add(time.Minute), at.Add(time.Minute), chains.Never
	return c
}

func testFail(b *bench) {
	want := failed(b.creates(newChain("fail a")), 1)
	b.made("fail", want)(b.fails("fail a", 1))
	b.not("repeated", want)(b.fails("fail a", 1))
	b.not("another", want)(b.fails("fail a", 2))
	b.not("and work", want)(b.applies("fail a", 1, 2))

	early := failed(Chain{Tag: "fail b", Incarnation: inc}, 1)
	b.made("before its creation", early)(b.fails("fail b", 1))

	b.creates(newChain("fail c"))
	one, _ := check.Get2(b.applies("fail c", 1, 1))
	b.not("an edge that ended", one)(b.fails("fail c", 1))
	other := edgeOf("fail c", stranger, op(2))
	b.not("of a stranger", one)(b.fail(b.Context(), other, "why", at.Add(time.Minute)))
	done, _ := check.Get2(b.applies("fail c", -101, 3))
	b.not("after the end", done)(b.fails("fail c", 2))

	zero := b.zeroOrphan("fail e")
	b.made("an orphan at zero", failed(zero, 2))(b.fails("fail e", 2))

	stamped := b.puts(newStamped("fail d", "mark01aa"))
	b.not("of stamps", stamped)(b.fails("fail d", 1))
}

func testDelete(b *bench) {
	now := at.Add(time.Minute)
	want := b.creates(newChain("delete a"))
	want.Recorded, want.LastOp, want.EndedAt, want.Due, want.ExpiresOn = Deleted, op(5), now,
		now, chains.Never
	b.made("delete", want)(b.delete(b.Context(), "delete a", op(5), now))
	b.not("repeated", want)(b.delete(b.Context(), "delete a", op(5), now))
	b.not("nothing", Chain{})(b.delete(b.Context(), "delete b", op(5), now))

	b.creates(newChain("delete c"))
	done, _ := check.Get2(b.applies("delete c", -100, 1))
	b.not("after the end", done)(b.delete(b.Context(), "delete c", op(5), now))

	orphan := b.zeroOrphan("delete d")
	orphan.Recorded, orphan.LastOp, orphan.EndedAt, orphan.Due, orphan.ExpiresOn = Deleted,
		op(5), now, now, chains.Never
	b.made("an orphan", orphan)(b.delete(b.Context(), "delete d", op(5), now))

	stamped := b.puts(newStamped("delete e", "mark01aa"))
	b.not("of stamps", stamped)(b.delete(b.Context(), "delete e", op(5), now))
}

func testExtend(b *bench) {
	want := b.creates(newChain("extend a"))
	later := at.Add(2 * time.Hour)
	want.Deadline = later
	b.made("extend", want)(b.extend(b.Context(), "extend a", inc, later))
	b.not("repeated", want)(b.extend(b.Context(), "extend a", inc, later))
	b.not("earlier", want)(b.extend(b.Context(), "extend a", inc, at))
	b.not("of a stranger", want)(b.extend(b.Context(), "extend a", stranger, later.Add(time.Hour)))
	ended, _ := check.Get2(b.fails("extend a", 1))
	b.not("after the end", ended)(b.extend(b.Context(), "extend a", inc, later.Add(time.Hour)))

	b.creates(newChain("extend d"))
	done, _ := check.Get2(b.applies("extend d", -100, 1))
	b.not("when it is done", done)(b.extend(b.Context(), "extend d", inc, later))

	orphan, _ := check.Get2(b.applies("extend b", 1, 1))
	b.not("not created", orphan)(b.extend(b.Context(), "extend b", inc, later))
	b.not("nothing", Chain{})(b.extend(b.Context(), "extend c", inc, later))
}

func (b *bench) timesOut(tag string, now time.Time) (Chain, bool, error) {
	return b.idles(tag, time.Time{}, now)
}

func (b *bench) idles(tag string, seen, now time.Time) (Chain, bool, error) {
	return b.timeOut(b.Context(), Chain{Tag: tag, Incarnation: inc}, "late", seen, now)
}

func testTimeOut(b *bench) {
	want := b.creates(newChain("time out a"))
	before, over := at.Add(time.Hour-time.Millisecond), at.Add(time.Hour)
	b.not("too early", want)(b.timesOut("time out a", before))
	other := Chain{Tag: "time out a", Incarnation: stranger}
	b.not("of a stranger", want)(b.timeOut(b.Context(), other, "late", time.Time{}, over))
	want.Recorded, want.Reason, want.EndedAt = TimedOut, "late", over
	b.made("time out", want)(b.timesOut("time out a", over))
	b.not("repeated", want)(b.timesOut("time out a", over))

	want = b.creates(newChain("time out b"))
	now := at.Add(time.Minute)
	b.not("progress meanwhile", want)(b.idles("time out b", at.Add(-time.Millisecond), now))
	want.Recorded, want.Reason, want.EndedAt = TimedOut, "late", now
	b.made("no progress", want)(b.idles("time out b", at, now))

	b.creates(newChain("time out c"))
	done, _ := check.Get2(b.applies("time out c", -100, 1))
	b.not("after the end", done)(b.timesOut("time out c", over))
	orphan, _ := check.Get2(b.applies("time out d", 1, 1))
	b.not("not created", orphan)(b.timesOut("time out d", over))
	b.not("not created, without progress", orphan)(b.idles("time out d", orphan.Seen, over))

	stamped := b.puts(newStamped("time out e", "mark01aa"))
	stamped.Recorded, stamped.Reason, stamped.EndedAt = TimedOut, "late", over
	b.made("of stamps", stamped)(b.timesOut("time out e", over))
}

func testPostpone(b *bench) {
	want := b.creates(newChain("postpone a"))
	from, to := want.Due, at.Add(time.Hour)
	b.not("from another time", want)(b.postpone(b.Context(), "postpone a", inc, at, to))
	b.not("of a stranger", want)(b.postpone(b.Context(), "postpone a", stranger, from, to))
	want.Due = to
	b.made("postpone", want)(b.postpone(b.Context(), "postpone a", inc, from, to))
	b.not("repeated", want)(b.postpone(b.Context(), "postpone a", inc, from, to))
	ended, _ := check.Get2(b.fails("postpone a", 1))
	b.not("after the end", ended)(b.postpone(b.Context(), "postpone a", inc, ended.Due, to))
	b.creates(newChain("postpone c"))
	done, _ := check.Get2(b.applies("postpone c", -100, 1))
	b.not("when it is done", done)(b.postpone(b.Context(), "postpone c", inc, from, to))
	orphan, _ := check.Get2(b.applies("postpone b", 1, 1))
	b.not("not due", orphan)(b.postpone(b.Context(), "postpone b", inc, from, to))
}

func testPutOff(b *bench) {
	b.creates(newChain("put off a"))
	want, _ := check.Get2(b.fails("put off a", 1))
	from, to := want.Due, want.Due.Add(time.Hour)
	b.not("from another time", want)(b.putOff(b.Context(), "put off a", to, from))
	want.Due = to
	b.made("put off", want)(b.putOff(b.Context(), "put off a", from, to))
	b.not("repeated", want)(b.putOff(b.Context(), "put off a", from, to))
	orphan, _ := check.Get2(b.applies("put off b", 1, 1))
	b.not("not due", orphan)(b.putOff(b.Context(), "put off b", from, to))
}

func testSeal(b *bench) {
	expires := at.Add(48 * time.Hour)
	open := b.creates(newChain("seal a"))
	b.not("an open chain", open)(b.seal(b.Context(), "seal a", inc, at, expires))
	want, _ := check.Get2(b.applies("seal a", -100, 1))
	b.not("of a stranger", want)(b.seal(b.Context(), "seal a", stranger, at, expires))
	want.Recorded, want.EndedAt, want.Due, want.ExpiresOn = Done, at.Add(time.Minute),
		time.Time{}, expires
	b.made("done", want)(b.seal(b.Context(), "seal a", inc, at.Add(time.Minute), expires))
	b.not("repeated", want)(b.seal(b.Context(), "seal a", inc, at, expires.Add(time.Hour)))

	want = failed(b.creates(newChain("seal b")), 1)
	check.Get2(b.fails("seal b", 1))
	want.Due, want.ExpiresOn = time.Time{}, expires
	b.made("failed", want)(b.seal(b.Context(), "seal b", inc, at, expires))

	// Zero, and not created: nothing has ended.
	check.Get2(b.applies("seal c", -5, 1))
	orphan, _ := check.Get2(b.applies("seal c", 5, 2))
	b.not("an orphan at zero", orphan)(b.seal(b.Context(), "seal c", inc, at, expires))
	same(b, "end", orphan.End(), Open)
}

func testSettle(b *bench) {
	now := at.Add(time.Hour)
	want := b.puts(newStamped("settle a", "mark01aa", "mark02aa"))
	same(b, "end", want.End(), Open)
	before, other := want, want
	before.Stamps = want.Stamps[:1]
	b.not("one stamp too few", want)(b.settle(b.Context(), before, now))
	other.Incarnation = stranger
	b.not("of a stranger", want)(b.settle(b.Context(), other, now))
	want.Recorded, want.EndedAt = Done, now
	b.made("settle", want)(b.settle(b.Context(), want, now))
	b.not("repeated", want)(b.settle(b.Context(), want, now))
	want.Due, want.ExpiresOn = time.Time{}, at.Add(48*time.Hour)
	b.made("sealed", want)(b.seal(b.Context(), "settle a", inc, at, at.Add(48*time.Hour)))

	orphan := b.orphanStamps("settle b", "mark01aa", "mark02aa")
	claimed := orphan
	claimed.Incarnation = inc
	b.not("not created", orphan)(b.settle(b.Context(), claimed, now))
	b.not("nothing", Chain{})(b.settle(b.Context(), newStamped("settle c"), now))
}

func testDue(b *bench) {
	want := map[string]time.Time{}
	for n := range 40 {
		c := newChain(fmt.Sprint("due ", n))
		c.Due = at.Add(time.Duration(n/4) * time.Second)
		b.creates(c)
		want[c.Tag] = c.Due
	}
	check.Get2(b.postpone(b.Context(), "due 0", inc, at, at.Add(time.Hour)))
	delete(want, "due 0")
	check.Get2(b.applies("due 1", -100, 1))
	check.Get2(b.seal(b.Context(), "due 1", inc, at, at.Add(time.Hour)))
	delete(want, "due 1")
	until := at.Add(8 * time.Second)
	for tag, due := range want {
		if due.After(until) {
			delete(want, tag)
		}
	}
	ddbtest.Settles(b, "due", func() map[string]time.Time { return b.allDue("due ", until) }, want)
}

// allDue reads all parts, in pages of two, and checks their order. It returns the chains whose tags
// begin with a prefix: others are of other tests.
func (b *bench) allDue(prefix string, until time.Time) map[string]time.Time {
	b.Helper()
	got := map[string]time.Time{}
	for shard := range chains.DueShards {
		var last Pending
		for {
			page := check.Get(b.due(b.Context(), shard, until, last, 2))
			if len(page) == 0 {
				break
			}
			for _, one := range page {
				check.That(b, !one.Due.Before(last.Due), "part %d: %v is before %v", shard, one, last)
				_, twice := got[one.Tag]
				check.That(b, !twice, "part %d: %v is there twice", shard, one)
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
func testEndsAreDue(b *bench) {
	for what, end := range map[string]func(tag string) (Chain, bool, error){
		"failed":  func(tag string) (Chain, bool, error) { return b.fails(tag, 2) },
		"deleted": func(tag string) (Chain, bool, error) { return b.delete(b.Context(), tag, op(2), at) },
	} {
		tag := "end " + what
		check.Get2(b.applies(tag, 1, 1))
		_, changed := check.Get2(end(tag))
		same(b, what, changed, true)
		ddbtest.Settles(b, "due", func() bool {
			return !b.allDue("end ", at.Add(time.Minute))[tag].IsZero()
		}, true)
	}
}
