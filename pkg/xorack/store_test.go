package xorack_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/clause"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// at is a moment that all parts of the table keep exactly. It is far ahead: a chain whose time has
// come may be deleted at any moment.
var at = time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)

// TestStore holds the Store on each engine to what its methods say. All tests share a table: each
// has tags of its own.
func TestStore(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		names := xorack.Names{Chains: "chains" + ddbtest.Suffix()}
		s := xorack.NewStore(ddbtest.Open(t, kind, unstreamed(names)), names)
		for _, c := range []struct {
			name string
			test func(*testing.T, *xorack.Store)
		}{
			{"create", testCreate},
			{"create over orphans", testCreateOverOrphans},
			{"orphan at zero", testOrphanAtZero},
			{"create refused", testCreateRefused},
			{"replace", testReplace},
			{"create stamps", testCreateStamps},
			{"create stamps refused", testCreateStampsRefused},
			{"replace by stamps", testReplaceByStamps},
			{"apply", testApply},
			{"apply refused", testApplyRefused},
			{"a hundred at once", testHundred},
			{"splits", testSplits},
			{"full", testFull},
			{"fail", testFail},
			{"extend", testExtend},
			{"time out", testTimeOut},
			{"postpone", testPostpone},
			{"put off", testPutOff},
			{"delete", testDelete},
			{"seal", testSeal},
			{"settle", testSettle},
			{"due", testDue},
			{"ends are due", testEndsAreDue},
			{"sums", testSums},
			{"tags", testTags},
			{"no chain", testNoChain},
			{"ended context", testEndedContext},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, s) })
		}
	})
}

// unstreamed is the table without its stream: nobody reads it here, and dynoxide's writes get
// slower with each record in one.
func unstreamed(names xorack.Names) table.Definition {
	definition := names.Tables()[0]
	definition.Stream = table.NoStream
	return definition
}

// inMemory is a table in memory, and the Store on it.
func inMemory(t testing.TB) (*ddb.Memory, *xorack.Store) {
	t.Helper()
	memory := ddb.NewMemory(xorack.Names{}.Tables()...)
	return memory, xorack.NewStore(clause.Layer(memory), xorack.Names{})
}

// chainItems are the items of all chains of such a table, by their tags.
func chainItems(memory *ddb.Memory) map[string]ddb.Item {
	items := map[string]ddb.Item{}
	for _, it := range memory.Items(xorack.Names{}.Tables()[0].Name) {
		items[it.Get("tag").Str()] = it
	}
	return items
}

// inc is the incarnation of all chains of edges of these tests but strangers.
var inc = xorack.Incarnation{1, 2, 3, 4, 5, 6, 7, 8}

// stranger is another one.
var stranger = xorack.Incarnation{9, 9, 9, 9, 9, 9, 9, 9}

func op(n int) xorack.Op { return xorack.Op{0, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)} }

func sum(n int64) xorack.Sum {
	if n < 0 {
		return xorack.Sum{}.Minus(xorack.Sum{Lo: uint64(-n)})
	}
	return xorack.Sum{Lo: uint64(n)}
}

// newChain is a chain of edges at its creation, with all that it may have.
func newChain(tag string) xorack.Chain {
	return xorack.Chain{
		Tag: tag, Incarnation: inc, Sum: sum(100), Edges: 1, Created: at, Options: [8]byte{7, 7},
		Deadline: at.Add(time.Hour), Idle: 1500 * time.Millisecond, Seen: at,
		Due:    at.Add(1500 * time.Millisecond),
		LastOp: xorack.Op(inc), ExpiresOn: xorack.Never, Parent: xorack.Root("parent", "", 3), Sub: true,
	}
}

// newStamped is a chain of stamps, each behind its mark.
func newStamped(tag string, stamps ...string) xorack.Chain {
	c := xorack.Chain{
		Tag: tag, Incarnation: inc, StampLen: 2, Created: at,
		Deadline: at.Add(time.Hour), Seen: at, Due: at.Add(time.Hour), ExpiresOn: xorack.Never,
	}
	for _, stamp := range stamps {
		c.Stamps = append(c.Stamps, []byte(stamp))
	}
	return c
}

// work is operations that add n to the sum.
func work(tag string, n int64, ops ...int) xorack.Work {
	w := xorack.Work{
		Tag: tag, Incarnation: inc, Delta: sum(n), Edges: 2, Room: 5,
		Now: at.Add(time.Minute), Orphan: at.Add(24 * time.Hour),
	}
	for _, n := range ops {
		w.Ops = append(w.Ops, op(n))
	}
	return w
}

