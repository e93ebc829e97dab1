package main

var (
	sending = by("pkg/timer", "TestFlush|TestSettleWindows|TestAgain|TestFarAhead|TestWhatIsNotSent|TestWhereTheTimeIsUp|TestTheNextAnswerIsNotKeptWaiting")
	settled = by("functions/sweep", "TestHandlerWakesKeyedQueues|TestSettlingGoesOnAtOnce|TestHandlerSweepsKeyedQueues")
)

// timerMutants are wake-ups that do too much, too early or again, or get lost.
var timerMutants = []mutant{
	bug("timer: the gap of another position is skipped", by(sorterFolder, "TestWakeUps?Of"),
		"wake.go", "due.IsZero() || due.After(s.now())", "due.IsZero()",
		"sweep.go", "s.now().Before(due) {", "false {",
		"sweep.go", "after, limit := cur.Settings.GapAfter,", "after, limit := time.Duration(0),"),
	bug("timer: a claim is taken over in its lease", by(deliveryFolder, "TestWakeUpsOf"),
		"wake.go", ".Add(time.Millisecond)", "",
		"store_claims.go", "isIn(Started), isOver(now)),\n", "isIn(Started)),\n",
		"sweep.go", "\tcase over(c, now):", "\tcase c.State == Started:"),
	bug("timer: a chain times out early", by(ackerFolder, "TestWakeUpsOf"),
		"wake.go", "now: a.now()}", "now: c.Deadline}"),
	bug("timer: a settle window's wake-up settles all of its queue", settled,
		"wake.go", "sortkey.SortKey(w.UpTo)", "sortkey.EverySortKey"),
	bug("sweep: a keyed queue that cannot be settled is not reported", settled,
		"../../pkg/cursor/sweep_keyed.go", "\t\tr.seen.Peak(tallyOverdue, done.Overdue)\n", "",
		"../../pkg/cursor/sweep_keyed.go", "\t\tr.seen.Add(tallyWaiting, done.Waiting.Count)\n", "\t\tr.seen.Add(tallyWaiting, done.Waiting.Count)\n\t\tr.seen.Peak(tallyOverdue, done.Overdue)\n"),
	bug("timer: what was refused is under way", sending,
		"timer.go", "taken := 0\n", "taken := 0\n\tfor _, w := range due {\n\t\tt.isSent(w, now)\n\t}\n"),
	bug("timer: a failed send fails the answer", sending,
		"timer.go", "\t\tdefer t.Flush(ctx)\n\t\treturn handle(ctx, event)\n", "\t\tanswer, err := handle(ctx, event)\n\t\tif _, failed := t.Flush(ctx); failed > 0 {\n\t\t\terr = context.DeadlineExceeded\n\t\t}\n\t\treturn answer, err\n"),
	bug("timer: nothing is sent where the time is up", sending,
		"timer.go", "context.WithoutCancel(ctx)", "ctx"),
	bug("timer: a settle takes all of a call", settled,
		"wake.go", "r.sorter.Settle(within,", "r.sorter.Settle(ctx,"),
}
