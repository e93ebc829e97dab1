package xoracksim

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// tree is the work of one chain, as its handlers build it.
type tree struct {
	tag     string
	options xorack.CreateOptions
	roots   []*node
	// nodes are all edges of the chain.
	nodes []*node
	// stranger: its tag belongs to another tree as well, so its operations may be refused.
	stranger bool
	// parent is the node whose work this chain is, if any; part is set for a chain of a fan.
	parent *node
	part   bool
	// mayFail: it may end otherwise than Done.
	mayFail bool
}

type node struct {
	tree     *tree
	edge     xorack.Edge
	children []*node
	// added is how many of the children are started by an Add of their own, before the edge ends.
	added int
	addOp xorack.Op
	// nested is the chain that is the node's work, if any; fan is how many edges it fans into.
	nested *tree
	fan    int
	// fails: its handler says that it failed.
	fails bool
	// emitsFirst: its handler passes the children on before it says Done.
	emitsFirst bool
	// index is its place in the model's lists.
	index int
}

// newTree makes a tree with its root edges.
func (m *model) newTree(tag string, options xorack.CreateOptions) *tree {
	t := &tree{tag: tag, options: options}
	for i := range max(options.Edges, 1) {
		t.roots = append(t.roots, m.newNode(t, xorack.Root(tag, options.ID, i)))
	}
	m.trees = append(m.trees, t)
	return t
}

func (m *model) newNode(t *tree, e xorack.Edge) *node {
	n := &node{tree: t, edge: e, index: len(m.emitted)}
	m.emitted = append(m.emitted, false)
	t.nodes = append(t.nodes, n)
	return n
}

func (m *model) split(n *node, count int) []*node {
	for i := range count {
		n.children = append(n.children, m.newNode(n.tree, n.edge.Child(i)))
	}
	return n.children
}

// fail lets a node's handler say that it failed.
func (n *node) fail() {
	n.fails = true
	for t := n.tree; t != nil; {
		t.mayFail = true
		if t.parent == nil {
			return
		}
		t = t.parent.tree
	}
}

// add lets a node's handler start its first children by an Add.
func (n *node) add(count int) {
	scratch := xorack.NewMemory()
	sim.Must(newAcker(scratch).Add(context.Background(), n.edge, batch, edges(n.children[:count])...))
	c, _ := scratch.Chain(context.Background(), n.tree.tag)
	n.added, n.addOp = count, c.Ops[0]
}

const batch = "first"

func newAcker(s *xorack.Store) *xorack.Acker {
	return sim.Must(xorack.New(s, &xorack.Options{ForEach: fanout.OneByOne}))
}

// fanOut lets a node fan: its children end with the parts' chains.
func (m *model) fanOut(n *node, count int) {
	n.fan = count
	scratch := xorack.NewMemory()
	sim.Must(newAcker(scratch).Fan(context.Background(), n.edge, count))
	for _, leaf := range n.edge.Fan(count) {
		if len(n.children) > 0 && n.children[len(n.children)-1].nested.tag == leaf.Tag() {
			continue
		}
		c, _ := scratch.Chain(context.Background(), leaf.Tag())
		child := m.newNode(n.tree, c.Parent)
		child.nested = m.newTree(leaf.Tag(), xorack.CreateOptions{Edges: int(c.Edges)})
		child.nested.parent, child.nested.part = child, true
		n.children = append(n.children, child)
	}
}

func (m *model) nest(n *node, tag string) *tree {
	n.nested = m.newTree(tag, xorack.CreateOptions{Parent: n.edge})
	n.nested.parent = n
	return n.nested
}

// inc is the incarnation of the tree's chain.
func (t *tree) inc() xorack.Incarnation { return t.roots[0].edge.Incarnation() }

func (n *node) name() string {
	return fmt.Sprintf("%s/%d", n.tree.tag, n.index)
}

func edges(nodes []*node) []xorack.Edge {
	all := make([]xorack.Edge, len(nodes))
	for i, n := range nodes {
		all[i] = n.edge
	}
	return all
}

// grow makes a random tree under a node: at most depth levels, and at most left edges more in all.
func (m *model) grow(random *rand.Rand, n *node, depth int, left *int) {
	n.emitsFirst = random.IntN(3) == 0
	if depth == 0 {
		return
	}
	count := min(random.IntN(5), *left)
	*left -= count
	for _, child := range m.split(n, count) {
		m.grow(random, child, depth-1, left)
	}
	if count > 0 && random.IntN(4) == 0 {
		n.add(1 + random.IntN(count))
	}
}
