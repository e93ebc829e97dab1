package xorack

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
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// at is a moment that all parts of the table keep exactly. It is far ahead: a chain whose time has
// come may be deleted at any moment.
var at = time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)

// TestStore holds the Store on each engine to what its methods say. All tests share a table: each
// has tags of its own.
func TestStore(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		names := Names{Chains: "chains" + ddbtest.Suffix()}
		definition := names.Tables()[0]
		// Nobody reads its stream here, and dynoxide's writes get slower with each record in one.
		definition.Stream = table.NoStream
		s := NewStore(ddbtest.Open(t, kind, definition), names)
		for _, c := range []struct {
			name string
			test func(*bench)
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
			t.Run(c.name, func(t *testing.T) { c.test(&bench{t, s}) })
		}
	})
}

// bench is a Store under test.
type bench struct {
	*testing.T
	*Store
}

// inMemory is a Store on a table in memory.
func inMemory(t *testing.T) (*ddb.Memory, *bench) {
	memory := ddb.NewMemory(Names{}.Tables()...)
	return memory, &bench{t, NewStore(clause.Layer(memory), Names{})}
}

// itemOf is the only item of such a table.
func itemOf(memory *ddb.Memory) ddb.Item { return memory.Items(Names{}.Tables()[0].Name)[0] }

// inc is the incarnation of all chains of edges of these tests but strangers.
var inc = Incarnation{1, 2, 3, 4, 5, 6, 7, 8}

// stranger is another one.
var stranger = Incarnation{9, 9, 9, 9, 9, 9, 9, 9}

func op(n int) Op { return Op{0, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)} }

func sum(n int64) Sum {
	if n < 0 {
		return Sum{}.minus(Sum{Lo: uint64(-n)})
	}
	return Sum{Lo: uint64(n)}
}

// newChain is a chain of edges at its creation, with all that it may have.
func newChain(tag string) Chain {
	return Chain{
		Tag: tag, Incarnation: inc, Sum: sum(100), Edges: 1, Created: at, Options: [8]byte{7, 7},
		Deadline: at.Add(time.Hour), Idle: 1500 * time.Millisecond, Seen: at,
		Due:    at.Add(1500 * time.Millisecond),
		LastOp: Op(inc), ExpiresOn: chains.Never, Parent: Root("parent", "", 3), Sub: true,
	}
}

// newStamped is a chain of stamps, each behind its mark.
func newStamped(tag string, stamps ...string) Chain {
	c := Chain{
		Tag: tag, Incarnation: inc, StampLen: 2, Created: at,
		Deadline: at.Add(time.Hour), Seen: at, Due: at.Add(time.Hour), ExpiresOn: chains.Never,
	}
	for _, stamp := range stamps {
		c.Stamps = append(c.Stamps, []byte(stamp))
	}
	return c
}

// adding is operations that add n to the sum.
func adding(tag string, n int64, ops ...int) work {
	w := work{
		Tag: tag, Incarnation: inc, Delta: sum(n), Edges: 2, Room: 5,
		Now: at.Add(time.Minute), Orphan: at.Add(24 * time.Hour),
	}
	for _, n := range ops {
		w.Ops = append(w.Ops, op(n))
	}
	return w
}

func (b *bench) applies(tag string, n int64, ops ...int) (Chain, bool, error) {
	return b.apply(b.Context(), adding(tag, n, ops...))
}

func same[T any](b *bench, what string, got, want T) {
	b.Helper()
	check.Is(b, cmp.Diff(want, got, cmp.AllowUnexported(Edge{})), "", what)
}

// answers fails the test unless a write answers with this chain and this word on whether it changed
// it, and the chain stands there.
func (b *bench) answers(what string, want Chain, changes bool) func(Chain, bool, error) {
	return func(got Chain, changed bool, err error) {
		b.Helper()
		check.OK(b, err)
		same(b, what+": changed", changed, changes)
		same(b, what, got, want)
		if want.Exists() {
			same(b, what+": standing", b.standing(want.Tag), want)
		}
	}
}

func (b *bench) made(what string, want Chain) func(Chain, bool, error) {
	return b.answers(what, want, true)
}

