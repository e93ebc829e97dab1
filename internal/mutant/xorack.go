package main

// ackerFolder has the code that the acker's bugs are planted in.
const ackerFolder = "pkg/xorack"

// ackerSchedules are the tests that walk all small schedules and random ones.
var ackerSchedules = test{"./internal/sim/xoracksim", "TestEverySmallSchedule|TestRandomSchedules"}

func ackerSchedule(name string) test { return smallSchedule(ackerSchedules.folder, name) }

func ackerTrace(name string) test { return test{"./internal/sim/xoracksim", "TestTrace" + name + "$"} }

// ackerStore are the tests of the store on a real server.
var ackerStore = test{"./pkg/xorack", "TestDynamoConforms/dynoxide"}

// ackerMutants are bugs in the acker. The store's conditions are planted in the
// memory store, which is what the simulator runs on; xoracktest holds the
// DynamoDB store to the same.
var ackerMutants = []mutant{
	{"acker: generations of marks", ackerFolder, ackerTrace("Generations"), []edit{
		{"memory.go", "slices.SortFunc(c.Ops, compareOps)\n", "if len(c.Ops) > 2 {\n\t\t\t\tc.Ops = c.Ops[len(c.Ops)-2:]\n\t\t\t}\n\t\t\tslices.SortFunc(c.Ops, compareOps)\n"},
	}},
	{"acker: end as a second write", ackerFolder, ackerTrace("SecondWrite"), []edit{
		{"chain.go", "case c.IsCreated() && !c.HasStamps() && c.Sum.IsZero():", "case false:"},
		{"apply.go", "\t\tc = there\n", "\t\tif c = there; c.Recorded == Open && c.Sum.IsZero() {\n\t\t\tif c, _, err = a.store.Seal(ctx, c.Tag, c.Incarnation, c.Seen, a.now()); err != nil {\n\t\t\t\treturn nil, err\n\t\t\t}\n\t\t}\n"},
	}},
	{"acker: end guarded by st only", ackerFolder, ackerTrace("JoinedAfterTheEnd"), []edit{
		{"memory.go", "func open(c Chain) bool { return c.End() == Open }", "func open(c Chain) bool { return c.Recorded == Open }"},
	}},
	{"acker: TTL from the deadline", ackerFolder, ackerTrace("TTLFromTheDeadline"), []edit{
		{"create.go", "ExpiresOn: Never, Parent: o.Parent,", "ExpiresOn: now.Add(o.Deadline), Parent: o.Parent,"},
	}},
	{"acker: bare XOR", ackerFolder, ackerTrace("BareXOR"), []edit{
		{"memory.go", "\t\t\t\t!slices.ContainsFunc(w.Ops, c.Has) && len(c.Ops) <= w.Room", "\t\t\t\tlen(c.Ops) <= w.Room"},
		{"memory.go", "c.Sum, c.Edges = c.Sum.Plus(w.Delta), c.Edges+w.Edges", "c.Sum.Hi, c.Sum.Lo, c.Edges = c.Sum.Hi^w.Delta.Hi, c.Sum.Lo^w.Delta.Lo, c.Edges+w.Edges"},
		{"apply.go", "sum = sum.Minus(sumOf(o.edge.id))", "sum.Hi, sum.Lo = sum.Hi^sumOf(o.edge.id).Hi, sum.Lo^sumOf(o.edge.id).Lo"},
		{"apply.go", "sum = sum.Plus(sumOf(child.id))", "sum.Hi, sum.Lo = sum.Hi^sumOf(child.id).Hi, sum.Lo^sumOf(child.id).Lo"},
	}},
	{"acker: fails after its end", ackerFolder, ackerTrace("FailedAfterItsEnd"), []edit{
		{"memory.go", "!c.HasStamps() && !c.Has(f.Op)", "!c.HasStamps()"},
	}},
	{"acker: idle without a look at seen", ackerFolder, ackerTrace("ProgressMeanwhile"), []edit{
		{"memory.go", "return c.Seen.Equal(milliseconds(t.Seen))", "return true"},
	}},
	{"acker: no mark of operations", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "\t\t\t\t!slices.ContainsFunc(w.Ops, c.Has) && len(c.Ops) <= w.Room", "\t\t\t\tlen(c.Ops) <= w.Room"},
	}},
	{"acker: operation after the end", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "return open(c) && same(c, w.Incarnation)", "return same(c, w.Incarnation)"},
	}},
	{"acker: operation before create refused", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "return open(c) && same(c, w.Incarnation)", "return c.IsCreated() && open(c) && same(c, w.Incarnation)"},
	}},
	{"acker: end and children in two writes", ackerFolder, ackerSchedules, []edit{
		{"apply.go", "return a.one(ctx, EndOf(e, children...))", "if r, err := a.one(ctx, EndOf(e)); err != nil || len(children) == 0 {\n\t\treturn r, err\n\t}\n\treturn a.one(ctx, StartOf(e, \"children\", children...))"},
	}},
	{"acker: create as a put", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "c.Sum, c.Edges = c.Sum.Plus(n.Sum), c.Edges+n.Edges", "c.Sum, c.Edges, c.Ops = n.Sum, n.Edges, nil"},
	}},
	{"acker: own create not recognised", ackerFolder, ackerSchedules, []edit{
		{"create.go", "\t\t\treturn there, nil\n\t\tcase", "\t\t\treturn Chain{}, ErrTagExists\n\t\tcase"},
	}},
	{"acker: own expired chain replaced", ackerFolder, ackerSchedules, []edit{
		{"create.go", "case there.Incarnation == c.Incarnation && (!there.IsCreated() || there.Options == c.Options):", "case there.Incarnation == c.Incarnation && there.Options == c.Options && !a.replaceable(there):"},
		{"create.go", "case there.Incarnation == c.Incarnation || !a.replaceable(there):", "case !a.replaceable(there):"},
	}},
	{"acker: living chain replaced", ackerFolder, ackerSchedule("tag used again"), []edit{
		{"create.go", "return !c.ExpiresOn.After(seconds(a.now()))", "return c.End() != Open"},
		{"memory.go", "(!c.IsCreated() || !c.ExpiresOn.After(seconds(n.Created)))", "true"},
	}},
	{"acker: tag used again without incarnation", ackerFolder, ackerSchedule("two for one tag"), []edit{
		{"memory.go", "return c.Incarnation == Incarnation{} || c.Incarnation == inc", "return true"},
	}},
	{"acker: failure after the end", ackerFolder, ackerTrace("FailedAfterItWasGivenUp"), []edit{
		{"memory.go", "return open(c) && same(c, f.Incarnation)", "return same(c, f.Incarnation)"},
	}},
	{"acker: failure that nobody looks for", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "c.EndedAt, c.Due, c.ExpiresOn = milliseconds(f.Now), milliseconds(f.Now), Never", "c.EndedAt, c.ExpiresOn = milliseconds(f.Now), Never"},
	}},
	{"acker: time-out after the end", ackerFolder, ackerSchedule("time-out"), []edit{
		{"memory.go", "if c.Incarnation != t.Incarnation || !c.IsCreated() || !open(c) {", "if c.Incarnation != t.Incarnation || !c.IsCreated() {"},
	}},
	{"acker: time-out without the deadline", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "return !c.Deadline.After(milliseconds(t.Now))", "return true"},
	}},
	{"acker: time-out without a look at it", ackerFolder, ackerSchedules, []edit{
		{"sweep.go", "case !c.Deadline.After(r.now):", "case !c.Due.After(r.now):"},
		{"memory.go", "return !c.Deadline.After(milliseconds(t.Now))", "return true"},
	}},
	{"acker: deadline goes back", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "c.IsCreated() && open(c) && c.Deadline.Before(deadline)", "c.IsCreated() && open(c)"},
	}},
	{"acker: extended after the end", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "c.IsCreated() && open(c) && c.Deadline.Before(deadline)", "c.IsCreated() && c.Deadline.Before(deadline)"},
		{"end.go", "case c.End() != Open:\n\t\treturn Result{already(c.End()), c}, nil\n", ""},
	}},
	{"acker: abandoned within its time", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "!c.HasStamps() && (!c.IsCreated() || !c.Deadline.After(milliseconds(o.Now)))", "!c.HasStamps()"},
	}},
	{"acker: delete after the end", ackerFolder, ackerSchedules, []edit{
		{"memory.go", "return c.Exists() && open(c) && !c.HasStamps()", "return c.Exists() && !c.HasStamps()"},
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
	{"acker: no look before the deadline", ackerFolder, ackerSchedules, []edit{
		{"create.go", "if c.Deadline.Before(next) {", "if true {"},
	}},
	{"acker: sealed before it is announced", ackerFolder, ackerSchedules, []edit{
		{"finish.go", "if announce != nil && !c.Sub {", "if _, _, err := a.store.Seal(ctx, c.Tag, c.Incarnation, c.Ended(), a.now().Add(a.tombstone)); err != nil {\n\t\treturn false, err\n\t}\n\tif announce != nil && !c.Sub {"},
	}},
	{"acker: end not carried", ackerFolder, ackerSchedule("nested"), []edit{
		{"finish.go", "if c.Parent.IsZero() {", "if true {"},
	}},
	{"acker: carrying fails, and nobody cares", ackerFolder, ackerSchedules, []edit{
		{"finish.go", "if err := a.carry(ctx, c); err != nil {", "if err := a.carry(ctx, c); false {"},
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
		{"memory.go", "return c.Incarnation == inc && !c.Due.IsZero() && !open(c)", "return !c.Due.IsZero()"},
		{"finish.go", "if err != nil || c.End() == Open || c.Due.IsZero() {", "if err != nil || c.Due.IsZero() {"},
	}},
	{"acker: tombstone too short", ackerFolder, ackerSchedule("expiry"), []edit{
		{"finish.go", "c.Ended(), a.now().Add(a.tombstone))", "c.Ended(), a.now())"},
	}},
	{"acker: expiry set by an operation", ackerFolder, ackerSchedule("no expiry while it is open"), []edit{
		{"memory.go", "c.ExpiresOn = firstTime(c.ExpiresOn, seconds(w.Orphan))\n\t\t\tc.Sum", "c.ExpiresOn = seconds(w.Orphan)\n\t\t\tc.Sum"},
	}},
	{"acker: stamps settled without a count", ackerFolder, ackerSchedule("stamps that are zero too early"), []edit{
		{"memory.go", "c.Recorded == Open && len(c.Stamps) == stamps", "c.Recorded == Open"},
	}},
	{"acker: stamps without marks", ackerFolder, ackerSchedule("stamps that are zero too early"), []edit{
		{"stamps.go", "return append(op[:stampMark:stampMark], stamp...)", "_ = op\n\treturn append(make([]byte, stampMark, stampMark), stamp...)"},
	}},
	{"acker: repeated stamp counts again", ackerFolder, ackerSchedule("stamps that are zero too early"), []edit{
		{"stamps.go", "if id != \"\" {\n\t\thash := derive(kind", "if id == \"\" {\n\t\thash := derive(kind"},
	}},
	{"acker: acked by nobody's record", ackerFolder, ackerSchedule("stamps, and nobody comes again"), []edit{
		{"finish.go", "c, _, err := a.settle(ctx, c)\n", "var err error\n"},
		{"sweep.go", "if c, _, err = a.settle(ctx, c); err != nil {", "if err != nil {"},
	}},
	{"acker: nobody heals, on a server", ackerFolder, test{"./pkg/xorack", "TestWhoeverDiesLeavesNothingUndone"}, []edit{
		{"sweep.go", "finished, err := a.Finish(ctx, c, r.announce)", "finished, err := false, error(nil)"},
	}},
	{"acker: own operation not recognised, on a server", ackerFolder, test{"./pkg/xorack", "TestEveryRequestGoesWrongOnce"}, []edit{
		{"apply.go", "case c.Has(op):\n\t\t\t\toutcomes[op]", "case c.Has(op) && applied:\n\t\t\t\toutcomes[op]"},
	}},
	{"acker: altered token taken", ackerFolder, test{"./pkg/xorack", "TestAlteredToken"}, []edit{
		{"edge.go", "if binary.BigEndian.Uint32(raw[21:]) != e.checksum() {", "if false {"},
	}},
	{"acker: other children answered as started", ackerFolder, test{"./pkg/xorack", "TestOtherChildren"}, []edit{
		{"apply.go", "if c.Has(o.op()) && !o.countsIn(c) {", "if false {"},
	}},
	{"acker: edges started under one that ended", ackerFolder, test{"./pkg/xorack", "TestAddUnderAnEdgeThatEnded|TestMemoryConforms"}, []edit{
		{"memory.go", " && !slices.ContainsFunc(w.Before, c.Has) &&", " &&"},
	}},
	{"acker: end before what it must follow", ackerFolder, test{"./pkg/xorack", "TestManyAddsAtOnce"}, []edit{
		{"apply.go", "return operations[b].conditions() - operations[a].conditions()", "return 0"},
	}},
	{"acker: part of a fan times out before its tree", ackerFolder, test{"./pkg/xorack", "TestFanHasTheTimeOfItsTree"}, []edit{
		{"sweep.go", "if !c.Sub || c.Deadline.After(r.now) {", "if true {"},
	}},
	{"acker: parts of a fan for one that has ended", ackerFolder, test{"./pkg/xorack", "TestFanAfterTheEnd"}, []edit{
		{"fan.go", "if err != nil || above.End() != Open || above.Has(e.Op()) {", "if err != nil {"},
	}},
	{"acker: sweep stops at a failure", ackerFolder, test{"./pkg/xorack", "TestSweepGoesPastAFailure"}, []edit{
		{"sweep.go", "a.forEach(len(page), func(i int) { run.chain(ctx, page[i]) })", "for i := range page {\n\t\t\tif run.chain(ctx, page[i]); len(run.errs) > 0 {\n\t\t\t\tbreak\n\t\t\t}\n\t\t}"},
	}},
	// The same conditions where DynamoDB checks them.
	{"acker: DynamoDB: edges started under one that ended", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "range slices.Concat(w.Ops, w.Before) {", "range slices.Clone(w.Ops) {"},
	}},
	{"acker: DynamoDB: no mark of operations", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "\"NOT (\"+strings.Join(contains, \" OR \")+\")\"", "\"NOT (\"+strings.Join(contains[1:], \" OR \")+\" OR \"+contains[len(contains)-1]+\")\""},
	}},
	{"acker: DynamoDB: end by st only", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "isOpen    = \"attribute_not_exists(#st) AND (attribute_not_exists(#created) OR #n <> :zero)\"", "isOpen    = \"attribute_not_exists(#st) AND (attribute_not_exists(#created) OR #n <> :zero OR #n = :zero)\""},
	}},
	{"acker: DynamoDB: end before create", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "isOpen    = \"attribute_not_exists(#st) AND (attribute_not_exists(#created) OR #n <> :zero)\"", "isOpen    = \"attribute_not_exists(#st) AND (#n <> :zero OR attribute_not_exists(#created) AND attribute_not_exists(#n))\""},
	}},
	{"acker: DynamoDB: any incarnation", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "isSame    = \"(attribute_not_exists(#inc) OR #inc = :inc)\"", "isSame    = \"(attribute_not_exists(#inc) OR #inc = :inc OR #inc <> :inc)\""},
	}},
	{"acker: DynamoDB: expiry set by an operation", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "#lastOp = :last, #expiresOn = if_not_exists(#expiresOn, :orphan) ", "#lastOp = :last, #expiresOn = :orphan "},
	}},
	{"acker: DynamoDB: settled without a count", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "isKnown, \"size(#stamps) = :stamps\"), e)", "isKnown, \"size(#stamps) >= :stamps\"), e)"},
	}},
	{"acker: DynamoDB: progress does not matter", ackerFolder, ackerStore, []edit{
		{"dynamo.go", "overdue = \"#seen = :seen\"", "overdue = \"#seen >= :seen\""},
	}},
}
