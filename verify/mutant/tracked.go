package main

// trackings are the tests that walk all small schedules of chain and claim
// together, and random ones.
var trackings = test{"./verify/sim/trackedsim", "TestEverySmallSchedule|TestRandomSchedules"}

func trackedSchedule(name string) test { return smallSchedule(trackings.folder, name) }

func trackedTrace(name string) test { return test{"./verify/sim/trackedsim", "TestTrace" + name} }

// trackedMutants are bugs in tracked delivery: those of docs/acker.md, and what
// else lies near.
var trackedMutants = []mutant{
	{"tracked: plain takeover of a tracked claim", deliveryFolder, trackings, []edit{
		{"../../internal/record/store_claims.go", "isOver(now), isUntracked)))", "isOver(now))))"},
		{"deliver.go", "if c.Tracked && over(c, now) {", "if false {"},
		{"deliver.go", "|| c.Tracked && c.State == Started:", "|| c.Tracked && c.State == Started && !over(c, now):"},
	}},
	{"tracked: a lease that is over wakes its queue up for ever", deliveryFolder, test{"./pkg/handoff", "TestWorkThatOutlivesItsLease"}, []edit{
		{"wake.go", "if done.Record.Tracked && !at.After(now) {", "if at.IsZero() {"},
	}},
	{"tracked: the sweep cancels a tracked claim", deliveryFolder, trackings, []edit{
		{"../../internal/record/store_claims.go", "isIn(Started), isOver(now), isUntracked),\n", "isIn(Started), isOver(now)),\n"},
		{"sweep.go", "\tcase c.Tracked && over(c, now):", "\tcase false:"},
	}},
	{"tracked: the mark is not set", recordFolder, trackings, []edit{
		{"store_claims.go", "return append(set, attrTracked.Set(ddb.Bool(true)), attrVersion.Set(ddb.Int(layoutTracked)))", "return append(set, attrTracked.Remove())"},
	}},
	{"tracked: the chain is created before the claim", deliveryFolder, trackings, []edit{
		{"deliver.go", "\tc, mine, err := run.store.Claim(ctx, c, claim)\n", "\tearly := tracked{c.Queue, c.Name, Token{c.Token.N + 1, claim.Req}}\n" +
			"\tif _, err := run.acker.Create(ctx, early.tag(), &xorack.CreateOptions{Edges: len(batch.Messages), Deadline: run.reader.Track, Data: early.data()}); err != nil {\n" +
			"\t\treturn c, err\n\t}\n\tc, mine, err := run.store.Claim(ctx, c, claim)\n"},
		{"deliver.go", "\t\"github.com/streamsort/streamsort/pkg/cursor\"\n", "\t\"github.com/streamsort/streamsort/pkg/cursor\"\n\t\"github.com/streamsort/streamsort/pkg/xorack\"\n"},
	}},
	{"tracked: delivered under a chain that was ended in advance", deliveryFolder, trackedSchedule("two processes and a lease that is over"), []edit{
		{"tracked.go", "if created.Chain.End() != xorack.Open {", "if false {"},
	}},
	{"tracked: delivered before the chain is created", deliveryFolder, trackings, []edit{
		{"tracked.go", "\tcreated, err := run.acker.Create(", "\tbatch.Edges = []xorack.Edge{}\n\tfor i := range batch.Messages {\n\t\tbatch.Edges = append(batch.Edges, t.root(i))\n\t}\n" +
			"\t_ = run.hand(ctx, batch, c.LeaseUntil)\n\tcreated, err := run.acker.Create("},
	}},
	{"tracked: a chain that was never created is not ended", deliveryFolder, trackings, []edit{
		{"tracked.go", "\tchain, err := d.acker.Abandon(ctx, t.root(0), t.data(), \"the claim's lease is over, and no work is under way in time\")\n" +
			"\tif err != nil || chain.End() == xorack.Open {\n", "\tchain, err := d.acker.Get(ctx, t.tag())\n" +
			"\tif errors.Is(err, xorack.ErrTagNotFound) {\n\t\tchain, err = xorack.Chain{Recorded: xorack.TimedOut}, nil\n\t}\n" +
			"\tif err != nil || chain.End() == xorack.Open {\n"},
		{"tracked.go", "\t\"encoding/base64\"\n", "\t\"encoding/base64\"\n\t\"errors\"\n"},
	}},
	{"tracked: a chain in its time is ended by who looks", ackerFolder, trackings, []edit{
		{"store_ends.go", "isOverdue := ddb.Or(chains.Created.Missing(), chains.Deadline.Le(ddb.Millis(o.Now)))", "isOverdue := ddb.Cond{}"},
	}},
	{"tracked: the lease is the chain's deadline", deliveryFolder, trackings, []edit{
		{
			"tracked.go", "\tif err != nil || chain.End() == xorack.Open {\n\t\treturn c, false, err\n\t}\n\tafter, _, err := d.endAs(ctx, c, chain)",
			"\tif err != nil {\n\t\treturn c, false, err\n\t}\n\tafter, _, err := d.endAs(ctx, c, chain)",
		},
	}},
	{"tracked: every end is a commit", deliveryFolder, trackings, []edit{
		{"tracked.go", "\tif chain.End() == xorack.Done {\n\t\tseen :=", "\tif chain.End() != xorack.Open {\n\t\tseen :="},
	}},
	{"tracked: committed when it is delivered", deliveryFolder, trackings, []edit{
		{"tracked.go", "\tif cause != nil {\n", "\tif cause == nil {\n\t\tif after, _, err := run.store.Commit(ctx, c.Queue, c.Name, c.Token); err == nil {\n\t\t\treturn after, nil\n\t\t}\n\t}\n\tif cause != nil {\n"},
	}},
	{"tracked: a handler that fails leaves its chain open", deliveryFolder, trackings, []edit{
		{"tracked.go", "\tchain, err := run.giveUp(ctx, created, cause)\n", "\treturn run.fail(ctx, c, batch, cause)\n\tchain, err := run.giveUp(ctx, created, cause)\n"},
	}},
	{"tracked: a chain has its whole time when it is created", deliveryFolder, trackings, []edit{
		{"tracked.go", "Deadline: run.firstDeadline(c)", "Deadline: run.reader.Track"},
	}},
	{"tracked: a chain is granted its time before the batch is delivered", deliveryFolder, trackings, []edit{
		{"tracked.go", "\tcause := run.hand(ctx, batch, c.LeaseUntil)\n", "\tif err := run.grant(ctx, created); err != nil {\n\t\treturn c, err\n\t}\n\tcause := run.hand(ctx, batch, c.LeaseUntil)\n"},
	}},
	{"tracked: a chain is never granted its time", deliveryFolder, test{"./pkg/handoff", "TestCommittedWhenItsTreeIsDone"}, []edit{
		{"tracked.go", "\treturn c, run.grant(ctx, created)\n", "\treturn c, nil\n"},
	}},
	{"tracked: what is refused for good is tried again where the chain's end came first", deliveryFolder, trackedSchedule("a message that is refused for good"), []edit{
		{"deliver.go", "\tif err == nil && made && failure.Block && after.State == Idle && after.Token == c.Token {", "\tif false {"},
	}},
	{"tracked: a later claim's failure is blocked in the name of an earlier one", deliveryFolder, test{"./pkg/handoff", "TestPermanentIsSoHoweverTheClaimEnds"}, []edit{
		{"deliver.go", "after.State == Idle && after.Token == c.Token {", "after.State == Idle {"},
	}},
	{"tracked: a tag without its req", deliveryFolder, trackedTrace("EndOfAnEarlierConsumersChain"), []edit{
		{"tracked.go", "+ \"/\" + t.token.String()", "+ \"/\" + strconv.FormatInt(t.token.N, 10) + \"-\""},
		{"tracked.go", "\tif c.State == Started && c.Token == t.token {\n", "\tif c, err = d.store.Consumer(ctx, t.queue, t.name); err != nil {\n\t\treturn err\n\t}\n\tif c.Token.N == t.token.N {\n"},
	}},
	{"tracked: ended under the number alone", deliveryFolder, trackedTrace("EndOfAnEarlierConsumersChain"), []edit{
		{"tracked.go", "\tif c.State == Started && c.Token == t.token {\n", "\tif c, err = d.store.Consumer(ctx, t.queue, t.name); err != nil {\n\t\treturn err\n\t}\n\tif c.Token.N == t.token.N {\n"},
	}},
	{"tracked: nobody is woken up where the end was refused", deliveryFolder, trackings, []edit{
		{
			"tracked.go", "\tif c.State == Started && c.Token == t.token {\n\t\tif c, _, err = d.endAs(ctx, c, chain); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n",
			"\tseen, err := d.store.Consumer(ctx, t.queue, t.name)\n\tif err != nil || seen.State != Started || seen.Token != t.token {\n\t\treturn err\n\t}\n" +
				"\tif c, _, err = d.endAs(ctx, seen, chain); err != nil {\n\t\treturn err\n\t}\n",
		},
	}},
	{"tracked: nobody is woken up", deliveryFolder, trackings, []edit{
		{"tracked.go", "\treturn d.sorter.Notify(ctx, t.queue)\n", "\treturn nil\n"},
	}},
	{"tracked: sealed before the claim has ended", ackerFolder, trackings, []edit{
		{"finish.go", "\tif announce != nil && !c.Sub {\n", "\tif _, _, err := a.store.seal(ctx, c.Tag, c.Incarnation, c.Ended(), a.now().Add(a.tombstone)); err != nil {\n\t\treturn false, err\n\t}\n\tif announce != nil && !c.Sub {\n"},
	}},
	{"tracked: an end that cannot be carried is sealed", ackerFolder, trackings, []edit{
		{"finish.go", "\t\tif err := announce(ctx, c); err != nil {\n\t\t\treturn false, err\n\t\t}\n", "\t\t_ = announce(ctx, c)\n"},
	}},
	{"tracked: nothing is asked of the chain while the consumer is paused", deliveryFolder, test{"./pkg/handoff", "TestADoneTreeIsCommittedByTheNextLook"}, []edit{
		{"deliver.go", "if c.Tracked && over(c, now) {", "if c.Tracked && over(c, now) && c.Paused == \"\" {"},
	}},
	{"tracked: a repeat under a new token is dropped by the queue", "internal/sink/fifo", test{"./internal/sink/fifo", "TestTrackedFifoItems"}, []edit{
		{"fifo.go", "\t\t\twritten.Dedup += \".\" + b.Edges[i].Op().String()\n", ""},
	}},
}
