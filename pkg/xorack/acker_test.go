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
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// start is when every test's clock begins.
var start = time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)

// fixture is an Acker in memory whose clock the test moves.
type fixture struct {
	*xorack.Acker
	t       *testing.T
	stamper *stamps.Stamper
	// store is on the table, where nothing goes wrong, and nothing is counted.
	store  *xorack.Store
	table  *ddb.Memory
	faults *ddbtest.Faults
	meter  *ddbtest.Meter
	now    time.Time
	// scheduled are the wake-ups, by the time after the start; announced the ids of the events.
	scheduled []string
	announced map[string]bool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, now: start, announced: map[string]bool{}}
	f.table = ddb.NewMemory(xorack.Names{}.Tables()...)
	f.store = xorack.NewStore(clause.Layer(f.table), xorack.Names{})
	f.faults = ddbtest.NewFaults(clause.Layer(f.table))
	f.meter = ddbtest.NewMeter(f.faults)
	f.Acker = check.Get(xorack.New(xorack.NewStore(f.meter, xorack.Names{}), &xorack.Options{
		ForEach: fanout.OneByOne, Now: func() time.Time { return f.now },
		WakeUp: func(tag string, due time.Time) {
			f.scheduled = append(f.scheduled, fmt.Sprintf("%s %v", tag, due.Sub(start)))
		},
	}))
	f.stamper = stamps.New(f.Acker)
	return f
}

func (f *fixture) announce(_ context.Context, c xorack.Chain) error {
	f.announced[c.EventID()] = true
	return nil
}

// finish finishes a chain as the stream's handler does.
func (f *fixture) finish(tag string) {
	f.t.Helper()
	check.Get(f.Finish(f.t.Context(), check.Get(f.store.Chain(f.t.Context(), tag)), f.announce))
}

func (f *fixture) tags() (tags []string) {
	for _, it := range f.table.Items(xorack.Names{}.Tables()[0].Name) {
		tags = append(tags, it.Get("tag").Str())
	}
	return tags
}

func (f *fixture) create(tag string, options *xorack.CreateOptions) xorack.Edge {
	f.t.Helper()
	created, err := f.Create(f.t.Context(), tag, options)
	check.Need(f.t, err == nil && created.Outcome == xorack.Applied,
		"create %s: %s, %v", tag, created.Outcome, err)
	return created.Root
}

func (f *fixture) chain(tag string) xorack.Chain {
	f.t.Helper()
	return check.Get(f.Get(f.t.Context(), tag))
}

// want fails the test unless an operation had this outcome.
func (f *fixture) want(outcome xorack.Outcome) func(xorack.Result, error) {
	f.t.Helper()
	return func(r xorack.Result, err error) {
		f.t.Helper()
		check.That(f.t, err == nil && r.Outcome == outcome, "%s, %v; want %s", r.Outcome, err, outcome)
	}
}

func TestDoneInAnyOrder(t *testing.T) {
	f := newFixture(t)
	root := xorack.Root("t", "", 0)
	a, b := root.Child(0), root.Child(1)
	// The leaves end before the root does, and all before the chain is created.
	for _, e := range []xorack.Edge{b, a, b} {
		f.want(xorack.Applied)(f.Done(t.Context(), e))
	}
	f.want(xorack.Applied)(f.Done(t.Context(), root, a, b))
	for range 2 {
		created, err := f.Create(t.Context(), "t", nil)
		check.That(t, err == nil && created.Outcome == xorack.Ended && created.Root == root,
			"created last: %s, %v", created.Outcome, err)
	}
	f.want(xorack.Applied)(f.Done(t.Context(), root, a, b))
	f.want(xorack.Applied)(f.Done(t.Context(), a))
	f.want(xorack.AlreadyDone)(f.Done(t.Context(), root.Child(2)))
	f.want(xorack.AlreadyDone)(f.Fail(t.Context(), root.Child(2), "why"))
	f.want(xorack.EdgeEnded)(f.Fail(t.Context(), a, "why"))
}

func TestAdd(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	for range 2 {
		f.want(xorack.Applied)(f.Add(t.Context(), root, "first page", root.Child(0)))
	}
	f.want(xorack.Applied)(f.Add(t.Context(), root, "second page", root.Child(1)))
	f.want(xorack.Applied)(f.Done(t.Context(), root))
	f.want(xorack.Applied)(f.Done(t.Context(), root.Child(0)))
	c := f.chain("t")
	check.That(t, c.EdgesEnded() == 2 && c.Edges == 3, "%d of %d edges ended", c.EdgesEnded(), c.Edges)
	f.want(xorack.Ended)(f.Done(t.Context(), root.Child(1)))
}

