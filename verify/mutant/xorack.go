package main

// The folders that the acker's bugs are planted in.
const (
	ackerFolder  = "pkg/xorack"
	stampsFolder = "pkg/xorack/stamps"
)

// Tests of the store.
var (
	ackerStore  = by(ackerFolder, "TestStore/memory|TestNewerLayoutIsNotWritten|TestOlderLayoutStays|TestNothingLeftOfTheIndex")
	stampsStore = by(stampsFolder, "TestStore/memory|TestNewerLayoutIsNotWritten")
)

// ackerMutants are bugs in the acker, those of its store among them: the simulator runs the store
// that deploys.
var ackerMutants = []mutant{
	bug("acker: generations of marks", ackerSuite.in("generations"),
		"store_edges.go", "chains.Ops.Add(ddb.ValueOf(w.Ops))", "chains.Ops.Set(ddb.ValueOf(w.Ops))"),
	bug("acker: end as a second write", ackerSuite.in("second write"),
		"chain.go", "case c.IsCreated() && !c.HasStamps() && c.Sum.IsZero():", "case false:",
		"apply.go", "\t\tc = there\n", "\t\tif c = there; c.Recorded == Open && c.Sum.IsZero() {\n\t\t\tif c, _, err = a.store.seal(ctx, c.Tag, c.Incarnation, c.Seen, a.now()); err != nil {\n\t\t\t\treturn nil, err\n\t\t\t}\n\t\t}\n"),
	bug("acker: end guarded by st only", ackerSuite.in("deleted"),
		"store.go",
		"ddb.And(chains.Recorded.Missing(),\n\t\tddb.Or(chains.Created.Missing(), chains.Sum.Ne(ddb.Int(0))))",
		"chains.Recorded.Missing()",
		"store.go", "ddb.And(chains.Recorded.Missing(), chains.Sum.Ne(ddb.Int(0)))",
		"chains.Recorded.Missing()"),
	bug("acker: TTL from the deadline", ackerSuite.in("TTL from the deadline"),
		"create.go", "ExpiresOn: chains.Never, Parent: o.", "ExpiresOn: now.Add(o.Deadline), Parent: o."),
	bug("acker: bare XOR", ackerSuite.in("bare XOR"),
		"store_edges.go", ", ddb.Not(ddb.Or(counted...)),\n", ",\n",
		"store_edges.go", "w.Ops[len(w.Ops)-1]\n", "w.Ops[len(w.Ops)-1]\n\tc, _ := s.Chain(ctx, w.Tag)\n",
		"store_edges.go", "Sum.Add(w.Delta", "Sum.Set(Sum{c.Sum.Hi ^ w.Delta.Hi, c.Sum.Lo ^ w.Delta.Lo}",
		"apply.go", "sum = sum.minus(sumOf(o.edge.id))",
		"sum.Hi, sum.Lo = sum.Hi^sumOf(o.edge.id).Hi, sum.Lo^sumOf(o.edge.id).Lo",
		"apply.go", "sum = sum.plus(sumOf(child.id))",
		"sum.Hi, sum.Lo = sum.Hi^sumOf(child.id).Hi, sum.Lo^sumOf(child.id).Lo"),
	bug("acker: a row is written after the seal", ackerSuite.in("an edge fails"),
		"finish.go", "\tif announce != nil && !c.Sub {",
		"\tlate := announce\n\tif announce = nil; announce != nil {",
		"finish.go", "\treturn sealed, err\n", "\tif err == nil && late != nil && !c.Sub {\n\t\terr = late(ctx, c)\n\t}\n\treturn sealed, err\n"),
	bug("acker: fails after its end", ackerSuite.in("failed after its end"),
		"store_edges.go", ", ddb.Not(chains.Ops.Contains(ddb.Blob(op[:])))", ""),
	bug("acker: idle without a look at seen", ackerSuite.in("no progress"),
		"store_ends.go", "ddb.And(chains.Created.Exists(), chains.Seen.Eq(ddb.Millis(seen)))",
		"chains.Created.Exists()"),
	bug("acker: end and children in two writes", ackerSuite.in("nested, 4 requests"),
		"apply.go", "return a.one(ctx, EndOf(e, children...))", "if r, err := a.one(ctx, EndOf(e)); err != nil || len(children) == 0 {\n\t\treturn r, err\n\t}\n\treturn a.one(ctx, StartOf(e, \"children\", children...))"),
	bug("acker: create as a put", ackerSuite.in("nested"),
		"store_edges.go", "case chains.Sum, chains.Edges, chains.Stamps:\n\t\t\tdo = append(do, attr.Add(value))", "case chains.Sum:\n\t\t\tdo = append(do, attr.Set(value), chains.Ops.Remove())"),
	bug("acker: failure after the end", ackerSuite.in("failed after it timed out"),
		"store_edges.go", "ddb.And(isOpen, chains.IsSame(e.inc)", "ddb.And(chains.IsSame(e.inc)"),
	bug("acker: one mark for a merge", ackerSuite.in("fan"),
		"apply.go", "Ops: slices.Clone(order), Room", "Ops: order[:1], Room"),
	bug("acker: merge not recomputed", ackerSuite.in("merge"),
		"apply.go", "for _, op := range order {\n\t\to := ", "for op := range pending {\n\t\to := "),
	bug("acker: sealed before it is announced", ackerSuite.in("nested, 4 requests"),
		"finish.go", "if announce != nil && !c.Sub {", "if _, _, err := a.store.seal(ctx, c.Tag, c.Incarnation, c.Ended(), a.now().Add(a.tombstone)); err != nil {\n\t\treturn false, err\n\t}\n\tif announce != nil && !c.Sub {"),
	bug("acker: an end takes a request more than there is time for",
		ackerSuite.in("nested, 3 requests"),
		"finish.go", "\tc, _, err := a.", "\t_, _ = a.store.Chain(ctx, c.Tag)\n\tc, _, err := a."),
	bug("acker: part of a fan announced by nobody, as its whole", ackerSuite.in("nested"),
		"finish.go", "if announce != nil && !c.Sub {", "if announce != nil && c.Parent.IsZero() {"),
	bug("acker: fan without its children", ackerSuite.in("fan"),
		"fan.go", "return a.Done(ctx, e, children...)", "_ = children\n\treturn a.Done(ctx, e)"),
	bug("acker: expiry set by an operation", ackerSuite.in("no expiry while it is open"),
		"store_edges.go", ".ExpiresOn.SetIfMissing(ddb.Seconds(w.", ".ExpiresOn.Set(ddb.Seconds(w."),
	bug("acker: edges started under one that ended", by(ackerFolder, "TestAddUnderAnEdgeThatEnded"),
		"store_edges.go", "range slices.Concat(w.Ops, w.Before) {", "range slices.Clone(w.Ops) {"),
}
