package main

// The folders that the two-phase delivery's bugs are planted in.
const (
	pullFolder   = "pkg/delivery/pull"
	markerFolder = "pkg/delivery/pull/sqlmarker"
)

// twoPhaseMutants are bugs in the two-phase delivery: store, loop, markers.
var twoPhaseMutants = []mutant{
	bug("two phases: takeover of a prepared claim",
		twoPhaseSuite.in("the tables are restored, and time"),
		"../store_claims.go", "ddb.And(isIn(Started", "ddb.And(isIn(Started, Prepared, InDoubt, Sending",
		"../puller.go", "case c.State == InDoubt, c.State == Prepared && over", "case c.State == InDoubt",
		"../puller.go", "c.Deferred), c.State == Prepared", "c.Deferred), c.State == Prepared && !over"),
	bug("two phases: no row means aborted", by(markerFolder, "TestTraceT1"),
		"markers.go", "\tif err := tx.Commit(); err != nil {\n\t\treturn \"\", nil, fmt.Errorf(\"settle", "\tif outcome == string(delivery.Aborted) {\n\t\treturn delivery.Aborted, nil, nil\n\t}\n\tif err := tx.Commit(); err != nil {\n\t\treturn \"\", nil, fmt.Errorf(\"settle"),
	bug("two phases: a conflict is a commit (T1)", by(markerFolder, "TestTraceT1"),
		"markers.go", "delivery.TokenOutcome(outcome), replies, nil", "delivery.Committed, replies, nil"),
	bug("two phases: abort on a lost database answer (T2)", twoPhaseSuite.in("restored"),
		"consume.go", "outcome, replies, err := run.db.Settle(ctx, h, committed)", "outcome, replies, err := delivery.TokenOutcome(delivery.Aborted), []delivery.Reply(nil), error(nil)"),
	bug("two phases: bare abort after the prepare (T2)", by(markerFolder, "TestTraceT2"),
		"../../puller_end.go", "if judge(c, h.Token) != notPrepared {", "if v := judge(c, h.Token); v == Prepared {\n\t\t\treturn p.d.store.AbortPrepared(ctx, h, f)\n\t\t} else if v != notPrepared {"),
	bug("two phases: markers dropped without a floor (T3)",
		by(markerFolder, "TestForget|TestTraceT3"),
		"markers.go", "\tif _, err := tx.ExecContext(ctx, m.dialect.Raise, append([]any{under}, key...)...); err != nil {\n\t\treturn false, err\n\t}\n", ""),
	bug("two phases: marker outside the transaction",
		by(markerFolder, "TestRolledBackIsAborted"),
		"markers.go", "done, err := tx.ExecContext(ctx, m.", "done, err := m.db.ExecContext(ctx, m."),
	bug("two phases: marker keyed by the number alone", by(markerFolder, "TestTheWholeKeyTells"),
		"markers.go", "h.Token.N, h.Token.Req)", "h.Token.N, \"\")"),
	bug("two phases: no look after the commit (T4)", by(markerFolder, "TestConsumeAll"),
		"../consume_apply.go", "Batch: a.Batch})\n", "Batch: a.Batch})\n\trun.ended = run.UntilEmpty\n"),
}