func (b *bench) not(what string, want Chain) func(Chain, bool, error) {
	return b.answers(what, want, false)
}

func (b *bench) standing(tag string) Chain {
	b.Helper()
	return check.Get(b.Chain(b.Context(), tag))
}

func (b *bench) creates(c Chain) Chain {
	b.Helper()
	b.made("create", c)(b.create(b.Context(), c))
	return c
}

// puts stores a chain of stamps, as package stamps does.
func (b *bench) puts(c Chain) Chain {
	b.Helper()
	beside := []ddb.Action{chains.Tag.Set(ddb.Text(c.Tag)), chains.Sum.Remove(), chains.Edges.Remove(),
		chains.Options.Remove()}
	if !c.Due.IsZero() {
		beside = append(beside, chains.DueShard.Set(ddb.Int(chains.DueShardOf(c.Tag))))
	}
	check.Get(b.table.Engine.Do(b.Context(),
		ddb.Put{Op: b.table.Op("put"), Item: codec.Item(&c, beside...)}))
	same(b, "standing", b.standing(c.Tag), c)
	return c
}

func testSums(b *bench) {
	big := Sum{Hi: 1<<40 + 12345, Lo: 0x123456789abcdef0}
	var total Sum
	for i, n := range []Sum{big, sum(-1), sum(0).minus(big).minus(big),
		{Hi: -1, Lo: 0}, sum(7)} {
		w := adding("sums a", 0, i)
		w.Delta = n
		c, applied := check.Get2(b.apply(b.Context(), w))
		total = total.plus(n)
		same(b, "applied", applied, true)
		same(b, fmt.Sprint("sum ", i), c.Sum, total)
	}
}

func testTags(b *bench) {
	tags := []string{"é ← \u0000\n\"", strings.Repeat("x", MaxTag), "a", "A", "a ", "ａ"}
	for i, tag := range tags {
		c := newChain(tag)
		c.Edges = int64(i + 1)
		b.creates(c)
	}
	for i, tag := range tags {
		same(b, "edges", b.standing(tag).Edges, int64(i+1))
	}
}

func testNoChain(b *bench) {
	same(b, "chain", b.standing("none a"), Chain{})
	check.Get2(b.timesOut("none a", at))
	check.Get2(b.seal(b.Context(), "none a", inc, at, at))
	check.Get2(b.settle(b.Context(), newStamped("none a"), at))
	check.Get2(b.postpone(b.Context(), "none a", inc, at, at))
	same(b, "still none", b.standing("none a"), Chain{})
}

func testEndedContext(b *bench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	_, _, err := b.create(ctx, newChain("ended context"))
	check.Fails(b, err, context.Canceled, "create")
	_, _, err = b.apply(ctx, adding("ended context", 1, 1))
	check.Fails(b, err, context.Canceled, "apply")
	check.Fails(b, check.Err(b.Chain(ctx, "ended context")), context.Canceled)
	check.Fails(b, check.Err(b.due(ctx, 0, at, Pending{}, 1)), context.Canceled)
	same(b, "chain", b.standing("ended context"), Chain{})
}

type write = func(*bench) (Chain, bool, error)

