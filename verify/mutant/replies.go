package main

// repliesWalked are the tests that walk the schedules of consumers that answer.
var repliesWalked = test{"./verify/sim/repliessim", "TestEverySmallSchedule|TestRandomSchedules"}

func repliesSchedule(name string) test { return smallSchedule(repliesWalked.folder, name) }

func replyTrace(name string) test { return test{"./verify/sim/repliessim", "TestTrace" + name} }

// replyMutants are bugs in replies with the commit, and in the store's requests.
var replyMutants = []mutant{
	{"replies: before the decision (P1)", handoffCode, replyTrace("P1"), []edit{
		{"send.go", "\tc, decided, err := run.store.Decide(", "\tfor _, one := range staged {\n\t\tif _, err := run.sorter.Place(ctx, one); err != nil {\n\t\t\treturn c, err\n\t\t}\n\t}\n\tc, decided, err := run.store.Decide("},
	}},
	{"replies: finished before they are sent (P2)", handoffCode, replyTrace("P2"), []edit{
		{"send.go", "\tfor i, o := range c.Outbox {\n", "\tif _, _, err := d.store.Finish(ctx, c.Queue, c.Name, c.Token); err != nil {\n\t\treturn c, err\n\t}\n\tfor i, o := range c.Outbox {\n"},
	}},
	{"replies: committed before they are stored (P3)", handoffCode, replyTrace("P3"), []edit{
		{"send.go", "\terr = p.d.storeReplies(ctx, h, replies)\n", "\tif _, err := p.commit(ctx, h); err != nil {\n\t\treturn Answer{}, false, err\n\t}\n\terr = p.d.storeReplies(ctx, h, replies)\n"},
	}},
	{"replies: an id without the token (P4)", handoffCode, replyTrace("P4"), []edit{
		{"reply.go", "strconv.FormatInt(h.Token.N, 10), h.Token.Req, queue}", "queue}"},
	}},
	{"replies: an id without the request", handoffCode, test{"./pkg/handoff", "TestTheIdHasTheWholeToken"}, []edit{
		{"reply.go", "strconv.FormatInt(h.Token.N, 10), h.Token.Req, queue}", "strconv.FormatInt(h.Token.N, 10), queue}"},
	}},
	{"replies: settled without them (P5)", handoffCode, replyTrace("P5"), []edit{
		{"consume.go", "run.claims.Settle(ctx, h, outcome, reason, replies...)", "run.claims.Settle(ctx, h, outcome, reason, replies[:0]...)"},
	}},
	{"replies: no look before a commit that is repeated (P6)", handoffCode, replyTrace("P6"), []edit{
		{"send.go", "case Prepared, InDoubt, InQuarantine:\n", "case Prepared, InDoubt, InQuarantine, WasCommitted:\n"},
	}},
	{"replies: at the prepare (P7)", handoffCode, replyTrace("P7"), []edit{
		{"consume.go", "\t\tif err == nil && p.Verdict != OK {\n\t\t\terr = refused{p.Verdict}\n", "\t\tif err == nil && p.Verdict == OK {\n\t\t\t_, err = run.claims.Commit(ctx, h, a.Replies()...)\n\t\t} else if err == nil {\n\t\t\terr = refused{p.Verdict}\n"},
	}},
	{"replies: decided before they are staged (P8)", handoffCode, replyTrace("P8"), []edit{
		{"send.go", "\tvar outbox []Outgoing\n\tvar staged []cursor.Staged\n", "\tvar first, outbox []Outgoing\n\tvar staged []cursor.Staged\n\tfor _, p := range b.Held().parcels(replies) {\n\t\tfirst = append(first, p.Outgoing)\n\t}\n\tif _, _, err := run.store.Decide(ctx, c.Queue, c.Name, c.Token, first); err != nil {\n\t\treturn c, err\n\t}\n"},
	}},
	{"replies: what is decided is taken over (P9)", handoffCode, replyTrace("P9"), []edit{
		{"store_claims.go", "ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now), isUntracked)))", "ddb.Or(isIn(Idle, Sending), ddb.And(isIn(Started), isOver(now), isUntracked)))"},
		{"deliver.go", "case c.State == Sending && c.LeaseUntil.Before(ddb.ToMillis(now)):", "case false:"},
		{"deliver.go", "case c.State == Ready || c.State == Unknown || c.State == Sending ||", "case c.State == Ready || c.State == Unknown || c.State == Sending && !c.LeaseUntil.Before(ddb.ToMillis(now)) ||"},
	}},
	{"replies: what is decided fails (P10)", handoffCode, replyTrace("P10"), []edit{
		{"send.go", "\t\treturn c, run.replying(err)\n", "\t\treturn run.fail(ctx, c, err)\n"},
		{"store_claims.go", "\"fail\", queue, name, isHeld(token, Started),", "\"fail\", queue, name, isHeld(token, Started, Sending),"},
	}},
	{"replies: decided without the token", handoffCode, repliesWalked, []edit{
		{"store_replies.go", "isOwned(token, Started),", "isIn(Started),"},
	}},
	{"replies: whose claim it is by now is not looked at", handoffCode, test{"./pkg/handoff", "TestADecisionThatWasLost"}, []edit{
		{"send.go", "\tif !c.owns(b.Token, Sending) {\n", "\tif false {\n"},
	}},
	{"replies: finished without the token", handoffCode, test{"./pkg/handoff", "TestStoreFinish/memory"}, []edit{
		{"store_replies.go", "isHeld(token, Sending),", "isIn(Sending),"},
	}},
	{"replies: of a handler that failed", handoffCode, repliesWalked, []edit{
		{"deliver.go", "\t\t\treturn run.fail(ctx, c, cause)\n", "\t\t\tif err := run.storeReplies(ctx, batch.Held(), batch.Replies()); err != nil {\n\t\t\t\treturn c, err\n\t\t\t}\n\t\t\treturn run.fail(ctx, c, cause)\n"},
	}},
	{"replies: forgotten by a commit that claims", handoffCode, repliesSchedule("pulled, 2 faults"), []edit{
		{"puller_next.go", "\tif len(replies) > 0 {\n", "\tif len(replies) < 0 {\n"},
	}},
	{"replies: those of a claim in quarantine are not stored", handoffCode, repliesSchedule("pulled, and quarantined"), []edit{
		{"send.go", "case Prepared, InDoubt, InQuarantine:\n\tdefault:", "case Prepared, InDoubt:\n\tcase InQuarantine:\n\t\treturn Answer{}, false, nil\n\tdefault:"},
	}},
	{"replies: one that can never be stored holds its queue", handoffCode, repliesWalked, []edit{
		{"send.go", "\t\tcase !r.Outcome.Durable():\n", "\t\tcase !r.Outcome.Durable():\n\t\t\treturn lost{}, ErrUnavailable\n\t\tcase false:\n"},
	}},
	{"replies: one that can never be stored is not announced", handoffCode, repliesWalked, []edit{
		{"send.go", "\tif len(refused) == 0 {\n", "\tif len(refused) >= 0 {\n"},
	}},
	{"replies: refused behind the commit", handoffCode, repliesWalked, []edit{
		{"send.go", "\tif err := d.refuse(ctx, h, refused); err != nil {\n\t\treturn c, err\n\t}\n\tfinished, done, err := d.store.Finish(ctx, c.Queue, c.Name, c.Token)\n", "\tfinished, done, err := d.store.Finish(ctx, c.Queue, c.Name, c.Token)\n\tif err == nil {\n\t\terr = d.refuse(ctx, h, refused)\n\t}\n"},
	}},
	{"replies: counted as refused at every try", handoffCode, test{"./pkg/handoff", "TestStoreRefuse/memory"}, []edit{
		{"store_replies.go", "ddb.And(attrQueue.Exists(), attrRefusedBy.Ne(by)),", "attrQueue.Exists(),"},
	}},
	{"replies: announced for ever", handoffCode, test{"./pkg/handoff", "TestARefusedReplyGoesOn"}, []edit{
		{"store_replies.go", "\t\tattrRefusedTold.Set(told))", "\t\tattrRefusedTold.Remove())"},
	}},
	{"replies: the sweep leaves them to the next record", handoffCode, test{"./pkg/handoff", "TestAFullQueueHoldsTheConsumer"}, []edit{
		{"sweep_replies.go", "if c.State == Sending && c.LeaseUntil.Before(ddb.ToMillis(now)) {", "if false {"},
	}},
	{"replies: a claim while they are sent is tried", handoffCode, test{"./pkg/handoff", "TestPullerConforms/memory/while_a_push"}, []edit{
		{"puller.go", "(!over || c.Tracked), c.State == Ready, c.State == Sending:", "(!over || c.Tracked), c.State == Ready:"},
	}},
	{"replies: a claim while they are sent is answered its lease", handoffCode, test{"./pkg/handoff", "TestPullerConforms/memory/while_a_push"}, []edit{
		{"puller.go", "if c.Tracked || c.State == Sending {", "if c.Tracked {"},
	}},
	{"replies: what is decided is nobody's claim", handoffCode, test{"./pkg/handoff", "TestPullerConforms/memory/while_a_push"}, []edit{
		{"claims.go", "\tcase c.owns(t, Sending):\n\t\treturn WasCommitted // as good as\n", ""},
	}},
	{"replies: a full queue loses them", handoffCode, test{"./pkg/handoff", "TestAFullQueueHoldsTheConsumer"}, []edit{
		{"send.go", "\t\tcase r.Outcome == cursor.Full:\n", "\t\tcase false:\n"},
	}},
	{"replies: stored, and not in order yet", handoffCode, repliesWalked, []edit{
		{"send.go", "case errors.Join(r.Err, r.Deferred) != nil:", "case r.Err != nil:"},
	}},
	{"replies: what they are made from is kept", handoffCode, test{"./pkg/handoff", "TestAReplyIsTakenAsItIs"}, []edit{
		{"reply.go", "append(g.replies, r.clone())", "append(g.replies, r)"},
	}},
	{"replies: pushed without one that was refused", handoffCode, test{"./pkg/handoff", "TestABadReplyThatIsIgnored"}, []edit{
		{"deliver.go", "\treturn batch.refusal()\n", "\treturn nil\n"},
	}},
	{"replies: committed without one that was refused", handoffCode, test{"./pkg/handoff/sqlmarker", "TestABadReplyThatIsIgnored"}, []edit{
		{"consume.go", "if err := a.refusal(); err != nil {", "if err := a.refusal(); err != nil && false {"},
	}},
	{"replies: the seq's attribute is not counted", handoffCode, test{"./pkg/handoff", "TestWhatIsTakenCanBeStored"}, []edit{
		{"reply.go", "m.Seq, m.Attributes = *r.Seq, withSeq(r.Attributes, *r.Seq)", "m.Seq = *r.Seq"},
	}},
	{"replies: attributes take no room", handoffCode, test{"./pkg/handoff", "TestWhatIsTakenCanBeStored"}, []edit{
		{"reply.go", "size += attributeOverhead + ", "size += "},
	}},
	{"replies: of two lists in an answer the last counts", "internal/sink/lambda", test{"./internal/sink/lambda", "TestLambdaAnswers"}, []edit{
		{"lambda.go", "if *counts != nil {", "if false {"},
	}},
	{"replies: a marker without them", markerFolder, markerTest("TestEachMessageIsAnsweredOnce"), []edit{
		{"consume.go", "d.Mark(ctx, tx, b, committed, b.Replies()...)", "d.Mark(ctx, tx, b, committed)"},
	}},
	{"replies: older tables are opened", markerFolder, markerTest("TestOlderTables"), []edit{
		{"markers.go", "case version < layout:", "case version < layout-1:"},
	}},
}