// same fails the test where two values differ.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	check.Is(t, cmp.Diff(want, got, cmp.Comparer(func(a, b xorack.Edge) bool {
		return a == b
	})), "", what)
}

// answers fails the test unless a write answers with this chain and this word on whether it changed
// it, and the chain stands there.
func answers(t *testing.T, s *xorack.Store, what string, want xorack.Chain,
	changes bool) func(xorack.Chain, bool, error) {
	t.Helper()
	return func(got xorack.Chain, changed bool, err error) {
		t.Helper()
		check.OK(t, err)
		same(t, what+": changed", changed, changes)
		same(t, what, got, want)
		if want.Exists() {
			same(t, what+": standing", standing(t, s, want.Tag), want)
		}
	}
}

func standing(t *testing.T, s *xorack.Store, tag string) xorack.Chain {
	t.Helper()
	return check.Get(s.Chain(t.Context(), tag))
}

func create(t *testing.T, s *xorack.Store, c xorack.Chain) xorack.Chain {
	t.Helper()
	answers(t, s, "create", c, true)(s.Create(t.Context(), c))
	return c
}

// put stores a chain of stamps, which package stamps makes.
func put(t *testing.T, s *xorack.Store, c xorack.Chain) xorack.Chain {
	t.Helper()
	check.OK(t, s.Put(t.Context(), c))
	same(t, "standing", standing(t, s, c.Tag), c)
	return c
}

func testSums(t *testing.T, s *xorack.Store) {
	big := xorack.Sum{Hi: 1<<40 + 12345, Lo: 0x123456789abcdef0}
	var total xorack.Sum
	for i, n := range []xorack.Sum{big, sum(-1), sum(0).Minus(big).Minus(big),
		{Hi: -1, Lo: 0}, sum(7)} {
		w := work("sums a", 0, i)
		w.Delta = n
		c, applied := check.Get2(s.Apply(t.Context(), w))
		total = total.Plus(n)
		same(t, "applied", applied, true)
		same(t, fmt.Sprint("sum ", i), c.Sum, total)
	}
}

