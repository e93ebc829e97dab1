package main

// The folders that the two-phase delivery's bugs are planted in.
const (
	pullFolder   = "pkg/delivery/pull"
	markerFolder = "pkg/delivery/pull/sqlmarker"
)

func markerTest(pattern string) test { return test{"./pkg/delivery/pull/sqlmarker", pattern} }

// twoPhaseMutants are bugs in the two-phase delivery: store, loop, markers.
var twoPhaseMutants = []mutant{
	bug("two phases: takeover of a prepared claim", pullFolder,
		twoPhaseSuite.in("the tables are restored, and time"),
		"../store_claims.go", "ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now))))", "ddb.Or(isIn(Idle), ddb.And(isIn(Started, Prepared, InDoubt, Sending), isOver(now))))",
		"../puller.go", "case c.State == InDoubt, c.State == Prepared && over:",
		"case c.State == InDoubt:",
		"../puller.go", "(!over || c.Deferred), c.State == Prepared, c.State == Sending:",
		"(!over || c.Deferred), c.State == Prepared && !over, c.State == Sending:"),
	bug("two phases: no row means aborted", markerFolder, markerTest("TestTraceT1"),
		"markers.go", "\tif err := tx.Commit(); err != nil {\n\t\treturn \"\", nil, fmt.Errorf(\"settle", "\tif outcome == string(delivery.Aborted) {\n\t\treturn delivery.Aborted, nil, nil\n\t}\n\tif err := tx.Commit(); err != nil {\n\t\treturn \"\", nil, fmt.Errorf(\"settle"),
	bug("two phases: a conflict is a commit (T1)", markerFolder, markerTest("TestTraceT1"),
		"markers.go", "\treturn delivery.TokenOutcome(outcome), replies, nil\n",
		"\treturn delivery.Committed, replies, nil\n"),
	bug("two phases: abort on a lost database answer (T2)", pullFolder, twoPhaseSuite.in("restored"),
		"consume.go", "outcome, replies, err := run.db.Settle(ctx, h, committed)", "outcome, replies, err := delivery.TokenOutcome(delivery.Aborted), []delivery.Reply(nil), error(nil)"),
	bug("two phases: bare abort after the prepare (T2)", pullFolder, markerTest("TestTraceT2"),
		"../puller_end.go", "if judge(c, h.Token) != notPrepared {", "if v := judge(c, h.Token); v == Prepared {\n\t\t\treturn p.d.store.AbortPrepared(ctx, h, f)\n\t\t} else if v != notPrepared {"),
	bug("two phases: markers dropped without a floor (T3)", markerFolder,
		markerTest("TestForget|TestTraceT3"),
		"markers.go", "\tif _, err := tx.ExecContext(ctx, m.dialect.Raise, append([]any{under}, key...)...); err != nil {\n\t\treturn false, err\n\t}\n", ""),
	bug("two phases: marker outside the transaction", markerFolder,
		markerTest("TestRolledBackIsAborted"),
		"markers.go", "done, err := tx.ExecContext(ctx, m.dialect.Insert,",
		"done, err := m.db.ExecContext(ctx, m.dialect.Insert,"),
	bug("two phases: marker keyed by the number alone", markerFolder,
		markerTest("TestTheWholeKeyTells"),
		"markers.go", "h.Token.N, h.Token.Req)", "h.Token.N, \"\")"),
	bug("two phases: no look after the commit (T4)", pullFolder, markerTest("TestConsumeAll"),
		"consume_apply.go", "\trun.Observe(Step{Outcome: delivery.OK, Batch: a.Batch})\n", "\trun.Observe(Step{Outcome: delivery.OK, Batch: a.Batch})\n\trun.ended = run.UntilEmpty\n"),
}
