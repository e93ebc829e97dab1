package main

// The folders that the acker's bugs are planted in.
const (
	ackerFolder  = "pkg/xorack"
	stampsFolder = "pkg/xorack/stamps"
	// chainsFolder is what both write with.
	chainsFolder = "pkg/xorack/internal/chains"
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

// ackerMutants are bugs in the acker, those of its store among them: the
// simulator runs the store that deploys.
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
	{"acker: a row is never written", "internal/announce", ackerSchedule("an edge fails"), []edit{
		{"listed.go", "return rows.Put(ctx, row)", "return nil"},
	}},
	{"acker: a row that cannot be written is forgotten", "internal/announce", ackerSchedule("an edge fails"), []edit{
		{"listed.go", "return rows.Put(ctx, row)", "_ = rows.Put(ctx, row)\n\t\treturn nil"},
	}},
	{"acker: fails after its end", ackerFolder, ackerTrace("FailedAfterItsEnd"), []edit{
		{"store_edges.go", ", ddb.Not(chains.Ops.Contains(ddb.Blob(f.Op[:])))", ""},
	}},
	{"acker: idle without a look at seen", ackerFolder, ackerTrace("ProgressMeanwhile"), []edit{
		{"store_ends.go", "ddb.And(chains.Created.Exists(), chains.Seen.Eq(ddb.Millis(o.Seen)))", "chains.Created.Exists()"},
	}},
	{"acker: the first copy of an operation counts again", ackerFolder, ackerSchedule("a first copy comes late"), []edit{
		{"store_edges.go", ", ddb.Not(ddb.Or(counted...)),\n", ",\n"},
	}},
	{"acker: no mark of operations", ackerFolder, ackerSchedules, []edit{
		{"store_edges.go", ", ddb.Not(ddb.Or(counted...)),\n", ",\n"},
	}},
	{"acker: operation after the end", ackerFolder, ackerSchedules, []edit{
		{"store_edges.go", "ddb.And(isOpen, chains.IsSame(w.Incarnation)", "ddb.And(chains.IsSame(w.Incarnation)"},
	}},
	{"acker: operation before create refused", ackerFolder, ackerSchedules, []edit{
		{"store_edges.go", "ddb.And(isOpen, chains.IsSame(w.Incarnation)", "ddb.And(chains.Created.Exists(), isOpen, chains.IsSame(w.Incarnation)"},
	}},
	{"acker: end and children in two writes", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "return a.one(ctx, EndOf(e, children...))", "if r, err := a.one(ctx, EndOf(e)); err != nil || len(children) == 0 {\n\t\treturn r, err\n\t}\n\treturn a.one(ctx, StartOf(e, \"children\", children...))"},
	}},
	{"acker: create as a put", ackerFolder, ackerSchedules, []edit{
		{"store_edges.go", "case chains.Sum, chains.Edges:\n\t\t\tdo = append(do, attr.Add(value))", "case chains.Sum:\n\t\t\tdo = append(do, attr.Set(value), chains.Ops.Remove())"},
	}},
	{"acker: own create not recognised", ackerFolder, ackerSchedules, []edit{
		{"create.go", "\t\t\treturn there, nil\n\t\tcase", "\t\t\treturn Chain{}, ErrTagExists\n\t\tcase"},
	}},
	{"acker: own expired chain replaced", ackerFolder, ackerSchedules, []edit{
		{"create.go", "case there.Incarnation == c.Incarnation && (!there.IsCreated() || there.Options == c.Options):", "case there.Incarnation == c.Incarnation && there.Options == c.Options && !a.replaceable(there):"},
		{"create.go", "case there.Incarnation == c.Incarnation || !a.replaceable(there):", "case !a.replaceable(there):"},
	}},
	{"acker: living chain replaced", chainsFolder, ackerSchedule("tag used again"), []edit{
		{"table.go", "ddb.And(IsThis(inc), ddb.Or(Created.Missing(), ExpiresOn.Le(ddb.Seconds(now))))", "IsThis(inc)"},
		{"../../create.go", "return !c.ExpiresOn.After(seconds(a.now()))", "return c.End() != Open"},
	}},
	{"acker: tag used again without incarnation", chainsFolder, ackerSchedule("two for one tag"), []edit{
		{"table.go", "return ddb.Or(Incarnation.Missing(), IsThis(inc))", "return ddb.Cond{}"},
	}},
	{"acker: failure after the end", ackerFolder, ackerTrace("FailedAfterItTimedOut"), []edit{
		{"store_edges.go", "ddb.And(isOpen, chains.IsSame(f.Incarnation)", "ddb.And(chains.IsSame(f.Incarnation)"},
	}},
	{"acker: failure that nobody looks for", ackerFolder, ackerSchedules, []edit{
		{"store_ends.go", "chains.Due.Set(ddb.Millis(now)), chains.DueShard", "chains.DueShard"},
	}},
	{"acker: time-out after the end", ackerFolder, ackerSchedule("time-out"), []edit{
		{"store_ends.go", "ddb.And(chains.IsThis(o.Incarnation), isRunning, isOverdue)", "ddb.And(chains.IsThis(o.Incarnation), isOverdue)"},
	}},
	{"acker: time-out without the deadline", ackerFolder, ackerSchedules, []edit{
		{"store_ends.go", "isOverdue := chains.Deadline.Le(ddb.Millis(o.Now))", "isOverdue := chains.Created.Exists()"},
	}},
	{"acker: time-out without a look at it", ackerFolder, ackerSchedules, []edit{
		{"store_ends.go", "isOverdue := chains.Deadline.Le(ddb.Millis(o.Now))", "isOverdue := chains.Created.Exists()"},
		{"sweep.go", "case !c.Deadline.After(r.now):", "case !c.Due.After(r.now):"},
	}},
	{"acker: deadline goes back", ackerFolder, ackerSchedule("extended"), []edit{
		{"store_ends.go", "isRunning, chains.Deadline.Lt(later))", "isRunning, chains.Created.Exists())"},
	}},
	{"acker: extended after the end", ackerFolder, ackerSchedule("extended"), []edit{
		{"store_ends.go", "ddb.And(chains.IsThis(inc), isRunning, chains.Deadline", "ddb.And(chains.IsThis(inc), chains.Deadline"},
		{"end.go", "case c.End() != Open:\n\t\treturn Result{already(c.End()), c}, nil\n", ""},
	}},
	{"acker: delete after the end", ackerFolder, ackerSchedules, []edit{
		{"store_ends.go", "ddb.And(isOpen, hasEdges)", "hasEdges"},
	}},
	{"acker: merge drops the rest", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "if len(order) < before {\n\t\t\tcontinue", "if len(order) < before {\n\t\t\tfor _, op := range order {\n\t\t\t\toutcomes[op] = Applied\n\t\t\t}\n\t\t\torder = nil\n\t\t\tcontinue"},
	}},
	{"acker: one mark for a merge", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "Ops: slices.Clone(order), Room", "Ops: order[:1], Room"},
	}},
	{"acker: merge not recomputed", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "for _, op := range order {\n\t\to := pending[op]", "for op := range pending {\n\t\to := pending[op]"},
	}},
	{"acker: nobody heals", ackerFolder, ackerSchedules, []edit{
		{"sweep.go", "finished, err := a.Finish(ctx, c, r.announce)", "finished, err := false, error(nil)"},
	}},
	{"acker: sealed before it is announced", ackerFolder, ackerSchedules, []edit{
		{"finish.go", "if announce != nil && !c.Sub {", "if _, _, err := a.store.seal(ctx, c.Tag, c.Incarnation, c.Ended(), a.now().Add(a.tombstone)); err != nil {\n\t\treturn false, err\n\t}\n\tif announce != nil && !c.Sub {"},
	}},
	{"acker: an end takes a request more than there is time for", ackerFolder, ackerSchedule("nested, 3 requests"), []edit{
		{"finish.go", "\tc, err := a.settle(ctx, c)\n\tif err != nil || c.End() == Open || c.Due.IsZero() {", "\t_, _ = a.store.Chain(ctx, c.Tag)\n\tc, err := a.settle(ctx, c)\n\tif err != nil || c.End() == Open || c.Due.IsZero() {"},
	}},
	{"acker: failure carried as done", ackerFolder, ackerSchedule("nested fails"), []edit{
		{"finish.go", "if c.End() == Done {\n\t\t_, err = a.Done", "if c.End() != Open {\n\t\t_, err = a.Done"},
	}},
	{"acker: part of a fan announced by nobody, as its whole", ackerFolder, ackerSchedule("nested"), []edit{
		{"finish.go", "if announce != nil && !c.Sub {", "if announce != nil && c.Parent.IsZero() {"},
	}},
	{"acker: fan without its children", ackerFolder, ackerSchedule("fan"), []edit{
		{"fan.go", "return a.Done(ctx, e, children...)", "_ = children\n\treturn a.Done(ctx, e)"},
	}},
	{"acker: sealed whatever stands there", ackerFolder, ackerSchedule("tag used again"), []edit{
		{"store_ends.go", "ddb.And(chains.IsThis(inc), chains.Due.Exists(), ddb.Not(isRunning))", "chains.Due.Exists()"},
		{"finish.go", "if err != nil || c.End() == Open || c.Due.IsZero() {", "if err != nil || c.Due.IsZero() {"},
	}},
	{"acker: expiry set by an operation", ackerFolder, ackerSchedule("no expiry while it is open"), []edit{
		{"store_edges.go", "chains.ExpiresOn.SetIfMissing(ddb.Seconds(w.Orphan))", "chains.ExpiresOn.Set(ddb.Seconds(w.Orphan))"},
	}},
	{"acker: stamps settled without a count", chainsFolder, ackerSchedule("stamps that are zero too early"), []edit{
		{"table.go", "Stamps.SizeEq(stamps))", "Stamps.Exists())"},
	}},
	{"acker: stamps without marks", stampsFolder, ackerSchedule("stamps that are zero too early"), []edit{
		{"stamps.go", "return append(op[:chains.StampMark:chains.StampMark], stamp...)", "_ = op\n\treturn append(make([]byte, chains.StampMark, chains.StampMark), stamp...)"},
	}},
	{"acker: repeated stamp counts again", stampsFolder, ackerSchedule("stamps that are zero too early"), []edit{
		{"stamps.go", "if id != \"\" {\n\t\thash := chains.Derive(kind", "if id == \"\" {\n\t\thash := chains.Derive(kind"},
	}},
	{"acker: acked by nobody's record", ackerFolder, ackerSchedule("stamps, and nobody comes again"), []edit{
		{"finish.go", "c, err := a.settle(ctx, c)\n", "var err error\n"},
		{"sweep.go", "if c, err = a.settle(ctx, c); err != nil {", "if err != nil {"},
	}},
	{"acker: nobody heals after a death", ackerFolder, test{"./pkg/xorack", "TestADeathLeavesNothingUndone"}, []edit{
		{"sweep.go", "finished, err := a.Finish(ctx, c, r.announce)", "finished, err := false, error(nil)"},
	}},
	{"acker: own operation not recognised", ackerFolder, test{"./pkg/xorack", "TestEveryRequestGoesWrongOnce"}, []edit{
		{"apply.go", "case c.Has(op):\n\t\t\t\toutcomes[op]", "case c.Has(op) && applied:\n\t\t\t\toutcomes[op]"},
	}},
	{"acker: edges started under one that ended", ackerFolder, test{"./pkg/xorack", "TestAddUnderAnEdgeThatEnded"}, []edit{
		{"store_edges.go", "range slices.Concat(w.Ops, w.Before) {", "range slices.Clone(w.Ops) {"},
	}},
	{"acker: end before what it must follow", ackerFolder, test{"./pkg/xorack", "TestManyAddsAtOnce"}, []edit{
		{"apply.go", "return operations[b].conditions() - operations[a].conditions()", "return 0"},
	}},
	{"acker: parts of a fan for one that has ended", ackerFolder, test{"./pkg/xorack", "TestFanAfterTheEnd"}, []edit{
		{"fan.go", "if err != nil || above.End() != Open || above.Has(e.Op()) {", "if err != nil {"},
	}},
	{"acker: sweep stops at a failure", ackerFolder, test{"./pkg/xorack", "TestSweepGoesPastAFailure"}, []edit{
		{"sweep.go", "a.forEach(len(page), func(i int) { run.chain(ctx, page[i]) })", "for i := range page {\n\t\t\tif run.chain(ctx, page[i]); len(run.errs) > 0 {\n\t\t\t\tbreak\n\t\t\t}\n\t\t}"},
	}},
	{"acker: orphan at zero has ended", ackerFolder, ackerStore, []edit{
		{"store.go", "ddb.Or(chains.Created.Missing(), chains.Sum.Ne(ddb.Int(0)))", "chains.Sum.Ne(ddb.Int(0))"},
	}},
	{"acker: progress does not matter", ackerFolder, ackerStore, []edit{
		{"store_ends.go", "chains.Seen.Eq(ddb.Millis(o.Seen))", "chains.Seen.Ge(ddb.Millis(o.Seen))"},
	}},
}
