package main

// Where the timer's code is.
const (
	timerFolder  = "pkg/timer"
	wakersFolder = "functions/sweep"
)

var (
	sending    = test{"./pkg/timer", "TestFlush|TestSettleWindows|TestAgain|TestFarAhead|TestWhatIsNotSent|TestWhereTheTimeIsUp|TestTheNextAnswerIsNotKeptWaiting"}
	wokenUp    = test{"./functions/sweep", "TestHandlerWakes|TestWakeUpsThatComeAgain"}
	settled    = test{"./functions/sweep", "TestHandlerWakesKeyedQueues|TestSettlingGoesOnAtOnce|TestHandlerSweepsKeyedQueues"}
	longWork   = test{"./functions/sweep", "TestALargeBacklog|TestHeldQueuesAre|TestAPieceHolds"}
	dueLater   = test{"./functions/sweep", "TestWhatIsDueLaterKeepsItsWakeUp|TestWhatASettleLeavesHasAWakeUp"}
	started    = test{"./internal/runtime", "TestNew|TestAround|TestWakeUps"}
	wokenGap   = test{"./pkg/cursor", "TestWakeUps?Of"}
	wokenUser  = test{"./pkg/delivery", "TestWakeUpsOf"}
	wokenChain = test{"./pkg/xorack", "TestWakeUpsOf"}
)

// timerMutants are wake-ups that do too much, too early or again, or get lost.
var timerMutants = []mutant{
	{"timer: the gap of another position is skipped", sorterFolder, wokenGap, []edit{
		{"wake.go", "due.IsZero() || due.After(s.now())", "due.IsZero()"},
		{"sweep.go", "s.now().Before(due) {", "false {"},
		{"sweep.go", "after, limit := cur.Settings.GapAfter,", "after, limit := time.Duration(0),"},
	}},
	{"timer: a claim is taken over in its lease", deliveryFolder, wokenUser, []edit{
		{"wake.go", ".Add(time.Millisecond)", ""},
		{"store_claims.go", "isIn(Started), isOver(now)),\n", "isIn(Started)),\n"},
		{"sweep.go", "\tcase over(c, now):", "\tcase c.State == Started:"},
	}},
	{"timer: a chain times out early", ackerFolder, wokenChain, []edit{
		{"wake.go", "now: a.now()}", "now: c.Deadline}"},
	}},
	{"timer: a delay is rounded down", timerFolder, sending, []edit{
		{"wakeup.go", "(left + time.Second - 1) / time.Second", "left / time.Second"},
	}},
	{"timer: sent again, a settle window has no bound", timerFolder, sending, []edit{
		{"timer.go", "UpTo: w.UpTo, Due: due, Again:", "Due: due, Again:"},
	}},
	{"timer: a keyed queue that fails holds its shard up", sorterFolder, test{"./pkg/cursor", "TestOnArrivals"}, []edit{
		{"stream_keyed.go", "if !held && (lowest", "if held = false; !held && (lowest"},
	}},
	{"timer: a settle window's wake-up settles all of its queue", wakersFolder, settled, []edit{
		{"wake.go", "sortkey.SortKey(w.UpTo)", "sortkey.EverySortKey"},
	}},
	{"timer: a settle window's wake-up that is too early is gone", wakersFolder, settled, []edit{
		{"wake.go", "next = done.Waiting.Due", "next = time.Time{}"},
	}},
	{"timer: wake-ups of queues that are gone come again", wakersFolder, settled, []edit{
		{"wake.go", "case errors.Is(err, cursor.ErrNoQueue), errors.Is(err, cursor.ErrErased), errors.As(err, &none):", "case errors.As(err, &none):"},
	}},
	{"sweep: a keyed queue that cannot be settled is not reported", sorterFolder, settled, []edit{
		{"sweep_keyed.go", "\t\tr.seen.Peak(tallyOverdue, done.Overdue)\n", ""},
		{"sweep_keyed.go", "\t\tr.seen.Add(tallyWaiting, done.Waiting.Count)\n", "\t\tr.seen.Add(tallyWaiting, done.Waiting.Count)\n\t\tr.seen.Peak(tallyOverdue, done.Overdue)\n"},
	}},
	{"timer: what was refused is under way", timerFolder, sending, []edit{
		{"timer.go", "\ttaken := 0\n", "\ttaken := 0\n\tfor _, w := range due {\n\t\tt.isSent(w, now)\n\t}\n"},
	}},
	{"timer: a failed send fails the answer", timerFolder, sending, []edit{
		{"timer.go", "\t\tdefer t.Flush(ctx)\n\t\treturn handle(ctx, event)\n", "\t\tanswer, err := handle(ctx, event)\n\t\tif _, failed := t.Flush(ctx); failed > 0 {\n\t\t\terr = context.DeadlineExceeded\n\t\t}\n\t\treturn answer, err\n"},
	}},
	{"timer: nothing is sent where the time is up", timerFolder, sending, []edit{
		{"timer.go", "context.WithoutCancel(ctx)", "ctx"},
	}},
	{"timer: each wake-up settles its queue", wakersFolder, test{"./functions/sweep", "TestWakeUpsOfOneQueueAreOne"}, []edit{
		{"wake.go", "settles && of != nil {", "of != nil && of.UpTo == \"\" {"},
	}},
	{"timer: a settle takes all of a call", wakersFolder, settled, []edit{
		{"wake.go", "r.sorter.Settle(within,", "r.sorter.Settle(ctx,"},
	}},
	{"timer: a piece is as long where no call is free", wakersFolder, longWork, []edit{
		{"wake.go", "if late > congested {", "if late < 0 {"},
	}},
	{"timer: what a settle leaves has no wake-up", wakersFolder, dueLater, []edit{
		{"wake.go", "\tdefault:\n\t\tnext = done.Waiting.Due\n", "\tcase done.Placed == 0:\n\t\tnext = done.Waiting.Due\n"},
	}},
	{"sweep: what a run has no time for waits for the next round", sorterFolder, longWork, []edit{
		{"sweep.go", "\t\tw.options.Left(c)\n", ""},
	}},
	{"runtime: a handler has all of the time", "internal/runtime", started, []edit{
		{"runtime.go", "margin.Keep(ctx, headroom)", "margin.Keep(ctx, 0)"},
	}},
	{"runtime: what a handler noted is not sent", "internal/runtime", started, []edit{
		{"deps.go", "d.callEagerly, d.sendWakeUps)", "d.callEagerly)"},
	}},
	{"runtime: a start says only the last of what is wrong", "internal/runtime", started, []edit{
		{"deps.go", "d.err = errors.Join(d.err, err)", "d.err = errors.Join(err)"},
	}},
	{"sweep: a scheduled run lasts as long as a piece", wakersFolder, longWork, []edit{
		{"handler.go", "context.WithTimeout(ctx, calls-headroom)", "context.WithTimeout(ctx, 5*calls)"},
	}},
	{"timer: what cannot be read comes again", wakersFolder, wokenUp, []edit{
		{"wake.go", "is dropped\", \"error\", err)\n\t\t\tcontinue", "is dropped\", \"error\", err)\n\t\t\tall = append(all, &asked{messages: []string{m.MessageId}})\n\t\t\tcontinue"},
	}},
}
