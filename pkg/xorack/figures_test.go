package xorack_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// metered is an Acker on a table of its own, with a Meter between.
type metered struct {
	t *testing.T
	// plain is the table without the Meter.
	plain *xorack.Store
	acker *xorack.Acker
	meter *ddbtest.Meter
}

func newMetered(t *testing.T) *metered {
	t.Helper()
	m := &metered{t: t}
	var memory *ddb.Memory
	memory, m.plain = inMemory(t)
	m.meter = ddbtest.NewMeter(memory)
	store := xorack.NewStore(m.meter, xorack.Names{})
	var err error
	if m.acker, err = xorack.New(store, &xorack.Options{ForEach: sideBySide}); err != nil {
		t.Fatal(err)
	}
	return m
}

// sideBySide does n things, up to 64 at once.
func sideBySide(n int, do func(i int)) {
	var wait sync.WaitGroup
	room := make(chan struct{}, 64)
	for i := range n {
		room <- struct{}{}
		wait.Go(func() {
			do(i)
			<-room
		})
	}
	wait.Wait()
}

// cost is what fn's requests came to.
func (m *metered) cost(fn func()) ddbtest.Total {
	m.meter.Take()
	fn()
	return m.meter.Take()
}

func (m *metered) create(tag string, edges int) xorack.Created {
	m.t.Helper()
	created, err := m.acker.Create(m.t.Context(), tag, &xorack.CreateOptions{Edges: edges})
	if err != nil {
		m.t.Fatal(err)
	}
	return created
}

// finish ends edges side by side, and returns how many were answered that they ended their chain.
func (m *metered) finish(edges []xorack.Edge) int {
	m.t.Helper()
	outcomes := make([]xorack.Outcome, len(edges))
	sideBySide(len(edges), func(i int) {
		result, err := m.acker.Done(m.t.Context(), edges[i])
		if err != nil {
			m.t.Error(err)
		}
		outcomes[i] = result.Outcome
	})
	ended := 0
	for _, outcome := range outcomes {
		if outcome == xorack.Ended {
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
			m := newMetered(t)
			created := m.create(tag, n)
			ended := 0
			cost := m.cost(func() { ended = m.finish(created.Roots) })
			t.Logf("%d finishers: %.3f write units a stamp, %+v", n, cost.Units.Writes/float64(n), cost)
			if cost.Writes != n || cost.Reads != 0 || cost.Units.Writes+cost.Units.Index > most*float64(n) || ended != 1 {
				t.Errorf("%d ended it; %+v, want %d writes at %.1f units or less", ended, cost, n, most)
			}
		})
	}
}

// TestFiguresOfAFan pins what an edge costs in sub-chains, with all that the chains and the index
// cost: create, stamps, carrying, sealing. The benchmark does the same with 100,000 edges.
func TestFiguresOfAFan(t *testing.T) {
	for _, n := range []int{1000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			m := newMetered(t)
			root := m.create(tag, 1).Root
			leaves := root.Fan(n)
			cost := m.cost(func() {
				if _, err := m.acker.Fan(t.Context(), root, n); err != nil {
					t.Fatal(err)
				}
				m.finish(leaves)
				m.finishParts(leaves)
			})
			c, err := m.acker.Get(t.Context(), tag)
			if err != nil || c.End() != xorack.Done {
				t.Fatalf("%s, %v", c.End(), err)
			}
			units := cost.Units.Writes + cost.Units.Index
			t.Logf("%d edges in a fan: %.4f write units an edge, index included: %+v", n, units/float64(n), cost)
			if units > 1.06*float64(n) || cost.Units.Reads != 1 {
				t.Errorf("%+v, want 1.06 units an edge or less, and one read for all", cost)
			}
		})
	}
}

// finishParts does what the stream's handler does: it finishes every chain that has ended, those of
// the leaves first. A stream record shows a chain for nothing: what is read here instead is not
// counted.
func (m *metered) finishParts(leaves []xorack.Edge) {
	m.t.Helper()
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
		var mu sync.Mutex
		sideBySide(len(tags), func(i int) {
			c, err := m.plain.Chain(m.t.Context(), tags[i])
			if err != nil {
				m.t.Error(err)
				return
			}
			if _, err := m.acker.Finish(m.t.Context(), c, nil); err != nil {
				m.t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if parent := c.Parent.Tag(); !seen[parent] {
				seen[parent] = true
				above = append(above, parent)
			}
		})
		tags = above
	}
}

// TestFiguresOfAMerge pins 100 acks of one chain that go as one write.
func TestFiguresOfAMerge(t *testing.T) {
	m := newMetered(t)
	created := m.create(tag, 100)
	operations := make([]xorack.Operation, len(created.Roots))
	for i, edge := range created.Roots {
		operations[i] = xorack.EndOf(edge)
	}
	cost := m.cost(func() {
		results, errs := m.acker.Apply(t.Context(), operations)
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
	m := newMetered(t)
	cost := m.cost(func() {
		root := m.create(tag, 1).Root
		var last xorack.Chain
		for _, e := range append([]xorack.Edge{root}, root.Children(7)...) {
			var children []xorack.Edge
			if e == root {
				children = root.Children(7)
			}
			result, err := m.acker.Done(t.Context(), e, children...)
			if err != nil {
				t.Fatal(err)
			}
			last = result.Chain
		}
		if sealed, err := m.acker.Finish(t.Context(), last, nil); err != nil || !sealed {
			t.Fatal(sealed, err)
		}
	})
	if want := (ddbtest.Total{Writes: 10, Units: ddb.Units{Writes: 10, Index: 2}}); cost != want {
		t.Errorf("%+v, want 10 writes of one unit and 2 of the index", cost)
	}
	again := m.cost(func() {
		if _, err := m.acker.Done(t.Context(), xorack.Root(tag, "", 0), xorack.Root(tag, "", 0).Children(7)...); err != nil {
			t.Fatal(err)
		}
	})
	if want := (ddbtest.Total{Writes: 1, Units: ddb.Units{Writes: 1}}); again != want {
		t.Errorf("a repeat: %+v, want one write unit", again)
	}
}

// TestFiguresOfASweep pins what a sweep reads: half a unit a part with nothing to do.
func TestFiguresOfASweep(t *testing.T) {
	m := newMetered(t)
	m.create(tag, 1)
	cost := m.cost(func() {
		if _, err := m.acker.Sweep(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
	if want := (ddbtest.Total{Reads: 16, Units: ddb.Units{Reads: 8}}); cost != want {
		t.Errorf("%+v, want 16 queries of half a unit", cost)
	}
}
