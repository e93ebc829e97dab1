package main

// The tests that hold what is the sink's apart from what is a message's.
var (
	awayStore    = test{"./pkg/delivery", "TestStoreAway/memory"}
	awayDelivery = test{"./pkg/delivery", "TestASinkThatIsAway"}
	health       = test{"./pkg/delivery", "TestABadMessage|TestAnOutage|TestBlocks|TestWhatWas|TestSuccess|TestFailures|TestAConsumerOf|TestAQueueThatIs|TestARedriveBegins|TestAProcessLooks|TestDeaths|TestADeath|TestConsumerFailing"}
	attempts     = test{"./pkg/delivery", "TestAttempts|TestTheFirstFailure|TestAWorkerThatDies"}
	awayWire     = test{"./internal/sink", "TestAway"}
)

// outageMutants are bugs by which a sink that is away is taken for messages that are bad.
var outageMutants = []mutant{
	{"a sink that is away counts", deliveryFolder, awayStore, []edit{
		{"store_claims.go", "attrAttempts.Plus(-1), attrTogether", "attrTogether"},
		{"store_claims.go", "set = append(set, attrAttempts.Plus(-1))", "_ = set"},
	}},
	{"a sink that is away makes claims smaller", deliveryFolder, awayStore, []edit{
		{"store_claims.go", "set = append(set, attrAway.Set(", "set = append(set, attrIsolateTo.Set(attrTo.Ref()), attrAway.Set("},
	}},
	{"a sink that is away is asked each second", deliveryFolder, awayDelivery, []edit{
		{"deliver.go", "failure.Away = c.Away + 1", "failure.Away = 1"},
	}},
	{"blocked whatever the sink takes", deliveryFolder, health, []edit{
		{"health.go", "failure.Proven = known && (h.TakenAt.After(f.Failed) || !others)", "failure.Proven = known || others"},
	}},
	{"what the sink took before proves a message bad", deliveryFolder, health, []edit{
		{"health.go", "h.TakenAt.After(f.Failed) || !others", "!h.TakenAt.IsZero() || !others"},
	}},
	{"one queue is never blocked", deliveryFolder, health, []edit{
		{"health.go", "return o.Queue != f.Queue })", "return o.Queue != \"\" })"},
	}},
	{"a queue fails for ever", deliveryFolder, health, []edit{
		{"health.go", "others := slices.ContainsFunc(h.Still(failure.Now, f.good),", "others := slices.ContainsFunc(h.Failing,"},
	}},
	{"a death after a failure does not count", deliveryFolder, health, []edit{
		{"health.go", "died := c.State == Started || outcome == Cancelled && c.RetryAt.IsZero()", "_, died := outcome, c.State == Started"},
	}},
	{"what failed proves it for good", deliveryFolder, test{"./pkg/delivery", "TestStoreFirstFailure/memory"}, []edit{
		{"store_claims.go", "proven := attrProven.Remove()", "proven := attrProven.Set(attrProven.Ref())"},
	}},
	{"a slow success counts from its end", deliveryFolder, health, []edit{
		{"handed.go", "run.learnt, run.claimed, run", "run.learnt, run.now(), run"},
	}},
	{"a process never looks again", deliveryFolder, health, []edit{
		{"health.go", ".Abs() < lookFor", ".Abs() < 1000*lookFor"},
	}},
	{"a message that was taken stays listed", deliveryFolder, health, []edit{
		{"handed.go", "run.store.NoteTaken(ctx, run.Record)", ""},
		{"sweep_trouble.go", "return !c.Retries(), nil", "return false, nil"},
	}},
	{"each attempt writes a row", "internal/trouble", attempts, []edit{
		{"row.go", "r.State == Failing && o.State == Failing && r.Seq == o.Seq", "false"},
	}},
	{"a redrive forgets the attempts", deliveryFolder, attempts, []edit{
		{"store_operate.go", "if delivered != seen.Delivered {", "if true {"},
	}},
	{"attempts stay when the message is taken", deliveryFolder, attempts, []edit{
		{"store_claims.go", "attrTogether.Set(together), attrLast.Remove(),", "attrTogether.Set(together),"},
		{"store_claims.go", "attrTogether.Remove(), attrLast.Remove())", "attrTogether.Remove())"},
	}},
	{"a puller's failure stays listed", deliveryFolder, attempts, []edit{
		{"puller_end.go", "if made && c.IsolateTo > c.From {", "if false {"},
	}},
	{"404 is for good", "internal/sink/kind", test{"./internal/sink/httpsink", "TestAnswers|Test"}, []edit{
		{"away.go", "case http.StatusBadRequest, ", "case http.StatusNotFound, http.StatusBadRequest, "},
	}},
	{"what failed with others is an attempt of the first", deliveryFolder, deliverySchedule("a good message before a bad one, and a death"), []edit{
		{"store_claims.go", "attrTogether.Add(ddb.Int(1))", "attrTogether.Add(ddb.Int(0))"},
	}},
	{"what failed with others is an attempt of the first, claimed at a commit", deliveryFolder, test{"./pkg/delivery", "TestStoreCommitAndClaim/memory"}, []edit{
		{"store_claims.go", "together = ddb.Int(1)", "together = ddb.Int(0)"},
	}},
	{"what was taken is put over what failed since", deliveryFolder, test{"./pkg/delivery", "TestStoreHealth/memory"}, []edit{
		{"store_health.go", "unchanged := attrRev.Eq(ddb.Int(seen.Rev))", "unchanged := attrQueue.Exists()"},
	}},
	{"the first who learns puts over another", deliveryFolder, test{"./pkg/delivery", "TestStoreHealth/memory"}, []edit{
		{"store_health.go", "unchanged = attrQueue.Missing()", "unchanged = ddb.Cond{}"},
	}},
	{"a redrive begins with what was known", deliveryFolder, health, []edit{
		{"store_operate.go", "return append(setTaken(), setLast(last), attrBlockedSince", "return append(ddb.Removed(attrFailed, attrError, attrReplyQueue, attrAway), setLast(last), attrBlockedSince"},
	}},
	{"a health is taken for a consumer", deliveryFolder, test{"./pkg/delivery", "TestStoreHealthIsNoConsumer/memory"}, []edit{
		{"store.go", "Where: isConsumer, ", ""},
	}},
	{"an entry that is refused by a fault is a bad message", "internal/sink/fifo", awayWire, []edit{
		{"answer.go", ", Away: !f.SenderFault}", "}"},
	}},
	{"an entry that is refused for good is a fault", "internal/sink/fifo", awayWire, []edit{
		{"answer.go", ", Away: !f.SenderFault}", ", Away: true}"},
	}},
}
