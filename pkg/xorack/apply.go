package xorack

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// Operation is an edge's end, or edges that it starts before: see [EndOf] and [StartOf]. Those of
// one chain can go as one write ([Acker.Apply]).
type Operation struct {
	edge     Edge
	batch    string
	ends     bool
	children []Edge
}

// EndOf is the operation of [Acker.Done].
func EndOf(e Edge, children ...Edge) Operation {
	return Operation{edge: e, ends: true, children: children}
}

// StartOf is the operation of [Acker.Add].
func StartOf(e Edge, batch string, children ...Edge) Operation {
	return Operation{edge: e, batch: batch, children: children}
}

func (o Operation) op() Op {
	if o.ends {
		return o.edge.Op()
	}
	return o.edge.batchOp(o.batch)
}

func (o Operation) delta() Sum {
	var sum Sum
	for _, child := range o.children {
		sum = sum.plus(sumOf(child.id))
	}
	if o.ends {
		sum = sum.minus(sumOf(o.edge.id))
	}
	return sum
}

// split distinguishes the operation with these children from the same one with others.
func (o Operation) split() split {
	op, delta := o.op(), o.delta()
	hash := chains.Derive(chains.ForSplit, op[:], chains.Number(len(o.children)),
		[]byte(delta.String()))
	return split(hash[:4])
}

// countsIn reports whether a chain that has the operation counted it with these children. Where
// there are none now, nobody can be misled.
func (o Operation) countsIn(c Chain) bool { return len(o.children) == 0 || c.hasSplit(o.split()) }

// conditions is how many marks must not be in the chain for it to count: its own, and that of the
// edge that goes on.
func (o Operation) conditions() int {
	if o.ends {
		return 1
	}
	return 2
}

func (o Operation) validate() error {
	if err := o.edge.given(); err != nil {
		return err
	}
	if len(o.batch) > MaxTag {
		return invalid.New(invalid.TooLarge, "batch", "is longer than "+strconv.Itoa(MaxTag)+" bytes")
	}
	if len(o.children) > MaxOps {
		return invalid.New(invalid.OutOfRange, "children",
			"are more than "+strconv.Itoa(MaxOps)+": use a fan")
	}
	if !o.ends && len(o.children) == 0 {
		return invalid.New(invalid.Missing, "children", "must not be empty: there is nothing to add")
	}
	seen := make(map[[12]byte]bool, len(o.children)+1)
	seen[o.edge.id] = true
	for i, child := range o.children {
		at := []invalid.Element{{List: "children", Index: i}}
		if child.tag != o.edge.tag || child.inc != o.edge.inc {
			return &InvalidError{At: at, Code: invalid.Clash,
				Problem: "belongs to another chain than its parent"}
		}
		if seen[child.id] {
			return &InvalidError{At: at, Code: invalid.Clash, Problem: "is there twice, or is the parent"}
		}
		seen[child.id] = true
	}
	return nil
}

// Done ends an edge and starts its children, in one operation that the edge identifies: repeating
// it changes nothing. The children must be the same each time, so they must follow from the edge's
// work alone: other children get [OtherChildren], and change nothing.
//
// Where possible, start the children here before you pass their work on. A child may end before it
// is started: the sum is not zero then, so the chain stays open. But only the deadline finds a
// handler that never calls Done.
//
// It costs one write, of one unit for each KB of the record: about 100 ended edges.
func (a *Acker) Done(ctx context.Context, e Edge, children ...Edge) (Result, error) {
	return a.one(ctx, EndOf(e, children...))
}

// Add starts edges under one that goes on, for work whose parts become known bit by bit. The batch
// identifies this call among those of the same edge, and its children must not be those of another
// ([Edge.Added], [Edge.Named]). It must come before the edge's Done: afterwards it gets
// [EdgeEnded].
//
// It costs as much as Done.
func (a *Acker) Add(ctx context.Context, e Edge, batch string, children ...Edge) (Result, error) {
	return a.one(ctx, StartOf(e, batch, children...))
}

