package main

// The folders that the two-phase delivery's bugs are planted in.
const (
	pullFolder   = "pkg/delivery/pull"
	markerFolder = "pkg/delivery/pull/sqlmarker"
	databaseSim  = "verify/sim/consumers"
)

// twoPhases are the tests that walk the schedules of two databases.
var twoPhases = test{"./verify/sim/twophasesim", "TestEverySmallSchedule|TestRandomSchedules"}

func markerTest(pattern string) test { return test{"./pkg/delivery/pull/sqlmarker", pattern} }

// twoPhaseMutants are bugs in the two-phase delivery: in the store, in the loop
// of a consumer, and in the markers of its database; these are planted in the
// simulator's database too, which does as package sqlmarker does.
var twoPhaseMutants = []mutant{
	{"two phases: takeover of a prepared claim", pullFolder, twoPhases, []edit{
		{"../store_claims.go", "ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now))))", "ddb.Or(isIn(Idle), ddb.And(isIn(Started, Prepared, InDoubt, Sending), isOver(now))))"},
		{"../puller.go", "case c.State == InDoubt, c.State == Prepared && over:", "case c.State == InDoubt:"},
		{"../puller.go", "(!over || c.Deferred), c.State == Prepared, c.State == Sending:", "(!over || c.Deferred), c.State == Prepared && !over, c.State == Sending:"},
	}},
	{"two phases: prepare without condition", deliveryFolder, twoPhases, []edit{
		{"store_twophase.go", "isOwn(token, Started), setState(Prepared))", "isIn(Started, Prepared, InDoubt, Sending), setState(Prepared))"},
	}},
	{"two phases: no row means aborted", markerFolder, markerTest("TestSettledCannotCommit"), []edit{
		{"markers.go", "\tif err := tx.Commit(); err != nil {\n\t\treturn \"\", nil, fmt.Errorf(\"settle", "\tif outcome == string(delivery.Aborted) {\n\t\treturn delivery.Aborted, nil, nil\n\t}\n\tif err := tx.Commit(); err != nil {\n\t\treturn \"\", nil, fmt.Errorf(\"settle"},
	}},
	{"two phases: no row means aborted (simulated)", databaseSim, twoPhases, []edit{
		{"database.go", "\t\td.markers[h] = delivery.Aborted\n", "\t\treturn delivery.Aborted, nil\n"},
	}},
	{"two phases: a conflict is a commit (T1)", markerFolder, markerTest("TestTraceT1"), []edit{
		{"markers.go", "\treturn delivery.TokenOutcome(outcome), replies, nil\n", "\treturn delivery.Committed, replies, nil\n"},
	}},
	{"two phases: commit and claim without the token", deliveryFolder, twoPhases, []edit{
		{"store_twophase.go", "isHeld(seen.Token, Prepared, InDoubt), claim, Response{})", "isIn(Started, Prepared, InDoubt, Sending), claim, Response{})"},
	}},
	{"two phases: commit and claim before the prepare", deliveryFolder, test{"./pkg/delivery", "TestStoreCommitPreparedAndClaim/memory"}, []edit{
		{"store_twophase.go", "isHeld(seen.Token, Prepared, InDoubt), claim, Response{})", "isHeld(seen.Token, Started, Prepared, InDoubt), claim, Response{})"},
	}},
	{"two phases: commit and claim forgets the outcome", deliveryFolder, twoPhases, []edit{
		{"store_claims.go", "\t\tsetEnded(seen.Token, Committed), attrDelivered.Set", "\t\tattrDelivered.Set"},
	}},
	{"two phases: commit and claim from where it was", deliveryFolder, twoPhases, []edit{
		{"store_claims.go", "attrDelivered.Set(attrTo.Ref()), attrFrom.Set(attrTo.Ref()),", "attrDelivered.Set(attrTo.Ref()),"},
	}},
	{"two phases: abort on a lost database answer (T2)", pullFolder, twoPhases, []edit{
		{"consume.go", "outcome, replies, err := run.db.Settle(ctx, h, committed)", "outcome, replies, err := delivery.TokenOutcome(delivery.Aborted), []delivery.Reply(nil), error(nil)"},
	}},
	{"two phases: bare abort after the prepare (T2)", pullFolder, markerTest("TestTraceT2"), []edit{
		{"../puller_end.go", "if judge(c, h.Token) != notPrepared {", "if v := judge(c, h.Token); v == Prepared {\n\t\t\treturn p.d.store.AbortPrepared(ctx, h.Queue, h.Consumer, h.Token, f)\n\t\t} else if v != notPrepared {"},
	}},
	{"two phases: no marker", markerFolder, markerTest("TestLostAnswersAreSettled"), []edit{
		{"consume.go", "\tif err := d.Mark(ctx, tx, b, committed, replies...); isEnded(ctx, err) {\n\t\treturn pull.ErrEnded\n\t} else if err != nil {\n\t\treturn err\n\t}\n", "\t_ = replies\n"},
	}},
	{"two phases: no marker (simulated)", databaseSim, twoPhases, []edit{
		{"database.go", "\td.markers[h] = delivery.Committed\n", ""},
	}},
	{"two phases: unconditional quarantine", deliveryFolder, twoPhases, []edit{
		{"store_twophase.go", "ddb.And(isHeld(seen.Token, InDoubt), isOver(old), attrQuarantine.SizeLt(maxQuarantined)),", "attrQueue.Exists(),"},
	}},
	{"two phases: quarantine forgets the token", deliveryFolder, twoPhases, []edit{
		{"store_twophase.go", "append(setPassed(), asideOf(seen.Token.N).Set(encodeQuarantined(aside(seen))))...)", "setPassed()...)"},
	}},
	{"two phases: forgotten answered as cancelled", pullFolder, test{"./pkg/delivery/pull", "TestPullerConforms/memory"}, []edit{
		{"../claims.go", "\treturn forgotten\n", "\treturn Cancelled\n"},
	}},
	{"two phases: markers dropped without a floor (T3)", markerFolder, markerTest("TestForget|TestTraceT3"), []edit{
		{"markers.go", "\tif _, err := tx.ExecContext(ctx, m.dialect.Raise, append([]any{under}, key...)...); err != nil {\n\t\treturn false, err\n\t}\n", ""},
	}},
	{"two phases: marker outside the transaction", markerFolder, markerTest("TestRolledBackIsAborted"), []edit{
		{"markers.go", "done, err := tx.ExecContext(ctx, m.dialect.Insert, append(m.whole(h), string(delivery.Committed), text, b.Rewinds, b.To)...)", "done, err := m.db.ExecContext(ctx, m.dialect.Insert, append(m.whole(h), string(delivery.Committed), text, b.Rewinds, b.To)...)"},
	}},
	{"two phases: marker outside the transaction (simulated)", databaseSim, twoPhases, []edit{
		{"database.go", "\tif err := c.Effect(c.p, b); err != nil {\n", "\tc.DB.markers[h] = delivery.Committed\n\tif err := c.Effect(c.p, b); err != nil {\n"},
		{"database.go", "\tif d.markers[h] != \"\" {\n\t\treturn errSettled\n\t}\n", ""},
	}},
	{"two phases: marker keyed by the number alone", markerFolder, markerTest("TestTheWholeKeyTells"), []edit{
		{"markers.go", "h.Token.N, h.Token.Req)", "h.Token.N, \"\")"},
	}},
	{"two phases: no look after the commit (T4)", pullFolder, markerTest("TestTraceT4"), []edit{
		{"consume.go", "\trun.Observe(Step{Outcome: delivery.OK, Batch: a.Batch})\n", "\trun.Observe(Step{Outcome: delivery.OK, Batch: a.Batch})\n\trun.ended = run.UntilEmpty\n"},
	}},
	{"two phases: a restored database is not noticed", databaseSim, twoPhases, []edit{
		{"database.go", "case last < committed:", "case false:"},
	}},
	{"two phases: restored tables are not noticed (simulated)", databaseSim, twoPhases, []edit{
		{"database.go", "last.rewinds == b.Rewinds && last.To > b.From {", "false {"},
	}},
	{"two phases: a taken over claim is taken for restored tables", pullFolder, markerTest("TestATakenOverClaimIsNoRestore"), []edit{
		{"consume.go", "errors.As(err, &ahead) && failed == nil && aborted.Outcome == delivery.OK:", "errors.As(err, &ahead) && (failed == nil || aborted.Outcome == delivery.OK):"},
	}},
	{"two phases: another database settles", pullFolder, markerTest("TestAnotherDatabasesClaimIsNotSettled"), []edit{
		{"consume.go", "\treturn strings.HasPrefix(h.Token.Req, run.db.Name()+\"-\")\n", "\treturn strings.HasPrefix(h.Token.Req, \"\")\n"},
	}},
}
