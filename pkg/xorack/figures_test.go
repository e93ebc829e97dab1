package xorack_test

import (
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// cost is what requests came to.
func (f *fixture) cost(do func()) ddbtest.Total {
	f.meter.Take()
	do()
	return f.meter.Take()
}

// ends ends edges, and returns how many were answered that they ended their chain.
func (f *fixture) ends(edges []xorack.Edge) (ended int) {
	f.t.Helper()
	for _, e := range edges {
		if check.Get(f.Done(f.t.Context(), e)).Outcome == xorack.Ended {
			ended++
		}
	}
	return ended
}

// tag has 20 bytes.
const tag = "database/file-000013"

// TestFiguresOfOneChain pins what a stamp costs when N finish one chain at once: one request each,
// no read, and no more units than the item has KB.
func TestFiguresOfOneChain(t *testing.T) {
	for n, most := range map[int]float64{1: 1, 4: 1, 16: 1, 64: 1, 256: 1.7, 1000: 4.7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFixture(t)
			created := check.Get(f.Create(t.Context(), tag, &xorack.CreateOptions{Edges: n}))
			ended := 0
			cost := f.cost(func() { ended = f.ends(created.Roots) })
			t.Logf("%d finishers: %.3f write units a stamp, %+v", n, cost.Units.Writes/float64(n), cost)
			check.That(t, cost.Writes == n && cost.Reads == 0 &&
				cost.Units.Writes+cost.Units.Index <= most*float64(n) && ended == 1,
				"%d ended it; %+v, want %d writes at %.1f units or less", ended, cost, n, most)
		})
	}
}

// TestFiguresOfAFan pins what an edge costs in sub-chains, with all that the chains and the index
// cost: create, stamps, carrying, sealing. The benchmark does the same with 100,000 edges.
func TestFiguresOfAFan(t *testing.T) {
	for _, n := range []int{1000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFixture(t)
			root := f.create(tag, nil)
			leaves := root.Fan(n)
			cost := f.cost(func() {
				check.Get(f.Fan(t.Context(), root, n))
				f.ends(leaves)
				f.finishParts(leaves)
			})
			c, err := f.Get(t.Context(), tag)
			check.Need(t, err == nil && c.End() == xorack.Done, "%s, %v", c.End(), err)
			units := cost.Units.Writes + cost.Units.Index
			t.Logf("%d edges in a fan: %.4f write units an edge, index included: %+v",
				n, units/float64(n), cost)
			check.That(t, units <= 1.06*float64(n) && cost.Units.Reads == 1,
				"%+v, want 1.06 units an edge or less, and one read for all", cost)
		})
	}
}

// finishParts does what the stream's handler does: it finishes every chain that has ended, those of
// the leaves first. A stream record shows a chain for nothing: what is read here instead is not
// counted.
func (f *fixture) finishParts(leaves []xorack.Edge) {
	f.t.Helper()
	var tags []string
	seen := map[string]bool{tag: true}
	for _, leaf := range leaves {
		if !seen[leaf.Tag()] {
			seen[leaf.Tag()] = true
			tags = append(tags, leaf.Tag())
		}
	}
	for len(tags) > 0 {
		var above []string
		for _, tag := range tags {
			c := check.Get(f.store.Chain(f.t.Context(), tag))
			check.Get(f.Finish(f.t.Context(), c, nil))
			if parent := c.Parent.Tag(); !seen[parent] {
				seen[parent] = true
				above = append(above, parent)
			}
		}
		tags = above
	}
}

// TestFiguresOfAMerge pins 100 acks of one chain that go as one write.
func TestFiguresOfAMerge(t *testing.T) {
	f := newFixture(t)
	created := check.Get(f.Create(t.Context(), tag, &xorack.CreateOptions{Edges: 100}))
	operations := make([]xorack.Operation, len(created.Roots))
	for i, edge := range created.Roots {
		operations[i] = xorack.EndOf(edge)
	}
	cost := f.cost(func() {
		results, errs := f.Apply(t.Context(), operations)
		if errs[99] != nil || results[99].Outcome != xorack.Ended {
			t.Error(results[99].Outcome, errs[99])
		}
	})
	if cost.Writes != 1 || cost.Reads != 0 || cost.Units.Writes+cost.Units.Index > 0.02*100 {
		t.Errorf("%+v, want one request of 2 units or less", cost)
	}
}

// TestFiguresOfATree pins a tree of 8 edges from its creation to the seal: 10 writes, and 2 of the
// index. A step that is repeated costs one write.
func TestFiguresOfATree(t *testing.T) {
	f := newFixture(t)
	cost := f.cost(func() {
		root := f.create(tag, nil)
		var last xorack.Chain
		for _, e := range append([]xorack.Edge{root}, root.Children(7)...) {
			var children []xorack.Edge
			if e == root {
				children = root.Children(7)
			}
			last = check.Get(f.Done(t.Context(), e, children...)).Chain
		}
		sealed, err := f.Finish(t.Context(), last, nil)
		check.Need(t, err == nil && sealed, "%v %v", sealed, err)
	})
	want := (ddbtest.Total{Writes: 10, Units: ddb.Units{Writes: 10, Index: 2}})
	check.That(t, cost == want, "%+v, want 10 writes of one unit and 2 of the index", cost)
	again := f.cost(func() {
		check.Get(f.Done(t.Context(), xorack.Root(tag, "", 0), xorack.Root(tag, "", 0).Children(7)...))
	})
	want = (ddbtest.Total{Writes: 1, Units: ddb.Units{Writes: 1}})
	check.That(t, again == want, "a repeat: %+v, want one write unit", again)
}

// TestFiguresOfASweep pins what a sweep reads: half a unit a part with nothing to do.
func TestFiguresOfASweep(t *testing.T) {
	f := newFixture(t)
	f.create(tag, nil)
	cost := f.cost(func() { check.Get(f.Sweep(t.Context(), nil)) })
	want := (ddbtest.Total{Reads: 16, Units: ddb.Units{Reads: 8}})
	check.That(t, cost == want, "%+v, want 16 queries of half a unit", cost)
}