// writes are all writes, each with what makes an item that it changes.
func writes() map[string]struct{ before, write write } {
	over := at.Add(time.Hour)
	stamped, unborn, deleted, next := newStamped("t", "mark01aa"), newStamped("t", "mark02aa"),
		newStamped("t", "mark01aa"), newChain("t")
	unborn.Incarnation, unborn.Created = Incarnation{}, time.Time{}
	deleted.Recorded, deleted.LastOp, deleted.Due = Deleted, op(7), time.Time{}
	next.Incarnation = stranger
	puts := func(c Chain) write {
		return func(b *bench) (Chain, bool, error) { return b.puts(c), true, nil }
	}
	creates := func(c Chain) write {
		return func(b *bench) (Chain, bool, error) { return b.create(b.Context(), c) }
	}
	replaces := func(seen Chain) write {
		return func(b *bench) (Chain, bool, error) { return b.replace(b.Context(), next, seen) }
	}
	created := creates(newChain("t"))
	orphan := func(b *bench) (Chain, bool, error) { return b.applies("t", -100, 1) }
	failed := func(b *bench) (Chain, bool, error) {
		check.Get2(created(b))
		return b.fails("t", 1)
	}
	return map[string]struct{ before, write write }{
		"create":                   {orphan, created},
		"replace":                  {orphan, replaces(Chain{Incarnation: inc})},
		"replace what was deleted": {puts(deleted), replaces(Chain{Recorded: Deleted, LastOp: op(7)})},
		"create of stamps":         {puts(unborn), creates(stamped)},
		"apply":                    {created, orphan},
		"fail":                     {created, func(b *bench) (Chain, bool, error) { return b.fails("t", 1) }},
		"extend":                   {created, func(b *bench) (Chain, bool, error) { return b.extend(b.Context(), "t", inc, over.Add(time.Hour)) }},
		"time out":                 {created, func(b *bench) (Chain, bool, error) { return b.timesOut("t", over) }},
		"no progress":              {created, func(b *bench) (Chain, bool, error) { return b.idles("t", at, at) }},
		"postpone":                 {created, func(b *bench) (Chain, bool, error) { return b.postpone(b.Context(), "t", inc, newChain("t").Due, over) }},
		"put off":                  {created, func(b *bench) (Chain, bool, error) { return b.putOff(b.Context(), "t", newChain("t").Due, over) }},
		"delete":                   {created, func(b *bench) (Chain, bool, error) { return b.delete(b.Context(), "t", op(1), at) }},
		"seal":                     {failed, func(b *bench) (Chain, bool, error) { return b.seal(b.Context(), "t", inc, at, over) }},
		"settle":                   {puts(stamped), func(b *bench) (Chain, bool, error) { return b.settle(b.Context(), stamped, at) }},
	}
}

// TestNewerLayoutIsNotWritten: an item that a later version wrote stays as it is under each write,
// which would change it if it were of this layout.
func TestNewerLayoutIsNotWritten(t *testing.T) {
	for name, c := range writes() {
		t.Run(name, func(t *testing.T) {
			_, b := inMemory(t)
			check.Get2(c.before(b))
			_, changed, err := c.write(b)
			check.Need(t, changed && err == nil, "of this layout: changed %v, %v", changed, err)
			memory, b := inMemory(t)
			check.Get2(c.before(b))
			newer := layout(t, memory, 2)
			if _, changed, err := c.write(b); changed || !errors.Is(err, table.ErrNewerLayout) {
				t.Errorf("changed %v, %v", changed, err)
			}
			is := itemOf(memory)
			check.That(t, is.Equal(newer), "it was %v, and is %v", newer, is)
			check.Fails(t, check.Err(b.Chain(t.Context(), "t")), table.ErrNewerLayout)
		})
	}
}

// TestOlderLayoutStays: a change of an item does not convert it to this layout.
func TestOlderLayoutStays(t *testing.T) {
	for name, c := range writes() {
		memory, b := inMemory(t)
		check.Get2(c.before(b))
		layout(t, memory, 0)
		check.Get2(c.write(b))
		v, _ := itemOf(memory).Get("v").Int64()
		check.That(t, v == 0 || strings.HasPrefix(name, "replace"), "after %s: layout %d", name, v)
	}
}

// layout gives the chain's item another layout, and returns it.
func layout(t *testing.T, memory *ddb.Memory, v int64) ddb.Item {
	t.Helper()
	it := itemOf(memory).Merge(ddb.Fields{"v": ddb.Int(v)}.Item())
	check.Get(memory.Do(t.Context(), ddb.Put{Op: ddb.Op{Table: &Names{}.Tables()[0]}, Item: it}))
	return it
}

// TestNothingLeftOfTheIndex: the record of an ended chain keeps no attribute of the index that it
// has left.
func TestNothingLeftOfTheIndex(t *testing.T) {
	memory, b := inMemory(t)
	c := writes()["seal"]
	check.Get2(c.before(b))
	check.Get2(c.write(b))
	it := itemOf(memory)
	check.That(t, it.Exists() && !it.Has("due") && !it.Has("dueShard"), "%v", it)
}

func FuzzChain(f *testing.F) {
	ddbtest.FuzzCodec(f, codec, decodeChain, chains.Version, chains.Parent, "tag")
}