// TestOtherChildren: an operation that comes again with other children than the first time gets
// that outcome, and the chain does not have them.
func TestOtherChildren(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	two := root.Children(2)
	f.want(xorack.Applied)(f.Add(t.Context(), root, "b", root.Added("b", 0)))
	f.want(xorack.Applied)(f.Done(t.Context(), root, two...))
	was := f.chain("t")
	f.want(xorack.Applied)(f.Done(t.Context(), root, two[1], two[0]))
	f.want(xorack.Applied)(f.Add(t.Context(), root, "b", root.Added("b", 0)))
	f.want(xorack.OtherChildren)(f.Done(t.Context(), root, root.Children(3)...))
	f.want(xorack.OtherChildren)(f.Done(t.Context(), root, two[0]))
	f.want(xorack.OtherChildren)(f.Add(t.Context(), root, "b", root.Added("b", 0), root.Added("b", 1)))
	f.want(xorack.OtherChildren)(f.Fan(t.Context(), root, 2))
	f.want(xorack.OtherChildren)(f.Fan(t.Context(), root, 2*xorack.FanWidth))
	results, errs := f.Apply(t.Context(), []xorack.Operation{
		xorack.EndOf(root, root.Children(3)...), xorack.EndOf(two[0]), xorack.EndOf(two[1], two[1].Child(0)),
		xorack.EndOf(two[1], two[1].Child(1)),
	})
	var outcomes []xorack.Outcome
	for _, r := range results {
		outcomes = append(outcomes, r.Outcome)
	}
	want := []xorack.Outcome{xorack.OtherChildren, xorack.Applied, xorack.Applied,
		xorack.OtherChildren}
	diff := cmp.Diff(want, outcomes)
	check.That(t, diff == "" && errors.Join(errs...) == nil, "%v, errors %v", diff, errs)
	if c := f.chain("t"); c.Edges != was.Edges+1 || len(f.tags()) != 1 {
		t.Errorf("%d edges, want one more than %d; chains %q", c.Edges, was.Edges, f.tags())
	}
	f.want(xorack.Applied)(f.Done(t.Context(), root.Added("b", 0)))
	f.want(xorack.Ended)(f.Done(t.Context(), two[1].Child(0)))
	f.want(xorack.OtherChildren)(f.Done(t.Context(), root, root.Children(3)...))
}

// TestAddUnderAnEdgeThatEnded: it starts nothing, and gets that outcome.
func TestAddUnderAnEdgeThatEnded(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", &xorack.CreateOptions{Edges: 2})
	f.want(xorack.Applied)(f.Done(t.Context(), root))
	was := f.chain("t")
	f.want(xorack.EdgeEnded)(f.Add(t.Context(), root, "late", root.Child(0)))
	check.Is(t, cmp.Diff(was, f.chain("t"), cmp.Comparer(func(a, b xorack.Edge) bool {
		return a == b
	})), "")
	// In one write an edge's children come before its end, however they are named.
	other := was.Root(1)
	results, errs := f.Apply(t.Context(), []xorack.Operation{
		xorack.EndOf(other), xorack.StartOf(root, "late", root.Child(0)), xorack.StartOf(other, "b", other.Child(0)),
	})
	check.That(t, results[0].Outcome == xorack.Applied && results[1].Outcome == xorack.EdgeEnded &&
		results[2].Outcome == xorack.Applied && errors.Join(errs...) == nil,
		"%v, %v", results, errs)
	f.want(xorack.Ended)(f.Done(t.Context(), other.Child(0)))
	f.want(xorack.AlreadyDone)(f.Add(t.Context(), root, "late", root.Child(0)))
}

// TestManyAddsAtOnce: calls of Add ask two things each, and a write has room for a hundred.
func TestManyAddsAtOnce(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	operations := []xorack.Operation{xorack.EndOf(root)}
	for i := range 120 {
		batch := fmt.Sprint(i)
		operations = append(operations, xorack.StartOf(root, batch, root.Added(batch, 0)))
	}
	results, errs := f.Apply(t.Context(), operations)
	for i, r := range results {
		check.That(t, r.Outcome == xorack.Applied && errs[i] == nil, "%d: %s, %v", i, r.Outcome, errs[i])
	}
	c := f.chain("t")
	check.That(t, c.Edges == 121 && c.EdgesEnded() == 1, "%d edges, %d ended", c.Edges, c.EdgesEnded())
}

