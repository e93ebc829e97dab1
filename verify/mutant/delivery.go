package main

// deliveryFolder has the code that delivery's bugs are planted in.
const deliveryFolder = "pkg/delivery"

// sharing are the tests of what consumers share of a read.
var sharing = test{"./pkg/delivery", "TestConsumers|TestAReadThatFails"}

// deliveries are the tests that walk all small schedules and random ones.
var deliveries = test{"./verify/sim/deliverysim", "TestEverySmallSchedule|TestRandomSchedules"}

func deliverySchedule(name string) test { return smallSchedule(deliveries.folder, name) }

func deliveryTrace(name string) test { return test{"./verify/sim/deliverysim", "TestTrace" + name} }

// deliveryMutants are bugs in delivery and in its store's requests.
var deliveryMutants = []mutant{
	{"commit without token", deliveryFolder, deliveries, []edit{
		{"store_claims.go", "\"commit\", queue, name, isHeld(token, Started),", "\"commit\", queue, name, isIn(Started),"},
	}},
	{"commit without token and state", deliveryFolder, deliveries, []edit{
		{"store_claims.go", "\"commit\", queue, name, isHeld(token, Started),", "\"commit\", queue, name, attrQueue.Exists(),"},
	}},
	{"token number used twice", deliveryFolder, deliveries, []edit{
		{"store_claims.go", "takeOver(seen), setClaim(seen.Token.N+1, claim),", "takeOver(seen), setClaim(max(seen.Token.N, 1), claim),"},
		{"store_claims.go", "isTakeable(seen, claim.Now), set...)\n\treturn c, made || c.holds(Token{seen.Token.N + 1, claim.Req})", "isTakeable(seen, claim.Now), set...)\n\treturn c, made || c.holds(Token{max(seen.Token.N, 1), claim.Req})"},
	}},
	{"a claim is made again by its first copy", deliveryFolder, deliverySchedule("a first copy comes late"), []edit{
		{"store_claims.go", "isNumber(seen.Token.N), isIn(seen.State), attrDelivered.Eq(ddb.Int(seen.Delivered)),", "isIn(seen.State),"},
	}},
	{"commit and claim without token", deliveryFolder, deliveries, []edit{
		{"store_claims.go", "isHeld(seen.Token, Started), claim, answer)", "isIn(Started), claim, answer)"},
	}},
	{"commit before the delivery", deliveryFolder, deliveries, []edit{
		{"deliver.go", "if cause := run.hand(", "if _, _, err := run.store.Commit(ctx, c.Queue, c.Name, c.Token, Response{}); err != nil {\n\t\t\treturn c, err\n\t\t}\n\t\tif cause := run.hand("},
	}},
	{"takeover ignores the lease: claims for ever", deliveryFolder, deliveries, []edit{
		{"deliver.go", "c.State == Started && !c.LeaseUntil.Before(ddb.ToMillis(now)):", "false:"},
	}},
	{"takeover ignores the lease: order broken", deliveryFolder, deliveries, []edit{
		{"deliver.go", "c.State == Started && !c.LeaseUntil.Before(ddb.ToMillis(now)):", "false:"},
		{"store_claims.go", "ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now))))", "isIn(Idle, Started))"},
	}},
	{"stale position", sorterFolder, deliveries, []edit{
		{"sorter.go", "s.store.Cursor(ctx, queue, true)", "s.store.Cursor(ctx, queue, false)"},
	}},
	{"operator without condition: skip", deliveryFolder, deliveries, []edit{
		{"store_operate.go", "ddb.And(isNumber(seen.Token.N), isIn(Idle, Blocked), attrDelivered.Eq(ddb.Int(seen.Delivered))),", "attrQueue.Exists(),"},
	}},
	{"skipped while it is tried again", deliveryFolder, deliverySchedule("skipped while it is tried again"), []edit{
		{"store_operate.go", "ddb.And(isNumber(seen.Token.N), isIn(Idle, Blocked), attrDelivered.Eq(ddb.Int(seen.Delivered))),", "attrDelivered.Eq(ddb.Int(seen.Delivered)),"},
	}},
	{"what never failed is skipped", deliveryFolder, deliverySchedule("skipped while it is tried again"), []edit{
		{"operate.go", "case c.State != Blocked && !c.Retries():", "case false:"},
		{"operate.go", "case o.Kind == opSkip && c.State != Blocked && !c.alone():", "case false:"},
	}},
	{"what failed with others is skipped", deliveryFolder, deliverySchedule("failed with others, redriven and skipped"), []edit{
		{"operate.go", "case o.Kind == opSkip && c.State != Blocked && !c.alone():", "case false:"},
	}},
	{"operator without condition: rewind", deliveryFolder, deliverySchedule("rewound"), []edit{
		{"store_operate.go", "ddb.And(isNumber(seen.Token.N), isIn(Idle, Blocked)),", "attrQueue.Exists(),"},
	}},
	{"what is noted with a claim is passed over (T4)", deliveryFolder, deliveryTrace("T4"), []edit{
		{"deliver.go", "run.position = max(run.position, run.Record.Asked)\n", ""},
	}},
	{"who is stopped by a claim notes nothing (T4)", deliveryFolder, deliveryTrace("T4"), []edit{
		{"deliver.go", "after, noted, err := run.store.Ask(ctx, c, run.position)", "after, noted, err := c, true, error(nil)"},
	}},
	{"noted with a claim that has ended (T4)", deliveryFolder, deliveryTrace("T4"), []edit{
		{"store_claims.go", "isHeld(seen.Token, Started, Sending), ddb.Or(", "attrQueue.Exists(), ddb.Or("},
	}},
	{"remembered though the store failed", deliveryFolder, deliverySchedule("a warm process, 1 fault"), []edit{
		{"seen.go", "if failed == nil && c.State", "if c.State"},
	}},
	{"lease not looked at by its own clock (T5)", deliveryFolder, deliveryTrace("T5"), []edit{
		{"deliver.go", "c.State == Started && !c.LeaseUntil.Before(ddb.ToMillis(now)):", "c.State == Started && !c.LeaseUntil.Before(ddb.ToMillis(now.Add(2 * time.Second))):"},
		{"store_claims.go", "ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now))))", "ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now.Add(2*time.Second)))))"},
	}},
	{"attempts counted by failures (T6)", deliveryFolder, deliveryTrace("T6"), []edit{
		{"store_claims.go", ", attrAttempts.Plus(1)})", "})"},
		{"store_claims.go", "setEnded(t, outcome), attr", "setEnded(t, outcome), attrAttempts.Plus(1), attr"},
	}},
	{"the last attempt has all again (T7)", deliveryFolder, deliveryTrace("T7"), []edit{
		{"read.go", "case r.MaxAttempts > 0 && attempts+1 >= r.MaxAttempts:\n\t\treturn 1\n", ""},
		{"health.go", "case c.ownAttempts() < attempts || !c.alone():", "case c.Attempts < attempts:"},
	}},
	{"failure without token", deliveryFolder, deliveries, []edit{
		{"store_claims.go", "\"fail\", queue, name, isHeld(token, Started),", "\"fail\", queue, name, isIn(Started),"},
	}},
	{"cancel ignores the lease", deliveryFolder, deliveries, []edit{
		{"sweep.go", "\tcase over(c, now):", "\tcase c.State == Started:"},
		{"store_claims.go", "isIn(Started), isOver(now)),\n", "isIn(Started)),\n"},
	}},
	{"claimed while paused", deliveryFolder, deliverySchedule("paused and resumed"), []edit{
		{"store_claims.go", "\t\tattrPaused.Missing(), attrStarting.Missing(),", "\t\tattrStarting.Missing(),"},
	}},
	{"claimed while starting", deliveryFolder, deliverySchedule("rewound"), []edit{
		{"deliver.go", "case c.Starting != \"\":", "case false:"},
		{"store_claims.go", "\t\tattrPaused.Missing(), attrStarting.Missing(),", "\t\tattrPaused.Missing(),"},
	}},
	{"nobody is woken up after a rewind's death (T12)", deliveryFolder, deliveryTrace("T12"), []edit{
		{"operate.go", "if err := d.keepAwake(ctx, cur); err != nil {", "if err := error(nil); err != nil {"},
	}},
	{"nobody is woken up after a slow start (T11)", deliveryFolder, deliveryTrace("T11"), []edit{
		{"start.go", "// The process that began the start may have slept since then.\n\tif err := d.keepAwake(ctx, it); err != nil {", "if err := error(nil); err != nil {"},
	}},
	{"a queue that the sweep failed on is left to the full round", deliveryFolder, test{"./pkg/delivery", "TestSweepLooksAgainWhereItFailed"}, []edit{
		{"sweep_beside.go", "unseen = s.deliverer.sorter.Notify(ctx, it.Queue) != nil", "unseen = true"},
		{"../cursor/round.go", "p.Failed = p.Failed || s.failed\n", ""},
	}},
	{"the first consumers of a queue are the first in each run", deliveryFolder, test{"./pkg/delivery", "TestEveryConsumerComesUp"}, []edit{
		{"sweep.go", "return slices.Concat(consumers[first:], consumers[:first])", "return slices.Concat(consumers, consumers[:first%1])"},
	}},
	{"steps over what is missing", deliveryFolder, test{"./pkg/delivery", "TestMissing"}, []edit{
		{"deliver.go", "run.end(Missing, \"\")\n\t\t\trun.Cause, err = missing, nil\n", "got.To, err = missing.Seq, nil\n"},
	}},
	{"a queue that failed counts as done", deliveryFolder, test{"./pkg/delivery", "TestABadQueueHoldsUpNoOther|TestAQueueWhoseStoreFailsComesAgain"}, []edit{
		{"stream.go", "j.again, j.cause = d.again(ctx, done, event.Records[j.hint.first]), done.Err", "j.cause = done.Err"},
	}},
	{"nobody notifies who lags", deliveryFolder, deliveries, []edit{
		{"sweep.go", "if lags || missing {", "if false && (lags || missing) {"},
	}},
	{"deleted up to the floor, no matter who began meanwhile (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"sweep_retire.go", "min(it.Floor, lowest)", "it.Floor"},
	}},
	{"a start that does not look at the floor (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"start.go", "max(c.Delivered, it.Floor), it.Position\n", "c.Delivered, it.Position\n"},
	}},
	{"a start that does not look at what is there (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"start.go", "c.Queue, c.Name, c.Starting, kept.To)", "c.Queue, c.Name, c.Starting, c.Delivered)"},
	}},
	{"a start that keeps nothing (T10)", sorterFolder, deliveryTrace("T10"), []edit{
		{"retention.go", "return !s.expiresSoon(m.ExpiresOn) })", "return true })"},
	}},
	{"a start goes on from the top each time", deliveryFolder, test{"./pkg/delivery", "TestAStartIsFinishedInPieces"}, []edit{
		{"start.go", "if c.KeptFrom > 0 {", "if false {"},
		{"start.go", "c, upTo = found, found.KeptFrom-1", "c, upTo = found, kept.To"},
	}},
	{"a start is done with its first piece", deliveryFolder, deliverySchedule("begins in pieces while messages expire"), []edit{
		{"start.go", "if !kept.More {", "if true {"},
	}},
	{"who has much gives the record back", deliveryFolder, test{"./pkg/delivery", "TestAQueueWithMuchLetsOthersGoFirst"}, []edit{
		{"stream.go", "return d.sorter.Notify(ctx, done.Queue) != nil", "return true"},
	}},
	{"the attempt starts again where a batch comes by parts", deliveryFolder, test{"./pkg/delivery", "TestTheAttemptGoesOn"}, []edit{
		{"consumer.go", "return max(c.Attempts, n+1)", "return max(c.Attempts, 1+0*n)"},
	}},
	{"a part: the message that failed is committed with it", deliveryFolder, deliverySchedule("a part is taken"), []edit{
		{"errors.go", "return d.seq - b.From", "return d.seq - b.From + 1"},
	}},
	{"a part: with replies", deliveryFolder, test{"./pkg/delivery", "TestAPart"}, []edit{
		{"errors.go", "len(replies) > 0 ||", "len(replies) < 0 ||"},
	}},
	{"the slowest consumer is not looked for (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"operate.go", " < seq {", " > seq {"},
	}},
	{"shared: what a consumer does to its messages", deliveryFolder, sharing, []edit{
		{"share.go", "return copied(it.batch), nil", "return it.batch, nil"},
		{"share.go", "batch = copied(batch)", "_ = copied(batch)"},
	}},
}
