package figures

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// acking compares numbers of workers that finish one chain at once.
func acking() Table {
	t := Table{
		Title: titleAcks,
		About: "Workers that finish the edges of one chain at once, from its creation to its seal, index included. The limit is a write to " +
			"create the chain, and one an edge. xor-ack-dynamodb reads the stamp, and writes it back if it is unchanged. " +
			"Among those in step one succeeds each time. Thousands fan out, as in the next table.",
		Case:   "workers",
		Others: []string{"xor-ack-dynamodb", ""},
	}
	for _, n := range []int{1, 16, 64, 256, 1000} {
		acker, m := newAcker()
		ours, older := m.of(n, func() { finishChain(acker, n) }), atOnce(n)
		why := "three writes a chain: it is sealed once its end is announced, and is in an index while it is open"
		if n > 64 {
			why = "a chain stores 8 bytes of each ended edge, so that repeats do not count, and exceeds 1 KB from a hundred on"
		}
		t.Rows = append(t.Rows,
			counted(fmt.Sprint(n), Units{Writes: 1 + 1/float64(n)}, ours, &older, 0, why))
	}
	return t
}

func finishChain(acker *xorack.Acker, n int) {
	ctx := context.Background()
	var last xorack.Result
	for _, edge := range check.Get(acker.Create(ctx, "database/file-000013",
		&xorack.CreateOptions{Edges: n})).Roots {
		last = check.Get(acker.Done(ctx, edge))
	}
	if !check.Get(acker.Finish(ctx, last.Chain, nil)) {
		panic("the chain is " + fmt.Sprint(last.Chain.End()))
	}
}

// atOnce is what a stamp of xor-ack-dynamodb takes where so many come at once: in each round all
// who are left read the state, a unit each, and write it, a unit each, of which one holds.
func atOnce(n int) Units {
	tries := float64(n+1) / 2
	return Units{tries + 1/float64(n), tries}
}

func trees() Table {
	t := Table{
		Title:  "Acks of a large tree, an edge",
		About:  "Leaves of a root, in chains of their own, index included. The limit is a write an edge.",
		Case:   "edges",
		Others: make([]string, 2),
	}
	for _, n := range []int{1_000, 10_000, 100_000} {
		acker, m := newAcker()
		root := check.Get(acker.Create(context.Background(), "campaign/autumn", nil)).Root
		ours := m.of(n, func() { finishTree(acker, m, root, n) })
		t.Rows = append(t.Rows, counted(fmt.Sprint(n), Units{Writes: 1}, ours, nil, 0, ""))
	}
	return t
}

// finishTree has a root fan out, and finishes all leaves. Each chain that ends by it is finished as
// the stream's handler does, which has it, and the one above it, in the stream's records.
func finishTree(acker *xorack.Acker, m *metered, root xorack.Edge, n int) {
	ctx := context.Background()
	check.Get(acker.Fan(ctx, root, n))
	uncounted := xorack.NewStore(m.memory, xorack.Names{})
	for _, leaf := range root.Fan(n) {
		for c := check.Get(acker.Done(ctx, leaf)).Chain; c.End() != xorack.Open; {
			check.Get(acker.Finish(ctx, c, nil))
			if !c.Sub {
				return
			}
			c = check.Get(uncounted.Chain(ctx, c.Parent.Tag()))
		}
	}
	panic(fmt.Sprintf("the tree of %d edges did not end", n))
}

func newAcker() (*xorack.Acker, *metered) {
	m := newMetered(xorack.Names{}.Tables()...)
	// An item is charged by how many digits its numbers have: ids that are drawn anew would differ
	// in that.
	op := uint64(0)
	return check.Get(xorack.New(xorack.NewStore(m, xorack.Names{}),
		&xorack.Options{ForEach: fanout.OneByOne, Now: clock, NewOp: func() (o xorack.Op) {
			op++
			binary.BigEndian.PutUint64(o[:], op*0x9e3779b97f4a7c15)
			return o
		}})), m
}
