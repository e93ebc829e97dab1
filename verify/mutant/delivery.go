package main

// deliveryFolder has the code that delivery's bugs are planted in.
const deliveryFolder = "pkg/delivery"

var (
	// health are the tests of what is the sink's apart from what is a message's.
	health = by(deliveryFolder, "TestBlocks|TestWhatWas|TestSuccess|TestFailures|TestARedriveBegins|TestAProcessLooks|TestADeath|TestConsumerFailing")
	// circuitTests hold the circuit of a sink that is away.
	circuitTests = by(deliveryFolder, "Circuit|Probe|TestBadMessagesDoNot|TestNothingIs")
	asideTests   = by(deliveryFolder, "HoldUp|HoldsUp|CallThat|Apart|TestAnswer|NotBefore|ASinkThat")
)

// deliveryMutants are bugs in delivery, in sink health and in deferred claims.
var deliveryMutants = []mutant{
	bug("commit before the delivery", deliverySuite.in("delivered, 3 requests"),
		"deliver.go", "if cause := run.hand(", "if _, _, err := run.store.Commit(ctx, heldBy(c), Response{}); err != nil {\n\t\t\treturn c, err\n\t\t}\n\t\tif cause := run.hand("),
	bug("what is noted with a claim is passed over (T4)", deliverySuite.in("two processes"),
		"deliver.go", "run.position = max(run.position, run.Record.Asked)\n", ""),
	bug("lease not looked at by its own clock (T5)", deliverySuite.in("T5, less"),
		"deliver.go", "c.State == Started && !c.LeaseUntil.Before(ddb.ToMillis(now)):", "c.State == Started && !c.LeaseUntil.Before(ddb.ToMillis(now.Add(2 * time.Second))):",
		"store_claims.go", "(isIn(Started), isOver(now", "(isIn(Started), isOver(now.Add(2*time.Second)"),
	bug("attempts counted by failures (T6)",
		by(deliveryFolder, "TestAProcessThatDiedIsNotABadMessage"),
		"store_claims.go", ", attrAttempts.Plus(1)})", "})",
		"store_claims.go", "(t, outcome), attr", "(t, outcome), attrAttempts.Plus(1), attr"),
	bug("the last attempt has all again (T7)", deliverySuite.in("T7"),
		"read.go", "case r.MaxAttempts > 0 && attempts+1 >= r.MaxAttempts:\n\t\treturn 1\n", "",
		"health.go", "case c.ownAttempts() < attempts || !c.alone():", "case c.Attempts < attempts:"),
	bug("nobody is woken up after a slow start (T11)", deliverySuite.in("begins slowly"),
		"start.go", "// The process that began the start may have slept since then.\n\tif err := d.keepAwake(ctx, it); err != nil {", "if err := error(nil); err != nil {"),
	bug("nobody is woken up after a rewind's death (T12)",
		deliverySuite.in("rewound after a quiet time"),
		"operate.go", "if err := d.keepAwake(ctx, cur); err != nil", "if err := error(nil); err != nil"),
	bug("steps over what is missing", by(deliveryFolder, "TestMissing"),
		"deliver.go", "run.end(Missing, \"\")\n\t\t\trun.Cause, err = missing, nil\n",
		"got.To, err = missing.Seq, nil\n"),
	bug("a start that does not look at what is there (T9)",
		deliverySuite.in("begins while the past is deleted"),
		"start.go", "c.Queue, c.Name, c.Starting, kept.To)", "c.Queue, c.Name, c.Starting, c.Delivered)"),
	bug("a start that keeps nothing (T10)", deliverySuite.in("begins while messages expire"),
		"../cursor/retention.go", "return !s.expiresSoon(m.ExpiresOn) })", "return true })"),
	bug("shared: what a consumer does to its messages",
		by(deliveryFolder, "TestConsumers|TestAReadThatFails"),
		"share.go", "return copied(it.batch), nil", "return it.batch, nil",
		"share.go", "batch = copied(batch)", "_ = copied(batch)"),
	bug("a sink that is away makes claims smaller", by(deliveryFolder, "TestStoreAway/memory"),
		"store_claims.go", "if failure.Away == 0 {", "if failure.Away >= 0 {"),
	bug("a queue fails for ever", health,
		"health.go", "slices.ContainsFunc(h.Still(failure.Now, f.good)", "slices.ContainsFunc(h.Failing"),
	bug("a slow success counts from its end", health,
		"handed.go", "run.learnt, run.claimed, run", "run.learnt, run.now(), run"),
	bug("the circuit stays open: as another fails meanwhile", circuitTests,
		"health.go", "\t\tif made || err != nil {\n\t\t\treturn\n\t\t}\n\t\tseen = h\n",
		"\t\t_, _, _ = h, made, err\n\t\treturn\n"),
	bug("a late probe closes another circuit", circuitTests,
		"health.go", "probe && seen.Circuit.Opened.Equal(probed)", "probe",
		"health.go", "\tprobed := seen.Circuit.Opened\n", ""),
	bug("deferred: before the batch is handed over", deliverySuite.in("deferred, 2 faults"),
		"deliver.go", "\t\tif cause := run.hand(ctx, batch, c.LeaseUntil); cause != nil {\n", "\t\tif !chain.Root.IsZero() {\n\t\t\tif _, _, err := run.store.Defer(ctx, c, chain.Chain.Deadline); err != nil {\n"+
			"\t\t\t\treturn c, err\n\t\t\t}\n\t\t}\n\t\tif cause := run.hand(ctx, batch, c.LeaseUntil); cause != nil {\n"),
	bug("tracked: handed over before the chain is created",
		deliverySuite.in("deferred, 2 faults"),
		"tracked.go", "\treturn run.acker.Create(", "\tearly := Batch{Queue: c.Queue, Consumer: c.Name, Token: c.Token, From: c.From, To: c.To}\n"+
			"\tfor i := range messages {\n\t\tearly.Messages, early.Edges = append(early.Messages, Reply{}.message()), append(early.Edges, xorack.Root(t.tag(), \"\", i))\n\t}\n\t_ = run.hand(ctx, early, c.LeaseUntil)\n\treturn run.acker.Create("),
	bug("tracked: ended under the number alone",
		deliverySuite.in("deferred, the consumer is recreated"),
		"tracked.go", "\tif c.State == Started && c.Token == t.Token {\n", "\tif c, err = d.store.Consumer(ctx, t.Queue, t.Consumer); err != nil {\n\t\treturn err\n\t}\n\tif c.Token.N == t.Token.N {\n"),
}