func (a *Acker) one(ctx context.Context, o Operation) (Result, error) {
	if err := o.validate(); err != nil {
		return Result{}, err
	}
	results, err := a.merge(ctx, []Operation{o})
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// Apply does many operations, those of one chain as one write for each 100 of them, of which a call
// of Add counts as two; the calls of Add go first. The results are in the order of the operations;
// one that is there twice counts once. A chain stops at its first error, which is that of all its
// operations that were not done before: an end would count, and the edges to be added before it
// would not. For the same reason an invalid call of Add holds its edge's end back.
func (a *Acker) Apply(ctx context.Context, operations []Operation) ([]Result, []error) {
	results, errs := make([]Result, len(operations)), make([]error, len(operations))
	type place struct {
		tag string
		inc Incarnation
	}
	groups := map[place][]int{}
	var order []place
	badAdds := map[[12]byte]error{}
	for i, o := range operations {
		if errs[i] = o.validate(); errs[i] != nil && !o.ends {
			badAdds[o.edge.id] = errs[i]
		}
	}
	for i, o := range operations {
		if errs[i] == nil && o.ends {
			errs[i] = badAdds[o.edge.id]
		}
		if errs[i] != nil {
			continue
		}
		at := place{o.edge.tag, o.edge.inc}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], i)
	}
	for _, at := range order {
		var err error
		for chunk := range merges(operations, groups[at]) {
			group := make([]Operation, len(chunk))
			for i, n := range chunk {
				group[i] = operations[n]
			}
			var done []Result
			if err == nil {
				done, err = a.merge(ctx, group)
			}
			for i, n := range chunk {
				if errs[n] = err; err == nil {
					results[n] = done[i]
				}
			}
		}
	}
	return results, errs
}

// merges are the operations of one chain, by their places, as they go together: first those that go
// before an end, and no more conditions at a time than a write can have.
func merges(operations []Operation, places []int) iter.Seq[[]int] {
	slices.SortStableFunc(places, func(a, b int) int {
		return operations[b].conditions() - operations[a].conditions()
	})
	return func(yield func([]int) bool) {
		var chunk []int
		conditions := 0
		for _, n := range places {
			more := operations[n].conditions()
			if conditions+more > maxMerge {
				if !yield(chunk) {
					return
				}
				chunk, conditions = nil, 0
			}
			chunk, conditions = append(chunk, n), conditions+more
		}
		yield(chunk)
	}
}

// merge does operations of one chain as one write. Those that the chain has already are left out
// and the rest is sent again: the chain's marks only grow, so that ends.
func (a *Acker) merge(ctx context.Context, group []Operation) ([]Result, error) {
	pending := map[Op]Operation{}
	var order []Op
	for _, o := range group {
		if _, twice := pending[o.op()]; !twice {
			pending[o.op()] = o
			order = append(order, o.op())
		}
	}
	outcomes := make(map[Op]Outcome, len(order))
	var c Chain
	for len(order) > 0 {
		there, _, err := a.store.apply(ctx, a.work(pending, order))
		if err := cmp.Or(err, refused(there, group[0].edge)); err != nil {
			return nil, err
		}
		c = there
		before := len(order)
		order = slices.DeleteFunc(order, func(op Op) bool {
			o := pending[op]
			switch {
			case c.Has(op):
				if outcomes[op] = Applied; c.End() == Done && c.LastOp == op {
					outcomes[op] = Ended
				}
			case !o.ends && c.End() == Open && c.Has(o.edge.Op()):
				outcomes[op] = EdgeEnded
			default:
				return false
			}
			return true
		})
		if len(order) < before {
			continue
		}
		if c.End() == Open {
			// Not ended, of this chain, and not counted yet: there is no room.
			return nil, fmt.Errorf("%w: %d operations of at most %d", ErrChainFull, len(c.Ops), MaxOps)
		}
		for _, op := range order {
			outcomes[op] = already(c.End())
		}
		order = nil
	}
	results := make([]Result, len(group))
	for i, o := range group {
		results[i] = Result{outcomes[o.op()], c}
		if c.Has(o.op()) && !o.countsIn(c) {
			results[i].Outcome = OtherChildren
		}
	}
	return results, nil
}

// refused is why a chain cannot be that of an edge at all.
func refused(c Chain, e Edge) error {
	switch {
	case c.HasStamps():
		return ErrOtherKind
	case c.Exists() && c.Incarnation != e.inc:
		return ErrOtherChain
	}
	return nil
}

func (a *Acker) work(pending map[Op]Operation, order []Op) work {
	first := pending[order[0]].edge
	now := a.now()
	w := work{
		Tag: first.tag, Incarnation: first.inc, Ops: slices.Clone(order), Room: MaxOps - len(order),
		Now: now, Orphan: now.Add(a.tombstone),
	}
	for _, op := range order {
		o := pending[op]
		w.Delta, w.Edges = w.Delta.plus(o.delta()), w.Edges+int64(len(o.children))
		if len(o.children) > 0 {
			w.Splits = append(w.Splits, o.split())
		}
		if !o.ends {
			w.Before = append(w.Before, o.edge.Op())
		}
	}
	return w
}
