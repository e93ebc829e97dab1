package xorack

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

const (
	// FanWidth is how many edges each chain of a fan starts with: about as many as end within the
	// record's first KB, so that each write costs one unit.
	FanWidth = 96
	// maxFan is the most edges of one fan.
	maxFan = FanWidth * FanWidth * FanWidth
)

// fanned is one chain of a fan, and what hangs under it.
type fanned struct {
	// under is the edge that ends with it.
	under Edge
	// tag and inc are the chain's own, edges how many root edges it has.
	tag   string
	inc   Incarnation
	edges int
}

// capacity is how many edges one part of a fan of n edges has at most; 1 where they need no parts.
func capacity(n int) int {
	part := 1
	for part*FanWidth < n {
		part *= FanWidth
	}
	return part
}

// fan splits n edges under an edge: visit is called for each chain, leaf for each edge, in their
// order.
func fan(e Edge, child func(int) Edge, n int, visit func(fanned),
	leaf func(Edge)) (children []Edge) {
	part := capacity(n)
	for i := range (n + part - 1) / part {
		c := child(i)
		children = append(children, c)
		if part == 1 {
			leaf(c)
			continue
		}
		size := min(part, n-i*part)
		width := capacity(size)
		hash := chains.Derive(chains.ForFan, c.inc[:], c.id[:], []byte(c.tag))
		sub := fanned{under: c,
			tag: inside(c.tag, "fan."+base64.RawURLEncoding.EncodeToString(hash[:16]))}
		sub.inc, sub.edges = incarnationOf(sub.tag, ""), (size+width-1)/width
		visit(sub)
		fan(c, func(j int) Edge { return rootOf(sub.tag, sub.inc, j) }, size, visit, leaf)
	}
	return children
}

// inside is a tag's name for a chain that hangs under it: of the same tenant, where it has one.
func inside(tag, name string) string {
	if of, _ := tenant.Split(tag); of != "" {
		return tenant.Name(of, name)
	}
	return name
}

// Fan are the n edges that [Acker.Fan] starts under an edge, without a request. There are none
// where n is not 1 to 96³.
func (e Edge) Fan(n int) []Edge {
	if n < 1 || n > maxFan {
		return nil
	}
	leaves := make([]Edge, 0, n)
	fan(e, e.fanChild, n, func(fanned) {}, func(leaf Edge) { leaves = append(leaves, leaf) })
	return leaves
}

func (e Edge) fanChild(i int) Edge { return e.derived(chains.ForFan, chains.Number(i)) }

// Fan ends an edge and starts the n edges that [Edge.Fan] names, 1 to 96³. More than [FanWidth] of
// them are put into chains of their own, each of which ends one edge of the chain above it when it
// is done, and fails it when it fails. So a tree of any size goes on at one write unit an edge, and
// past the write rate of one item. As with [Acker.Done], n must follow from the work alone.
//
// Pass the edges on only after Fan has returned. Dying within it leaves chains without work; a
// repeat finds them and goes on. The deadline of the whole is that of the edge's own chain: the
// chains of the fan have an hour more, also where it is extended later, and the longest one where
// it is not created yet. The ends of those chains are carried by the stream's handler, so the last
// edge's Done gets Ended for its part only.
//
// It costs one write as Done does, and where there are chains of the fan one read, and for each of
// them one write and one of the index. They are created through [Options].ForEach.
func (a *Acker) Fan(ctx context.Context, e Edge, n int) (Result, error) {
	if err := cmp.Or(e.given(), bounds.Check("edges", n, 1, maxFan)); err != nil {
		return Result{}, err
	}
	var chains []fanned
	children := fan(e, e.fanChild, n, func(f fanned) { chains = append(chains, f) }, func(Edge) {})
	if err := a.createParts(ctx, e, chains); err != nil {
		return Result{}, err
	}
	return a.Done(ctx, e, children...)
}

// partGrace is how much longer than its tree a part of a fan may take, so that the tree times out
// first.
const partGrace = time.Hour

// createParts creates the chains of a fan. Where the edge has ended or its chain has, they were
// created before, or will never be needed.
func (a *Acker) createParts(ctx context.Context, e Edge, chains []fanned) error {
	if len(chains) == 0 {
		return nil
	}
	above, err := a.store.Chain(ctx, e.tag)
	if err == nil {
		err = refused(above, e)
	}
	if err != nil || above.End() != Open || above.Has(e.Op()) {
		return err
	}
	deadline := ddb.ToMillis(a.now().Add(MaxDeadline))
	if above.IsCreated() {
		deadline = above.Deadline.Add(partGrace)
	}
	errs := make([]error, len(chains))
	a.forEach(len(chains), func(i int) {
		_, errs[i] = a.create(ctx, a.part(chains[i], deadline))
	})
	return errors.Join(errs...)
}

// part is a chain of a fan at its creation. A repeat of it is the same one whatever the deadline is
// by then.
func (a *Acker) part(f fanned, deadline time.Time) Chain {
	c := a.fresh(f.tag, CreateOptions{Edges: f.edges, Deadline: MaxDeadline, Parent: f.under})
	c.Sub, c.Deadline = true, deadline
	c.Due = a.nextLook(c, c.Created)
	return c
}

// whole is the chain whose tree a part of a fan belongs to, as it stands.
func (a *Acker) whole(ctx context.Context, part Chain) (Chain, error) {
	for c := part; ; {
		above, err := a.store.Chain(ctx, c.Parent.tag)
		if err != nil || above.Incarnation != c.Parent.inc || !above.Sub {
			return above, err
		}
		c = above
	}
}