func TestFail(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	for range 2 {
		f.want(xorack.Ended)(f.Fail(t.Context(), root, "disk full"))
	}
	f.want(xorack.AlreadyFailed)(f.Fail(t.Context(), root.Child(0), "another"))
	f.want(xorack.AlreadyFailed)(f.Done(t.Context(), root))
	c := f.chain("t")
	check.That(t, c.End() == xorack.Failed && c.Reason == "disk full" &&
		c.LastOp == root.Op(), "%+v", c)
	// A failure that comes before the chain stays, and the create says so.
	f.want(xorack.Ended)(f.Fail(t.Context(), xorack.Root("early", "", 0), "no room"))
	created, err := f.Create(t.Context(), "early", nil)
	check.That(t, err == nil && created.Outcome == xorack.AlreadyFailed,
		"%s, %v", created.Outcome, err)
}

func TestExtend(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", &xorack.CreateOptions{Deadline: time.Hour})
	later := start.Add(3 * time.Hour)
	for _, deadline := range []time.Time{later, later, start.Add(2 * time.Hour)} {
		f.want(xorack.Applied)(f.Extend(t.Context(), root, deadline))
		c := f.chain("t")
		check.That(t, c.Deadline.Equal(later), "deadline %v", c.Deadline)
	}
	f.want(xorack.Ended)(f.Done(t.Context(), root))
	f.want(xorack.AlreadyDone)(f.Extend(t.Context(), root, later.Add(time.Hour)))
	orphan := xorack.Root("orphan", "", 0)
	f.want(xorack.Applied)(f.Done(t.Context(), orphan))
	check.Fails(t, check.Err(f.Extend(t.Context(), orphan, later)), xorack.ErrTagNotFound)
	check.Fails(t, check.Err(f.Extend(t.Context(), xorack.Root("none", "", 0), later)),
		xorack.ErrTagNotFound)
}

func TestDelete(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	f.want(xorack.Ended)(f.Delete(t.Context(), "t"))
	f.want(xorack.AlreadyDeleted)(f.Delete(t.Context(), "t"))
	f.want(xorack.AlreadyDeleted)(f.Done(t.Context(), root))
	check.Fails(t, check.Err(f.Delete(t.Context(), "none")), xorack.ErrTagNotFound)
	f.create("done", nil)
	f.want(xorack.Ended)(f.Done(t.Context(), xorack.Root("done", "", 0)))
	f.want(xorack.AlreadyDone)(f.Delete(t.Context(), "done"))
	// Another chain takes the tag once the end is finished.
	check.Fails(t, check.Err(f.Create(t.Context(), "t", &xorack.CreateOptions{ID: "2"})),
		xorack.ErrTagExists)
	check.Get(f.Finish(t.Context(), f.chain("t"), nil))
	f.create("t", &xorack.CreateOptions{ID: "2"})
	check.Fails(t, check.Err(f.Done(t.Context(), root)), xorack.ErrOtherChain)
}

func TestTagReuse(t *testing.T) {
	f := newFixture(t)
	first := f.create("t", nil)
	check.Fails(t, check.Err(f.Create(t.Context(), "t", &xorack.CreateOptions{ID: "2"})),
		xorack.ErrTagExists)
	check.Fails(t, check.Err(f.Create(t.Context(), "t", &xorack.CreateOptions{Deadline: time.Hour})),
		xorack.ErrTagExists)
	check.Fails(t, check.Err(f.Create(t.Context(), "t", &xorack.CreateOptions{Edges: 2})),
		xorack.ErrTagExists)
	check.Fails(t, check.Err(f.Done(t.Context(), xorack.Root("t", "2", 0))), xorack.ErrOtherChain)
	check.Fails(t, check.Err(f.Fail(t.Context(), xorack.Root("t", "2", 0), "why")),
		xorack.ErrOtherChain)
	check.Fails(t, check.Err(f.Extend(t.Context(), xorack.Root("t", "2", 0), start.Add(time.Hour))),
		xorack.ErrOtherChain)
	f.want(xorack.Ended)(f.Done(t.Context(), first))
	check.Get(f.Finish(t.Context(), f.chain("t"), nil))
	check.Fails(t, check.Err(f.Create(t.Context(), "t", &xorack.CreateOptions{ID: "2"})),
		xorack.ErrTagExists)
	f.now = start.Add(xorack.DefaultTombstone)
	// Its own create, repeated very late, does not make it live again.
	created, err := f.Create(t.Context(), "t", nil)
	check.That(t, err == nil && created.Outcome == xorack.AlreadyDone,
		"a late create: %s, %v", created.Outcome, err)
	second := f.create("t", &xorack.CreateOptions{ID: "2"})
	f.want(xorack.Ended)(f.Done(t.Context(), second))

	// What a stranger's operations left makes room.
	f.want(xorack.Applied)(f.Done(t.Context(), xorack.Root("u", "old", 0)))
	f.create("u", nil)
}