func testTags(t *testing.T, s *xorack.Store) {
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

func testNoChain(t *testing.T, s *xorack.Store) {
	same(t, "chain", standing(t, s, "none a"), xorack.Chain{})
	check.Get2(timeOut(t, s, "none a", at))
	check.Get2(s.Seal(t.Context(), "none a", inc, at, at))
	check.Get2(s.Settle(t.Context(), newStamped("none a"), at))
	check.Get2(s.Postpone(t.Context(), "none a", inc, at, at))
	same(t, "still none", standing(t, s, "none a"), xorack.Chain{})
}

func testEndedContext(t *testing.T, s *xorack.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.Create(ctx, newChain("ended context"))
	check.Fails(t, err, context.Canceled, "create")
	_, _, err = s.Apply(ctx, work("ended context", 1, 1))
	check.Fails(t, err, context.Canceled, "apply")
	check.Fails(t, check.Err(s.Chain(ctx, "ended context")), context.Canceled)
	check.Fails(t, check.Err(s.Due(ctx, 0, at, xorack.Pending{}, 1)), context.Canceled)
	same(t, "chain", standing(t, s, "ended context"), xorack.Chain{})
}

// outcome is the answer to a write.
type outcome struct {
	xorack.Chain
	changed bool
	err     error
}

func got(c xorack.Chain, changed bool, err error) outcome { return outcome{c, changed, err} }

// writes are all writes, each with what makes an item that it changes.
func writes(t *testing.T) map[string]struct{ before, write func(*xorack.Store) outcome } {
	ctx := t.Context()
	over := at.Add(time.Hour)
	orphan := func(s *xorack.Store) outcome { return got(s.Apply(ctx, work("t", -100, 1))) }
	created := func(s *xorack.Store) outcome { return got(s.Create(ctx, newChain("t"))) }
	failed := func(s *xorack.Store) outcome { created(s); return got(fail(t, s, "t", 1)) }
	stamped := func(s *xorack.Store) outcome {
		return outcome{err: s.Put(ctx, newStamped("t", "mark01aa"))}
	}
	deleted := func(s *xorack.Store) outcome {
		c := newStamped("t", "mark01aa")
		c.Recorded, c.LastOp, c.Due = xorack.Deleted, op(7), time.Time{}
		return outcome{err: s.Put(ctx, c)}
	}
	next := newChain("t")
	next.Incarnation = stranger
	return map[string]struct{ before, write func(*xorack.Store) outcome }{
		"create":  {orphan, created},
		"replace": {orphan, func(s *xorack.Store) outcome { return got(s.Replace(ctx, next, xorack.Chain{Incarnation: inc})) }},
		"replace what was deleted": {deleted, func(s *xorack.Store) outcome {
			return got(s.Replace(ctx, next, xorack.Chain{Recorded: xorack.Deleted, LastOp: op(7)}))
		}},
		"create of stamps": {
			func(s *xorack.Store) outcome {
				before := newStamped("t", "mark02aa")
				before.Incarnation, before.Created = xorack.Incarnation{}, time.Time{}
				return outcome{err: s.Put(ctx, before)}
			},
			func(s *xorack.Store) outcome { return got(s.Create(ctx, newStamped("t", "mark01aa"))) },
		},
		"apply":       {created, orphan},
		"fail":        {created, func(s *xorack.Store) outcome { return got(fail(t, s, "t", 1)) }},
		"extend":      {created, func(s *xorack.Store) outcome { return got(s.Extend(ctx, "t", inc, over.Add(time.Hour))) }},
		"time out":    {created, func(s *xorack.Store) outcome { return got(timeOut(t, s, "t", over)) }},
		"no progress": {created, func(s *xorack.Store) outcome { return got(idle(t, s, "t", at, at)) }},
		"postpone":    {created, func(s *xorack.Store) outcome { return got(s.Postpone(ctx, "t", inc, newChain("t").Due, over)) }},
		"put off":     {created, func(s *xorack.Store) outcome { return got(s.PutOff(ctx, "t", newChain("t").Due, over)) }},
		"delete":      {created, func(s *xorack.Store) outcome { return got(s.Delete(ctx, "t", op(1), at)) }},
		"seal":        {failed, func(s *xorack.Store) outcome { return got(s.Seal(ctx, "t", inc, at, over)) }},
		"settle":      {stamped, func(s *xorack.Store) outcome { return got(s.Settle(ctx, newStamped("t", "mark01aa"), at)) }},
	}
}

// TestNewerLayoutIsNotWritten: an item that a later version wrote stays as it is under each write,
// which would change it if it were of this layout.
func TestNewerLayoutIsNotWritten(t *testing.T) {
	for name, c := range writes(t) {
		t.Run(name, func(t *testing.T) {
			_, s := inMemory(t)
			check.OK(t, c.before(s).err)
			a := c.write(s)
			check.Need(t, a.changed && a.err == nil, "of this layout: changed %v, %v", a.changed, a.err)
			memory, s := inMemory(t)
			check.OK(t, c.before(s).err)
			newer := layout(t, memory, 2)
			if a := c.write(s); a.changed || !errors.Is(a.err, table.ErrNewerLayout) {
				t.Errorf("changed %v, %v", a.changed, a.err)
			}
			is := chainItems(memory)["t"]
			check.That(t, is.Equal(newer), "it was %v, and is %v", newer, is)
			check.Fails(t, check.Err(s.Chain(t.Context(), "t")), table.ErrNewerLayout)
		})
	}
}

// TestOlderLayoutStays: a change of an item does not convert it to this layout.
func TestOlderLayoutStays(t *testing.T) {
	for name, c := range writes(t) {
		memory, s := inMemory(t)
		check.OK(t, c.before(s).err)
		layout(t, memory, 0)
		check.OK(t, c.write(s).err)
		v, _ := chainItems(memory)["t"].Get("v").Int64()
		check.That(t, v == 0 || strings.HasPrefix(name, "replace"), "after %s: layout %d", name, v)
	}
}

// layout gives the chain's item another layout, and returns it.
func layout(t *testing.T, memory *ddb.Memory, v int64) ddb.Item {
	t.Helper()
	it := chainItems(memory)["t"].Merge(ddb.Fields{"v": ddb.Int(v)}.Item())
	check.OK(t,
		check.Err(memory.Do(t.Context(),
			ddb.Put{Op: ddb.Op{Table: &xorack.Names{}.Tables()[0]}, Item: it})))
	return it
}

// TestNothingLeftOfTheIndex: the record of an ended chain keeps no attribute of the index that it
// has left.
func TestNothingLeftOfTheIndex(t *testing.T) {
	memory, s := inMemory(t)
	c := writes(t)["seal"]
	check.OK(t, c.before(s).err)
	check.OK(t, c.write(s).err)
	it := chainItems(memory)["t"]
	check.That(t, it.Exists() && !it.Has("due") && !it.Has("dueShard"), "%v", it)
}
