package main

func deferredSchedule(name string) test { return deliverySchedule("deferred" + name) }

// deferredMutants are bugs in deferred claims, and in tracked ones.
var deferredMutants = []mutant{
	{"deferred: before the batch is handed over", deliveryFolder, deferredSchedule(", 2 faults"), []edit{
		{"deliver.go", "\t\tif cause := run.hand(ctx, batch, c.LeaseUntil); cause != nil {\n", "\t\tif !chain.Root.IsZero() {\n\t\t\tif _, _, err := run.store.Defer(ctx, c, chain.Chain.Deadline); err != nil {\n" +
			"\t\t\t\treturn c, err\n\t\t\t}\n\t\t}\n\t\tif cause := run.hand(ctx, batch, c.LeaseUntil); cause != nil {\n"},
	}},
	{"deferred: without the token", deliveryFolder, deferredSchedule(", two processes and a lease that is over"), []edit{
		{"store_claims.go", "held, last := isHeld(seen.Token, Started), ", "held, last := isIn(Started), "},
	}},
	{"deferred: after the claim has ended", deliveryFolder, deferredSchedule(", 2 faults"), []edit{
		{"store_claims.go", "held, last := isHeld(seen.Token, Started), ", "held, last := isNumber(seen.Token.N), "},
	}},
	{"deferred: the commit that was first is no commit", deliveryFolder, test{"./pkg/delivery", "TestDeferGoesWrong"}, []edit{
		{"tracked.go", "} else if outcome != Committed {", "} else if outcome != \"\" || made {"},
	}},
	{"deferred: the mark is not set", deliveryFolder, test{"./pkg/delivery", "TestTrackedRequestsGoWrong|TestAnEndGoesWrong|TestExtended"}, []edit{
		{"store_claims.go", "attrDeferred.Set(ddb.Bool(true)), attrLeaseUntil", "attrLeaseUntil"},
	}},
	{"deferred: it expires before its time", deliveryFolder, deferredSchedule(" by token, two processes, and it expires"), []edit{
		{"tracked.go", "\tcase !over(c, now):\n", "\tcase false:\n"},
		{"store_claims.go", "ddb.And(isHeld(seen.Token, Started), isOver(failure.Now)), setFailed(seen.Token, Cancelled", "isHeld(seen.Token, Started), setFailed(seen.Token, Cancelled"},
	}},
	{"deferred: a worker is not asked for its token", "pkg/delivery/pull", test{"./pkg/delivery", "TestAWorkerCommitsByItsToken"}, []edit{
		{"../puller_end.go", "\tcase Deferred:\n\t\tc, made, err = p.d.endDeferred(", "\tcase Deferred, Foreign:\n\t\tc, made, err = p.d.endDeferred("},
	}},
	{"deferred: a commit with replies", "pkg/delivery/pull", test{"./pkg/delivery", "TestAWorkerCommitsByItsToken"}, []edit{
		{"../puller_end.go", "\tcase Prepared, InDoubt, unsettled:\n\tcase Deferred:\n", "\tcase Prepared, InDoubt, unsettled, Deferred:\n\tcase foreign:\n"},
	}},
	{"tracked: the chain is created before the claim", deliveryFolder, deferredSchedule(", 2 faults"), []edit{
		{"deliver.go", "\tc, mine, err := run.store.Claim(ctx, c, claim)\n", "\tif early := (Consumer{Queue: c.Queue, Name: c.Name, Token: Token{c.Token.N + 1, claim.Req}}); run.reader.Track > 0 {\n" +
			"\t\tif _, err := run.track(ctx, early, len(batch.Messages)); err != nil {\n\t\t\treturn c, err\n\t\t}\n\t}\n\tc, mine, err := run.store.Claim(ctx, c, claim)\n"},
	}},
	{"tracked: handed over before the chain is created", deliveryFolder, deferredSchedule(", 2 faults"), []edit{
		{"tracked.go", "\treturn run.acker.Create(", "\tearly := Batch{Queue: c.Queue, Consumer: c.Name, Token: c.Token, From: c.From, To: c.To, Messages: make([]cursor.Message, messages)}\n" +
			"\tfor i := range messages {\n\t\tearly.Edges = append(early.Edges, t.root(i))\n\t}\n\t_ = run.hand(ctx, early, c.LeaseUntil)\n\treturn run.acker.Create("},
	}},
	{"tracked: every end is a commit", deliveryFolder, deferredSchedule(" work that fails, 1 fault"), []edit{
		{"tracked.go", "\tif chain.End() == xorack.Done {\n\t\tseen, _ :=", "\tif chain.End() != xorack.Open {\n\t\tseen, _ :="},
	}},
	{"tracked: committed when it is handed over", deliveryFolder, deferredSchedule(", 2 faults"), []edit{
		{"deliver.go", "if until := chain.Chain.Deadline; !until.IsZero() {", "if until := chain.Chain.Deadline; until.Before(time.Time{}) {"},
	}},
	{"tracked: a tag without its req", deliveryFolder, deliveryTrace("EndOfAnEarlierConsumersChain"), []edit{
		{"tracked.go", "+ \"/\" + t.token.String()", "+ \"/\" + strconv.FormatInt(t.token.N, 10) + \"-\""},
		{"tracked.go", "\tif c.State == Started && c.Token == t.token {\n", "\tif c, err = d.store.Consumer(ctx, t.queue, t.name); err != nil {\n\t\treturn err\n\t}\n\tif c.Token.N == t.token.N {\n"},
	}},
	{"tracked: ended under the number alone", deliveryFolder, deliveryTrace("EndOfAnEarlierConsumersChain"), []edit{
		{"tracked.go", "\tif c.State == Started && c.Token == t.token {\n", "\tif c, err = d.store.Consumer(ctx, t.queue, t.name); err != nil {\n\t\treturn err\n\t}\n\tif c.Token.N == t.token.N {\n"},
	}},
	{"tracked: nobody is woken up where the end was refused", deliveryFolder, test{"./pkg/delivery", "TestAnEndGoesWrong"}, []edit{
		{
			"tracked.go", "\tif c.State == Started && c.Token == t.token {\n\t\tif c, _, err = d.endAs(ctx, c, chain); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n",
			"\tseen, err := d.store.Consumer(ctx, t.queue, t.name)\n\tif err != nil || seen.State != Started || seen.Token != t.token {\n\t\treturn err\n\t}\n" +
				"\tif c, _, err = d.endAs(ctx, seen, chain); err != nil {\n\t\treturn err\n\t}\n",
		},
	}},
	{"tracked: nobody is woken up", deliveryFolder, deferredSchedule(", two messages, one after the other, 1 fault"), []edit{
		{"tracked.go", "\treturn d.sorter.Notify(ctx, c.Queue)\n", "\treturn nil\n"},
	}},
	{"tracked: sealed before the claim has ended", ackerFolder, deferredSchedule(", 2 faults"), []edit{
		{"finish.go", "\tif announce != nil && !c.Sub {\n", "\tif _, _, err := a.store.seal(ctx, c.Tag, c.Incarnation, c.Ended(), a.now().Add(a.tombstone)); err != nil {\n\t\treturn false, err\n\t}\n\tif announce != nil && !c.Sub {\n"},
	}},
	{"tracked: an end that cannot be carried is sealed", ackerFolder, deferredSchedule(", 2 faults"), []edit{
		{"finish.go", "\t\tif err := announce(ctx, c); err != nil {\n\t\t\treturn false, err\n\t\t}\n", "\t\t_ = announce(ctx, c)\n"},
	}},
}
