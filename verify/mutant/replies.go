package main

// repliesWalked are the tests that walk the schedules of consumers that answer.
var repliesWalked = test{"./verify/sim/repliessim", "TestEverySmallSchedule|TestRandomSchedules"}

func replyTrace(name string) test { return test{"./verify/sim/repliessim", "TestTrace" + name} }

// replyMutants are bugs in replies with the commit, and in the store's requests.
var replyMutants = []mutant{
	{"replies: before the decision (P1)", deliveryFolder, replyTrace("P1"), []edit{
		{"reply.go", "\tc, decided, err := run.store.Decide(", "\tfor _, one := range staged {\n\t\tif err := run.sorter.Inside(queuelog.Inside{}).Place(ctx, one).Err; err != nil {\n\t\t\treturn c, err\n\t\t}\n\t}\n\tc, decided, err := run.store.Decide("},
	}},
	{"replies: finished before they are sent (P2)", deliveryFolder, replyTrace("P2P8"), []edit{
		{"send.go", "\tfor i, o := range c.Outbox {\n", "\tif _, _, err := d.store.Finish(ctx, c.Queue, c.Name, c.Token); err != nil {\n\t\treturn c, err\n\t}\n\tfor i, o := range c.Outbox {\n"},
	}},
	{"replies: committed before they are stored (P3)", pullFolder, replyTrace("P3P5P7"), []edit{
		{"../puller_end.go", "\terr = p.d.storeReplies(ctx, h, replies)\n", "\tif _, err := p.commit(ctx, h); err != nil {\n\t\treturn Answer{}, false, err\n\t}\n\terr = p.d.storeReplies(ctx, h, replies)\n"},
	}},
	{"replies: an id without the token (P4)", deliveryFolder, replyTrace("P4P9"), []edit{
		{"replies.go", "strconv.FormatInt(h.Token.N, 10), h.Token.Req, queue}", "queue}"},
	}},
	{"replies: settled without them (P5)", pullFolder, replyTrace("P3P5P7"), []edit{
		{"consume.go", "run.claims.Settle(ctx, h, outcome, reason, replies...)", "run.claims.Settle(ctx, h, outcome, reason, replies[:0]...)"},
	}},
	{"replies: no look before a commit that is repeated (P6)", pullFolder, replyTrace("P6"), []edit{
		{"../puller_end.go", "case Prepared, InDoubt, unsettled:\n", "case Prepared, InDoubt, unsettled, Committed:\n"},
	}},
	{"replies: at the prepare (P7)", pullFolder, replyTrace("P3P5P7"), []edit{
		{"consume.go", "\t\tif err == nil && p.Outcome != delivery.OK {\n\t\t\terr = refused{p.Outcome, p.Reason}\n", "\t\tif err == nil && p.Outcome == delivery.OK {\n\t\t\treplies, _ := a.Replies()\n\t\t\t_, err = run.claims.Commit(ctx, h, replies...)\n\t\t} else if err == nil {\n\t\t\terr = refused{p.Outcome, p.Reason}\n"},
	}},
	{"replies: decided before they are staged (P8)", deliveryFolder, replyTrace("P2P8"), []edit{
		{"reply.go", "\tvar outbox []outgoing\n\tvar staged []cursor.Arrival\n", "\tvar first, outbox []outgoing\n\tvar staged []cursor.Arrival\n\tfor _, p := range held.parcels(replies) {\n\t\tfirst = append(first, p.outgoing)\n\t}\n\tif _, _, err := run.store.Decide(ctx, c.Queue, c.Name, c.Token, first); err != nil {\n\t\treturn c, err\n\t}\n"},
	}},
	{"replies: what is decided is taken over (P9)", deliveryFolder, replyTrace("P4P9"), []edit{
		{"store_claims.go", "ddb.Or(isIn(Idle), ddb.And(isIn(Started), isOver(now))))", "ddb.Or(isIn(Idle, Sending), ddb.And(isIn(Started), isOver(now))))"},
		{"deliver.go", "case c.State == Sending && c.LeaseUntil.Before(ddb.ToMillis(now)):", "case false:"},
		{"deliver.go", "case c.State == Sending || c.State == Started", "case c.State == Sending && !c.LeaseUntil.Before(ddb.ToMillis(now)) || c.State == Started"},
	}},
	{"replies: what is decided fails (P10)", deliveryFolder, replyTrace("P10"), []edit{
		{"reply.go", "\t\treturn c, run.replying(err)\n", "\t\treturn run.fail(ctx, c, Batch{}, err)\n"},
		{"store_claims.go", "\"fail\", queue, name, isHeld(token, Started),", "\"fail\", queue, name, isHeld(token, Started, Sending),"},
	}},
	{"replies: of a handler that failed", deliveryFolder, repliesWalked, []edit{
		{"deliver.go", "\t\t\tafter, err := run.fail(ctx, c, batch, cause)\n", "\t\t\treplies, _ := batch.Replies()\n\t\t\theld := Held{Queue: batch.Queue, Consumer: batch.Consumer, Token: batch.Token}\n\t\t\tif err := run.storeReplies(ctx, held, replies); err != nil {\n\t\t\t\treturn c, err\n\t\t\t}\n\t\t\tafter, err := run.fail(ctx, c, batch, cause)\n"},
	}},
	{"replies: refused behind the commit", deliveryFolder, repliesWalked, []edit{
		{"send.go", "\tif err := d.refuse(ctx, h, refused); err != nil {\n\t\treturn c, err\n\t}\n\tfinished, done, err := d.store.Finish(ctx, c.Queue, c.Name, c.Token)\n", "\tfinished, done, err := d.store.Finish(ctx, c.Queue, c.Name, c.Token)\n\tif err == nil {\n\t\terr = d.refuse(ctx, h, refused)\n\t}\n"},
	}},
	{"replies: what they are made from is kept", deliveryFolder, test{"./pkg/delivery", "TestAReplyIsTakenAsItIs"}, []edit{
		{"replies.go", "append(g.replies, r.clone())", "append(g.replies, r)"},
	}},
}