func TestApply(t *testing.T) {
	f := newFixture(t)
	one, two := f.create("one", nil), f.create("two", nil)
	results, errs := f.Apply(t.Context(), []xorack.Operation{
		xorack.EndOf(one, one.Children(3)...),
		xorack.EndOf(two),
		xorack.EndOf(one.Child(0)),
		xorack.StartOf(one.Child(1), "b", one.Child(1).Child(0)),
		xorack.EndOf(one.Child(0)),
		xorack.EndOf(xorack.Edge{}),
		xorack.EndOf(xorack.Root("two", "stranger", 0)),
	})
	var got []string
	for i := range results {
		got = append(got, strings.TrimSpace(fmt.Sprint(results[i].Outcome, " ", errs[i])))
	}
	want := []string{
		"applied <nil>", "ended <nil>", "applied <nil>", "applied <nil>", "applied <nil>",
		"edge must not be empty", xorack.ErrOtherChain.Error(),
	}
	check.Is(t, cmp.Diff(want, got), "")
	results, errs = f.Apply(t.Context(), []xorack.Operation{
		xorack.EndOf(one.Child(0)), xorack.EndOf(one.Child(1)), xorack.EndOf(one.Child(2)), xorack.EndOf(one.Child(1).Child(0)),
	})
	check.That(t, errors.Join(errs...) == nil && results[3].Outcome == xorack.Ended &&
		results[0].Outcome == xorack.Applied,
		"%v, %v", results, errs)
}

func TestChainFull(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	children := root.Children(xorack.MaxOps)
	f.want(xorack.Applied)(f.Done(t.Context(), root, children...))
	for i := 0; i < xorack.MaxOps-1; i++ {
		f.want(xorack.Applied)(f.Done(t.Context(), children[i]))
	}
	last := children[xorack.MaxOps-1]
	check.Fails(t, check.Err(f.Done(t.Context(), last)), xorack.ErrChainFull)
	f.want(xorack.Applied)(f.Done(t.Context(), children[0]))
	check.Is(t, f.chain("t").End(), xorack.Open)
	f.want(xorack.Ended)(f.Fail(t.Context(), last, "full"))
}

func TestNestedChains(t *testing.T) {
	for _, end := range []xorack.End{xorack.Done, xorack.Failed, xorack.TimedOut, xorack.Deleted} {
		t.Run(string(end), func(t *testing.T) {
			f := newFixture(t)
			outer := f.create("outer", nil)
			inner := f.create("inner", &xorack.CreateOptions{Parent: outer, Deadline: time.Hour})
			switch end {
			case xorack.Done:
				f.want(xorack.Ended)(f.Done(t.Context(), inner))
			case xorack.Failed:
				f.want(xorack.Ended)(f.Fail(t.Context(), inner, "why"))
			case xorack.Deleted:
				f.want(xorack.Ended)(f.Delete(t.Context(), "inner"))
			}
			f.now = start.Add(time.Hour)
			var announced []string
			announce := func(_ context.Context, c xorack.Chain) error {
				announced = append(announced, c.Tag+" "+string(c.End()))
				return nil
			}
			check.Get(f.Sweep(t.Context(), announce))
			f.now = f.now.Add(time.Hour)
			check.Get(f.Sweep(t.Context(), announce))
			of := map[xorack.End]xorack.End{xorack.Done: xorack.Done}[end]
			if of == xorack.Open {
				of = xorack.Failed
			}
			want := []string{"inner " + string(end), "outer " + string(of)}
			check.Is(t, cmp.Diff(want, announced), "")
		})
	}
}

