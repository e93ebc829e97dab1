package main

// deliveryFolder has the code that delivery's bugs are planted in.
const deliveryFolder = "pkg/delivery"

var (
	// deliveries are the tests that walk all small schedules and random ones.
	deliveries = test{"./verify/sim/deliverysim", "TestEverySmallSchedule|TestRandomSchedules"}
	// health are the tests of what is the sink's apart from what is a message's.
	health = test{"./pkg/delivery", "TestBlocks|TestWhatWas|TestSuccess|TestFailures|TestARedriveBegins|TestAProcessLooks|TestADeath|TestConsumerFailing"}
	// circuitTests hold the circuit of a sink that is away.
	circuitTests = test{"./pkg/delivery", "Circuit|Probe|TestBadMessagesDoNot|TestNothingIs"}
	asideTests   = test{"./pkg/delivery", "HoldUp|HoldsUp|CallThat|Apart|TestAnswer|NotBefore|ASinkThat"}
)

func deliverySchedule(name string) test { return smallSchedule(deliveries.folder, name) }

func deliveryTrace(name string) test { return test{deliveries.folder, "TestTrace" + name} }

// deliveryMutants are bugs in delivery, in sink health and in deferred claims.
var deliveryMutants = []mutant{
	{"commit before the delivery", deliveryFolder, deliveries, []edit{
		{"deliver.go", "if cause := run.hand(", "if _, _, err := run.store.Commit(ctx, c.Queue, c.Name, c.Token, Response{}); err != nil {\n\t\t\treturn c, err\n\t\t}\n\t\tif cause := run.hand("},
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
	{"nobody is woken up after a slow start (T11)", deliveryFolder, deliveryTrace("T11"), []edit{
		{"start.go", "// The process that began the start may have slept since then.\n\tif err := d.keepAwake(ctx, it); err != nil {", "if err := error(nil); err != nil {"},
	}},
	{"steps over what is missing", deliveryFolder, test{"./pkg/delivery", "TestMissing"}, []edit{
		{"deliver.go", "run.end(Missing, \"\")\n\t\t\trun.Cause, err = missing, nil\n", "got.To, err = missing.Seq, nil\n"},
	}},
	{"a start that does not look at what is there (T9)", deliveryFolder, deliveryTrace("T9"), []edit{
		{"start.go", "c.Queue, c.Name, c.Starting, kept.To)", "c.Queue, c.Name, c.Starting, c.Delivered)"},
	}},
	{"a start that keeps nothing (T10)", sorterFolder, deliveryTrace("T10"), []edit{
		{"retention.go", "return !s.expiresSoon(m.ExpiresOn) })", "return true })"},
	}},
	{"shared: what a consumer does to its messages", deliveryFolder, test{"./pkg/delivery", "TestConsumers|TestAReadThatFails"}, []edit{
		{"share.go", "return copied(it.batch), nil", "return it.batch, nil"},
		{"share.go", "batch = copied(batch)", "_ = copied(batch)"},
	}},
	{"a sink that is away makes claims smaller", deliveryFolder, test{"./pkg/delivery", "TestStoreAway/memory"}, []edit{
		{"store_claims.go", "if failure.Away == 0 {", "if failure.Away >= 0 {"},
	}},
	{"a queue fails for ever", deliveryFolder, health, []edit{
		{"health.go", "others := slices.ContainsFunc(h.Still(failure.Now, f.good),", "others := slices.ContainsFunc(h.Failing,"},
	}},
	{"a slow success counts from its end", deliveryFolder, health, []edit{
		{"handed.go", "run.learnt, run.claimed, run", "run.learnt, run.now(), run"},
	}},
	{"the circuit stays open: as another fails meanwhile", deliveryFolder, circuitTests, []edit{
		{"health.go", "\t\tif made || err != nil {\n\t\t\treturn\n\t\t}\n\t\tseen = h\n", "\t\t_, _, _ = h, made, err\n\t\treturn\n"},
	}},
	{"a late probe closes another circuit", deliveryFolder, circuitTests, []edit{
		{"health.go", "probe && seen.Circuit.Opened.Equal(probed)", "probe"},
		{"health.go", "\tprobed := seen.Circuit.Opened\n", ""},
	}},
	{"deferred: before the batch is handed over", deliveryFolder, deliverySchedule("deferred, 2 faults"), []edit{
		{"deliver.go", "\t\tif cause := run.hand(ctx, batch, c.LeaseUntil); cause != nil {\n", "\t\tif !chain.Root.IsZero() {\n\t\t\tif _, _, err := run.store.Defer(ctx, c, chain.Chain.Deadline); err != nil {\n" +
			"\t\t\t\treturn c, err\n\t\t\t}\n\t\t}\n\t\tif cause := run.hand(ctx, batch, c.LeaseUntil); cause != nil {\n"},
	}},
	{"tracked: handed over before the chain is created", deliveryFolder, deliverySchedule("deferred, 2 faults"), []edit{
		{"tracked.go", "\treturn run.acker.Create(", "\tearly := Batch{Queue: c.Queue, Consumer: c.Name, Token: c.Token, From: c.From, To: c.To}\n" +
			"\tfor i := range messages {\n\t\tearly.Messages, early.Edges = append(early.Messages, Reply{}.message()), append(early.Edges, xorack.Root(t.tag(), \"\", i))\n\t}\n\t_ = run.hand(ctx, early, c.LeaseUntil)\n\treturn run.acker.Create("},
	}},
	{"tracked: ended under the number alone", deliveryFolder, deliveryTrace("EndOfAnEarlierConsumersChain"), []edit{
		{"tracked.go", "\tif c.State == Started && c.Token == t.Token {\n", "\tif c, err = d.store.Consumer(ctx, t.Queue, t.Consumer); err != nil {\n\t\treturn err\n\t}\n\tif c.Token.N == t.Token.N {\n"},
	}},
}
