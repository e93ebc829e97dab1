package main

// The folders that the acker's bugs are planted in.
const (
	ackerFolder  = "pkg/xorack"
	stampsFolder = "pkg/xorack/stamps"
)

// ackerSchedules are the tests that walk all small schedules and random ones.
var ackerSchedules = test{"./verify/sim/xoracksim", "TestEverySmallSchedule|TestRandomSchedules"}

func ackerSchedule(name string) test { return smallSchedule(ackerSchedules.folder, name) }

func ackerTrace(name string) test { return test{"./verify/sim/xoracksim", "TestTrace" + name + "$"} }

// Tests of the store.
var (
	ackerStore  = test{"./pkg/xorack", "TestStore/memory"}
	ackerLayout = test{"./pkg/xorack", "TestNewerLayoutIsNotWritten|TestOlderLayoutStays|TestNothingLeftOfTheIndex"}
	stampsStore = test{"./pkg/xorack/stamps", "TestStore/memory|TestNewerLayoutIsNotWritten"}
)

// ackerMutants are bugs in the acker, those of its store among them: the simulator runs the store
// that deploys.
var ackerMutants = []mutant{
	{"acker: generations of marks", ackerFolder, ackerTrace("Generations"), []edit{
		{"store_edges.go", "chains.Ops.Add(ddb.ValueOf(w.Ops))", "chains.Ops.Set(ddb.ValueOf(w.Ops))"},
	}},
	{"acker: end as a second write", ackerFolder, ackerTrace("SecondWrite"), []edit{
		{"chain.go", "case c.IsCreated() && !c.HasStamps() && c.Sum.IsZero():", "case false:"},
		{"apply.go", "\t\tc = there\n", "\t\tif c = there; c.Recorded == Open && c.Sum.IsZero() {\n\t\t\tif c, _, err = a.store.seal(ctx, c.Tag, c.Incarnation, c.Seen, a.now()); err != nil {\n\t\t\t\treturn nil, err\n\t\t\t}\n\t\t}\n"},
	}},
	{"acker: end guarded by st only", ackerFolder, ackerTrace("JoinedAfterTheEnd"), []edit{
		{"store.go", "ddb.And(chains.Recorded.Missing(), ddb.Or(chains.Created.Missing(), chains.Sum.Ne(ddb.Int(0))))", "chains.Recorded.Missing()"},
		{"store.go", "ddb.And(chains.Recorded.Missing(), chains.Sum.Ne(ddb.Int(0)))", "chains.Recorded.Missing()"},
	}},
	{"acker: TTL from the deadline", ackerFolder, ackerTrace("TTLFromTheDeadline"), []edit{
		{"create.go", "ExpiresOn: chains.Never, Parent: o.Parent,", "ExpiresOn: now.Add(o.Deadline), Parent: o.Parent,"},
	}},
	{"acker: bare XOR", ackerFolder, ackerTrace("BareXOR"), []edit{
		{"store_edges.go", ", ddb.Not(ddb.Or(counted...)),\n", ",\n"},
		{"store_edges.go", "\tlast := w.Ops[len(w.Ops)-1]\n", "\tlast := w.Ops[len(w.Ops)-1]\n\tc, _ := s.Chain(ctx, w.Tag)\n"},
		{"store_edges.go", "chains.Sum.Add(w.Delta.value())", "chains.Sum.Set(Sum{c.Sum.Hi ^ w.Delta.Hi, c.Sum.Lo ^ w.Delta.Lo}.value())"},
		{"apply.go", "sum = sum.minus(sumOf(o.edge.id))", "sum.Hi, sum.Lo = sum.Hi^sumOf(o.edge.id).Hi, sum.Lo^sumOf(o.edge.id).Lo"},
		{"apply.go", "sum = sum.plus(sumOf(child.id))", "sum.Hi, sum.Lo = sum.Hi^sumOf(child.id).Hi, sum.Lo^sumOf(child.id).Lo"},
	}},
	{"acker: a row is written after the seal", ackerFolder, ackerSchedule("an edge fails"), []edit{
		{"finish.go", "\tif announce != nil && !c.Sub {", "\tlate := announce\n\tif announce = nil; announce != nil {"},
		{"finish.go", "\treturn sealed, err\n", "\tif err == nil && late != nil && !c.Sub {\n\t\terr = late(ctx, c)\n\t}\n\treturn sealed, err\n"},
	}},
	{"acker: fails after its end", ackerFolder, ackerTrace("FailedAfterItsEnd"), []edit{
		{"store_edges.go", ", ddb.Not(chains.Ops.Contains(ddb.Blob(f.Op[:])))", ""},
	}},
	{"acker: idle without a look at seen", ackerFolder, ackerTrace("ProgressMeanwhile"), []edit{
		{"store_ends.go", "ddb.And(chains.Created.Exists(), chains.Seen.Eq(ddb.Millis(o.Seen)))", "chains.Created.Exists()"},
	}},
	{"acker: end and children in two writes", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "return a.one(ctx, EndOf(e, children...))", "if r, err := a.one(ctx, EndOf(e)); err != nil || len(children) == 0 {\n\t\treturn r, err\n\t}\n\treturn a.one(ctx, StartOf(e, \"children\", children...))"},
	}},
	{"acker: create as a put", ackerFolder, ackerSchedules, []edit{
		{"store_edges.go", "case chains.Sum, chains.Edges:\n\t\t\tdo = append(do, attr.Add(value))", "case chains.Sum:\n\t\t\tdo = append(do, attr.Set(value), chains.Ops.Remove())"},
	}},
	{"acker: failure after the end", ackerFolder, ackerTrace("FailedAfterItTimedOut"), []edit{
		{"store_edges.go", "ddb.And(isOpen, chains.IsSame(f.Incarnation)", "ddb.And(chains.IsSame(f.Incarnation)"},
	}},
	{"acker: one mark for a merge", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "Ops: slices.Clone(order), Room", "Ops: order[:1], Room"},
	}},
	{"acker: merge not recomputed", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "for _, op := range order {\n\t\to := pending[op]", "for op := range pending {\n\t\to := pending[op]"},
	}},
	{"acker: sealed before it is announced", ackerFolder, ackerSchedules, []edit{
		{"finish.go", "if announce != nil && !c.Sub {", "if _, _, err := a.store.seal(ctx, c.Tag, c.Incarnation, c.Ended(), a.now().Add(a.tombstone)); err != nil {\n\t\treturn false, err\n\t}\n\tif announce != nil && !c.Sub {"},
	}},
	{"acker: an end takes a request more than there is time for", ackerFolder, ackerSchedule("nested, 3 requests"), []edit{
		{"finish.go", "\tc, err := a.settle(ctx, c)\n\tif err != nil || c.End() == Open || c.Due.IsZero() {", "\t_, _ = a.store.Chain(ctx, c.Tag)\n\tc, err := a.settle(ctx, c)\n\tif err != nil || c.End() == Open || c.Due.IsZero() {"},
	}},
	{"acker: part of a fan announced by nobody, as its whole", ackerFolder, ackerSchedule("nested"), []edit{
		{"finish.go", "if announce != nil && !c.Sub {", "if announce != nil && c.Parent.IsZero() {"},
	}},
	{"acker: fan without its children", ackerFolder, ackerSchedule("fan"), []edit{
		{"fan.go", "return a.Done(ctx, e, children...)", "_ = children\n\treturn a.Done(ctx, e)"},
	}},
	{"acker: expiry set by an operation", ackerFolder, ackerSchedule("no expiry while it is open"), []edit{
		{"store_edges.go", "chains.ExpiresOn.SetIfMissing(ddb.Seconds(w.Orphan))", "chains.ExpiresOn.Set(ddb.Seconds(w.Orphan))"},
	}},
	{"acker: edges started under one that ended", ackerFolder, test{"./pkg/xorack", "TestAddUnderAnEdgeThatEnded"}, []edit{
		{"store_edges.go", "range slices.Concat(w.Ops, w.Before) {", "range slices.Clone(w.Ops) {"},
	}},
}