// The chains of a fan are of the tenant of the chain that they hang under, so that its edges may be
// ended by those who may end that one; without a tenant they have none.
func TestFanStaysWithItsTenant(t *testing.T) {
	for tag, want := range map[string]string{"@acme/tree": "acme", "tree": "", "@/tree": ""} {
		for _, n := range []int{1, xorack.FanWidth, xorack.FanWidth + 1,
			xorack.FanWidth*xorack.FanWidth + 1} {
			tags := map[string]bool{}
			for _, leaf := range xorack.Root(tag, "", 0).Fan(n) {
				tags[leaf.Tag()] = true
			}
			inside := n > xorack.FanWidth
			check.That(t, inside != tags[tag], "%d edges under %s are in %v", n, tag, tags)
			for leaf := range tags {
				of, _ := tenant.Split(leaf)
				check.That(t, of == want, "%d edges under %s: one is in %s", n, tag, leaf)
			}
		}
	}
}

// TestWakeFinishesStamps whose last caller died before it recorded the end: the deadline is far.
func TestWakeFinishesStamps(t *testing.T) {
	f := newFixture(t)
	check.Get(f.stamper.Create(t.Context(), "t", []byte("a"), &stamps.Options{ID: "1"}))
	f.faults.Fail(2, ddbtest.Refused)
	_, err := f.stamper.Stamp(t.Context(), "t", []byte("a"), &stamps.Options{ID: "2"})
	check.Need(t, err != nil, "the end is recorded: no request was refused")
	f.faults.Fail(0, "")
	report, late, err := f.Wake(t.Context(), "t", f.announce)
	check.That(t, err == nil && report.Finished == 1 && late.IsZero() && len(f.announced) == 1,
		"%+v, late %v, %v, %d announced; want it finished and announced", report, late, err,
		len(f.announced))
}

// TestFinishWithoutItsParent seals a chain whose parent's tag belongs to something else.
func TestFinishWithoutItsParent(t *testing.T) {
	for name, another := range map[string]func(*fixture) error{
		"another chain": func(f *fixture) error {
			return check.Err(f.Create(t.Context(), "t", &xorack.CreateOptions{ID: "2"}))
		},
		"stamps": func(f *fixture) error {
			return check.Err(f.stamper.Create(t.Context(), "t", []byte("a"), nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			inner := f.create("u", &xorack.CreateOptions{Parent: f.create("t", nil)})
			check.Get(f.Delete(t.Context(), "t"))
			f.finish("t")
			check.OK(t, another(f))
			check.Get(f.Done(t.Context(), inner))
			f.finish("u")
			c := f.chain("u")
			check.That(t, c.Sealed(), "%+v; want it sealed", c)
		})
	}
}

// TestOperationsOnStamps are refused: their chain has no edges.
func TestOperationsOnStamps(t *testing.T) {
	f := newFixture(t)
	check.Get(f.stamper.Create(t.Context(), "t", []byte("a"), nil))
	root := xorack.Root("t", "", 0)
	check.Fails(t, check.Err(f.Done(t.Context(), root)), xorack.ErrOtherKind)
	check.Fails(t, check.Err(f.Fail(t.Context(), root, "why")), xorack.ErrOtherKind)
	check.Fails(t, check.Err(f.Delete(t.Context(), "t")), xorack.ErrOtherKind)
}

// TestAChainStopsAtItsFirstError: where the edges that were to be added are not, the ends of those
// that add them do not count. Else the sum would be zero, and the chain done, while their children
// have not begun.
func TestAChainStopsAtItsFirstError(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	parts := root.Children(60)
	var operations []xorack.Operation
	for _, part := range parts {
		operations = append(operations, xorack.StartOf(part, "b", part.Child(0)))
	}
	for _, part := range parts {
		operations = append(operations, xorack.EndOf(part))
	}
	check.Get(f.Done(t.Context(), root, parts...))
	f.faults.Fail(1, ddbtest.Throttled)
	_, errs := f.Apply(t.Context(), operations)
	for i, err := range errs {
		check.Need(t, err != nil, "operation %d counted after the first write of its chain had failed", i)
	}
	results, errs := f.Apply(t.Context(), operations)
	check.OK(t, errors.Join(errs...))
	c := results[0].Chain
	check.That(t, c.End() == xorack.Open, "the chain has ended, and 60 edges are outstanding: %+v", c)
}

// TestAnInvalidAddHoldsTheEndBack: the caller can correct it, and repeat both.
func TestAnInvalidAddHoldsTheEndBack(t *testing.T) {
	f := newFixture(t)
	root := f.create("t", nil)
	_, errs := f.Apply(t.Context(),
		[]xorack.Operation{xorack.StartOf(root, "b", root), xorack.EndOf(root)})
	check.IsA[*xorack.InvalidError](t, errs[0]) // that of the call of Add for both
	check.IsA[*xorack.InvalidError](t, errs[1])
}
