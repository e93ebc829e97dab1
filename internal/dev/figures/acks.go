package figures

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// acking compares numbers of workers that finish one chain at once.
func acking(ctx context.Context) (Table, error) {
	t := Table{
		Title: TitleAcks,
		About: "Workers that finish the edges of one chain at once, from its creation to its seal, index included. The limit is a write to " +
			"create the chain, and one an edge. xor-ack-dynamodb reads the stamp and writes it back if it is unchanged: of those in step one " +
			"succeeds each time. Thousands fan out, as in the next table.",
		Case:  "workers",
		Older: "xor-ack-dynamodb",
	}
	for _, n := range []int{1, 16, 64, 256, 1000} {
		acker, m, err := newAcker()
		if err != nil {
			return t, err
		}
		ours, err := m.of(n, func() error { return finishChain(ctx, acker, n) })
		if err != nil {
			return t, err
		}
		older := atOnce(n)
		r := Row{Name: fmt.Sprint(n), Limit: Units{Writes: 1 + 1/float64(n)}, Ours: ours, Older: &older}
		r.Why = "three writes a chain: it is sealed once its end is announced, and is in an index while it is open"
		if n > 64 {
			r.Why = "a chain stores 8 bytes of each ended edge, so that repeats do not count, and exceeds 1 KB from a hundred on"
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// finishChain is a chain from its creation to its seal.
func finishChain(ctx context.Context, acker *xorack.Acker, n int) error {
	created, err := acker.Create(ctx, "database/file-000013", &xorack.CreateOptions{Edges: n})
	if err != nil {
		return err
	}
	var last xorack.Result
	for _, edge := range created.Roots {
		if last, err = acker.Done(ctx, edge); err != nil {
			return err
		}
	}
	sealed, err := acker.Finish(ctx, last.Chain, nil)
	if err == nil && !sealed {
		err = fmt.Errorf("the chain is %s", last.Chain.End())
	}
	return err
}

// atOnce is what a stamp of xor-ack-dynamodb takes where so many come at once: in each round all who are
// left read the state, a unit each, and write it, a unit each, of which one holds.
func atOnce(n int) Units {
	tries := float64(n+1) / 2
	return Units{tries + 1/float64(n), tries}
}

// trees compares sizes of trees.
func trees(ctx context.Context) (Table, error) {
	t := Table{
		Title: "Acks of a large tree, an edge",
		About: "Leaves of a root, in chains of their own, index included. The limit is a write an edge.",
		Case:  "edges",
	}
	for _, n := range []int{1_000, 10_000, 100_000} {
		acker, m, err := newAcker()
		if err != nil {
			return t, err
		}
		created, err := acker.Create(ctx, "campaign/autumn", nil)
		if err != nil {
			return t, err
		}
		ours, err := m.of(n, func() error { return finishTree(ctx, acker, m, created.Root, n) })
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, Row{Name: fmt.Sprint(n), Limit: Units{Writes: 1}, Ours: ours})
	}
	return t, nil
}

// finishTree has a root fan out, and finishes all leaves. Each chain that ends by it is finished as the stream's
// handler does, which has it, and the one above it, in the stream's records.
func finishTree(ctx context.Context, acker *xorack.Acker, m *metered, root xorack.Edge, n int) error {
	if _, err := acker.Fan(ctx, root, n); err != nil {
		return err
	}
	uncounted, err := xorack.NewStore(m.Memory, xorack.Names{})
	if err != nil {
		return err
	}
	for _, leaf := range root.Fan(n) {
		r, err := acker.Done(ctx, leaf)
		if err != nil {
			return err
		}
		for c := r.Chain; c.End() != xorack.Open; {
			if _, err := acker.Finish(ctx, c, nil); err != nil {
				return err
			}
			if !c.Sub {
				return nil
			}
			if c, err = uncounted.Chain(ctx, c.Parent.Tag()); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the tree of %d edges did not end", n)
}

func newAcker() (*xorack.Acker, *metered, error) {
	m := newMetered(xorack.Names{}.Tables()...)
	store, err := xorack.NewStore(m, xorack.Names{})
	if err != nil {
		return nil, nil, err
	}
	// An item is charged by how many digits its numbers have: ids that are drawn anew would differ in that.
	op := uint64(0)
	acker, err := xorack.New(store, &xorack.Options{ForEach: fanout.OneByOne, Now: clock, NewOp: func() (o xorack.Op) {
		op++
		binary.BigEndian.PutUint64(o[:], op*0x9e3779b97f4a7c15)
		return o
	}})
	return acker, m, err
}
