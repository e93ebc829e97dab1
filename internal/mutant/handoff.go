package main

// deliveryFolder has the code that delivery's bugs are planted in.
const deliveryFolder = "pkg/handoff"

// deliveries are the tests that walk all small schedules and random ones.
var deliveries = test{"./internal/sim/handoffsim", "TestEverySmallSchedule|TestRandomSchedules"}

func deliverySchedule(name string) test { return smallSchedule(deliveries.folder, name) }

func deliveryTrace(name string) test { return test{"./internal/sim/handoffsim", "TestTrace" + name} }

// deliveryMutants are bugs in delivery. The store's conditions are planted in
// the memory store, which is what the simulator runs on; handofftest holds the
// DynamoDB store to the same.
var deliveryMutants = []mutant{
	{"commit without token", deliveryFolder, deliveries, []edit{
		{"memory.go", "held(token), func(c *Consumer) {\n\t\tc.end(Committed)", "func(c Consumer) bool { return c.State == Started }, func(c *Consumer) {\n\t\tc.end(Committed)"},
	}},
	{"commit without token and state", deliveryFolder, deliveries, []edit{
		{"memory.go", "held(token), func(c *Consumer) {\n\t\tc.end(Committed)", "func(Consumer) bool { return true }, func(c *Consumer) {\n\t\tc.end(Committed)"},
	}},
	{"token number used twice", deliveryFolder, deliveries, []edit{
		{"memory.go", "c.Token = Token{c.Token.N + 1, claim.Req}", "c.Token = Token{max(c.Token.N, 1), claim.Req}"},
		{"memory.go", "c.holds(Token{seen.Token.N + 1, claim.Req})", "c.holds(Token{max(seen.Token.N, 1), claim.Req})"},
	}},
	{"commit and claim without token", deliveryFolder, deliveries, []edit{
		{"memory.go", "claim, held(token))", "claim, func(c Consumer) bool { return c.State == Started })"},
	}},
	{"commit before handing over", deliveryFolder, deliveries, []edit{
		{"deliver.go", "if cause := run.hand(", "if _, _, err := run.store.Commit(ctx, c.Queue, c.Name, c.Token); err != nil {\n\t\t\treturn c, err\n\t\t}\n\t\tif cause := run.hand("},
	}},
	{"takeover ignores the lease: claims for ever", deliveryFolder, deliveries, []edit{
		{"deliver.go", "c.State == Started && !c.LeaseUntil.Before(milliseconds(now)):", "false:"},
	}},
	{"takeover ignores the lease: order broken", deliveryFolder, deliveries, []edit{
		{"deliver.go", "c.State == Started && !c.LeaseUntil.Before(milliseconds(now)):", "false:"},
		{"memory.go", "(c.State == Idle || c.over(now) && !c.Tracked)", "(c.State == Idle || c.State == Started)"},
	}},
	{"stale position", sorterFolder, deliveries, []edit{
		{"sorter.go", "s.store.Cursor(ctx, queue, true)", "s.store.Cursor(ctx, queue, false)"},
	}},
	{"operator without condition: skip", deliveryFolder, deliveries, []edit{
		{"memory.go", "return c.Token.N == seen.Token.N && c.State == Blocked && c.Delivered == seen.Delivered", "return true"},
	}},
	{"operator without condition: rewind", deliveryFolder, deliverySchedule("rewound"), []edit{
		{"memory.go", "return c.Token.N == seen.Token.N && (c.State == Idle || c.State == Blocked)", "return true"},
	}},
	{"no look after commit (T4)", deliveryFolder, deliveryTrace("T4"), []edit{
		{"deliver.go", "run.fresh = false\n", "run.fresh = true\n"},
	}},
	{"lease not looked at by its own clock (T5)", deliveryFolder, deliveryTrace("T5"), []edit{
		{"deliver.go", "c.State == Started && !c.LeaseUntil.Before(milliseconds(now)):", "c.State == Started && !c.LeaseUntil.Before(milliseconds(now.Add(2 * time.Second))):"},
		{"memory.go", "(c.State == Idle || c.over(now) && !c.Tracked)", "(c.State == Idle || c.over(now.Add(2 * time.Second)))"},
	}},
	{"attempts counted by failures (T6)", deliveryFolder, deliveryTrace("T6"), []edit{
		{"memory.go", "c.claim(c.Delivered, claim)\n\t\tc.Attempts++", "c.claim(c.Delivered, claim)"},
		{"memory.go", "c.end(Aborted)\n", "c.end(Aborted)\n\t\tc.Attempts++\n"},
	}},
	{"the second attempt has all again (T7)", deliveryFolder, deliveryTrace("T7"), []edit{
		{"deliver.go", "if attempts > 0 || after < singleTo {", "if false {"},
	}},
	{"failure without token", deliveryFolder, deliveries, []edit{
		{"memory.go", "held(token), func(c *Consumer) {\n\t\tc.Tracked = false", "func(c Consumer) bool { return c.State == Started }, func(c *Consumer) {\n\t\tc.Tracked = false"},
	}},
	{"cancel ignores the lease", deliveryFolder, deliveries, []edit{
		{"sweep.go", "\tcase c.over(now):", "\tcase c.State == Started:"},
		{"memory.go", "return c.Token.N == seen.Token.N && c.over(now) && !c.Tracked", "return c.Token.N == seen.Token.N && c.State == Started"},
	}},
	{"claimed while paused", deliveryFolder, deliverySchedule("paused and resumed"), []edit{
		{"memory.go", "c.Delivered == seen.Delivered && c.Paused == \"\" && c.Starting == \"\" &&", "c.Delivered == seen.Delivered && c.Starting == \"\" &&"},
	}},
	{"claimed while starting", deliveryFolder, deliverySchedule("rewound"), []edit{
		{"deliver.go", "case c.Starting != \"\":", "case false:"},
		{"memory.go", "c.Delivered == seen.Delivered && c.Paused == \"\" && c.Starting == \"\" &&", "c.Delivered == seen.Delivered && c.Paused == \"\" &&"},
	}},
	{"delivers what the record shows only", deliveryFolder, deliveries, []edit{
		{"deliver.go", "if run.position <= c.Delivered && !run.fresh {", "if run.position < 0 && !run.fresh {"},
	}},
	{"a failure of the store ends nothing", deliveryFolder, test{"./pkg/handoff", "TestDeliverEndsWhereTheStoreFails"}, []edit{
		{"deliver.go", "if err != nil {\n\t\t\treturn err\n\t\t}\n\t\trun.Record = c\n", "run.Record = c\n"},
	}},
	{"nobody is woken up after a rewind's death (T12)", deliveryFolder, deliveryTrace("T12"), []edit{
		{"operate.go", "if err := d.keepAwake(ctx, it); err != nil {", "if err := error(nil); err != nil {"},
	}},
	{"nobody is woken up after a slow start (T11)", deliveryFolder, deliveryTrace("T11"), []edit{
		{"start.go", "// Whoever began the start may have slept since then.\n\tif err := d.keepAwake(ctx, it); err != nil {", "if err := error(nil); err != nil {"},
	}},
	{"a queue that the sweep failed on is left to the full round", deliveryFolder, test{"./pkg/handoff", "TestSweepLooksAgainWhereItFailed"}, []edit{
		{"sweep.go", "unseen = d.sorter.Nudge(ctx, it.Queue) != nil", "unseen = true"},
		{"../cursor/walk.go", "progress.Began = progress.Before\n", "_ = progress\n"},
	}},
	{"a round that failed counts as one", sorterFolder, test{"./pkg/handoff", "TestSweepLooksAgainWhereItFailed"}, []edit{
		{"walk.go", "progress.Began = progress.Before\n", "_ = progress\n"},
	}},
	{"dead claims are left to the next record", deliveryFolder, test{"./pkg/handoff", "TestSweepEndsDeadClaims"}, []edit{
		{"sweep.go", "\tcase c.over(now):", "\tcase false:"},
	}},
	{"a replay comes one by one", deliveryFolder, test{"./pkg/handoff", "TestReplayComesInBatches"}, []edit{
		{"memory.go", "c.Delivered, c.Starting, c.SingleTo = delivered, op, 0", "c.Delivered, c.Starting = delivered, op"},
	}},
	{"steps over what is missing", deliveryFolder, test{"./pkg/handoff", "TestMissing"}, []edit{
		{"deliver.go", "run.Ended, run.Cause = Missing, missing\n\t\t\treturn batch, nil", "batch.To = missing.Seq\n\t\t\treturn batch, nil"},
	}},
	{"own commit not recognised", deliveryFolder, test{"./pkg/handoff", "TestMemoryConforms"}, []edit{
		{"memory.go", "return c, made || known && outcome == Committed, err", "_, _ = outcome, known\n\treturn c, made, err"},
	}},
	{"own claim not recognised", deliveryFolder, test{"./pkg/handoff", "TestMemoryConforms"}, []edit{
		{"memory.go", "return c, made || c.holds(Token{seen.Token.N + 1, claim.Req}), err", "return c, made, err"},
	}},
	{"a queue that failed counts as done", deliveryFolder, test{"./pkg/handoff", "TestABadQueueHoldsUpNoOther|TestAQueueWhoseStoreFailsComesAgain"}, []edit{
		{"stream.go", "j.again, j.cause = d.again(done), done.Err", "j.cause = done.Err"},
	}},
	{"a queue that goes on failing holds up its shard", deliveryFolder, test{"./pkg/handoff", "TestABadQueueHoldsUpNoOther"}, []edit{
		{"stream.go", "return done.Record.RetryAt.Sub(d.now()) <= soon", "return true"},
	}},
	{"nobody nudges who lags", deliveryFolder, deliveries, []edit{
		{"sweep.go", "if lags {", "if false {"},
	}},
	{"deleted up to the floor, whoever began meanwhile (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"sweep_retire.go", "min(it.Floor, lowest)", "it.Floor"},
	}},
	{"a start that does not look at the floor (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"start.go", "max(c.Delivered, it.Floor), it.Position)", "c.Delivered, it.Position)"},
	}},
	{"a start that does not look at what is there (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"start.go", "c.Queue, c.Name, c.Starting, missing)", "c.Queue, c.Name, c.Starting, c.Delivered+0*missing)"},
	}},
	{"a start that keeps nothing (T10)", sorterFolder, deliveryTrace("T10"), []edit{
		{"retention.go", "if s.keepDue(m) {", "if false {"},
	}},
	{"the slowest consumer is not looked for (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"operate.go", " < seq {", " > seq {"},
	}},
}
