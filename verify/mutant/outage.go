package main

// The tests that hold what is the sink's apart from what is a message's.
var (
	awayStore    = test{"./internal/record", "TestStoreAway/memory"}
	awayDelivery = test{"./pkg/handoff", "TestASinkThatIsAway"}
	evidence     = test{"./pkg/handoff", "TestAPoison|TestAnOutage|TestWhatWas|TestWhatIsTaken|TestAConsumerOf|TestARedriveBegins|TestAProcessLooks|TestDeaths|TestEvidence|TestAQueueThatWas"}
	awayWire     = test{"./internal/sink", "TestAway"}
)

// outageMutants are bugs by which a sink that is away is taken for messages that are bad.
var outageMutants = []mutant{
	{"a sink that is away counts", recordFolder, awayStore, []edit{
		{"store_claims.go", "attrAttempts.Plus(-1), attrTogether", "attrTogether"},
		{"store_claims.go", "set = append(set, attrAttempts.Plus(-1))", "_ = set"},
	}},
	{"a sink that is away makes claims smaller", recordFolder, awayStore, []edit{
		{"store_claims.go", "set = append(set, attrAway.Set(", "set = append(set, attrIsolateTo.Set(attrTo.Ref()), attrAway.Set("},
	}},
	{"a sink that is away is asked each second", deliveryFolder, awayDelivery, []edit{
		{"deliver.go", "failure.Away = c.Away + 1", "failure.Away = 1"},
	}},
	{"blocked without evidence", deliveryFolder, evidence, []edit{
		{"deliver.go", "(c.Proven || failure.Proven || run.overdue)", "true"},
	}},
	{"no evidence is looked at", deliveryFolder, evidence, []edit{
		{"evidence.go", "return c.FailedAlone && c.Alone() && e.Taken > c.Taken", "return false"},
	}},
	{"an outage ends with blocks: others that fail", deliveryFolder, evidence, []edit{
		{"evidence.go", "other.Fails()", "(false && other.Fails())"},
	}},
	{"an outage ends with blocks: before another attempt", deliveryFolder, deliverySchedule("the sink is away"), []edit{
		{"evidence.go", "if !c.FailedAlone || c.Proven {", "if known, _ := run.evidence(ctx, c.Name); !c.FailedAlone || tookSince(c, known) {"},
	}},
	{"an outage ends with blocks: what was taken meanwhile", deliveryFolder, evidence, []edit{
		{"deliver.go", "notSooner(cause, run.retryAt(noteCounted(ctx, run.noteFailure, is, &failure), c.OwnAttempts()), now)\n\t\tfailure.Proven = tookSince(c, run.learnt)\n", "now\n\t\tfailure.Proven = tookSince(c, noteCounted(ctx, run.noteFailure, is, &failure))\n"},
	}},
	{"who cannot reach the sink says nothing of it", deliveryFolder, evidence, []edit{
		{"deliver.go", "is.sink = true\n", ""},
	}},
	{"one queue is never blocked", deliveryFolder, evidence, []edit{
		{"evidence.go", "if queue == c.Queue {", "if queue == \"\" {"},
	}},
	{"what is proven is forgotten", recordFolder, test{"./internal/record", "TestStoreFirstFailure/memory"}, []edit{
		{"store_claims.go", "if failure.Proven {", "if false {"},
	}},
	{"what failed with others is an attempt of the first", recordFolder, deliverySchedule("a good message before a bad one, and a death"), []edit{
		{"store_claims.go", "attrTogether.Add(ddb.Int(1))", "attrTogether.Add(ddb.Int(0))"},
	}},
	{"what failed with others is an attempt of the first, claimed at a commit", recordFolder, test{"./internal/record", "TestStoreCommitAndClaim/memory"}, []edit{
		{"store_claims.go", "together = ddb.Int(1)", "together = ddb.Int(0)"},
	}},
	{"attempts with others are taken off those of the next", recordFolder, test{"./internal/record", "TestStoreCommit/memory|TestStoreFirstFailure/memory"}, []edit{
		{"store_claims.go", "attrAttempts.Set(ddb.Int(0)), attrTogether.Remove())", "attrAttempts.Set(ddb.Int(0)))"},
	}},
	{"a sink that is away of several counts", recordFolder, awayStore, []edit{
		{"store_claims.go", "case failure.Away > 0 && failure.Alone:", "case failure.Away > 0:"},
	}},
	{"what is taken since a batch failed proves its first message bad", deliveryFolder, deliverySchedule("a good message before a bad one, and the sink goes away"), []edit{
		{"evidence.go", "return c.FailedAlone && c.Alone() &&", "return !c.FailingSince.IsZero() &&"},
		{"evidence.go", "if !c.FailedAlone || c.Proven {", "if c.FailingSince.IsZero() || c.Proven {"},
		{"evidence.go", "f.FailingSince.IsZero() || f.Alone() && !f.FailedAlone, true", "f.FailingSince.IsZero(), true"},
	}},
	{"a message that kills its worker is never blocked", deliveryFolder, evidence, []edit{
		{"sweep.go", " && !c.FailedAlone", " && c.FailedAlone"},
	}},
	{"what was taken before is evidence: a first failure changes nothing", deliveryFolder, evidence, []edit{
		{"evidence.go", "known, noted := note(ctx, f)", "g := f\n\tg.first = false\n\tknown, noted := note(ctx, g)"},
	}},
	{"what was taken before is evidence: looked at after the delivery", deliveryFolder, evidence, []edit{
		{"handed.go", "run.noteTaken(ctx, run.learnt)", "now, _ := run.evidence(ctx, run.Consumer)\n\trun.noteTaken(ctx, now)"},
	}},
	{"what was taken is put over what failed since", recordFolder, test{"./internal/record", "TestStoreEvidence/memory"}, []edit{
		{"evidence.go", "unchanged := attrRev.Eq(ddb.Int(seen.Rev))", "unchanged := attrQueue.Exists()"},
	}},
	{"the first who learns puts over another", recordFolder, test{"./internal/record", "TestStoreEvidence/memory"}, []edit{
		{"evidence.go", "unchanged = attrQueue.Missing()", "unchanged = ddb.Cond{}"},
	}},
	{"a sink is said to fail since its last failure", deliveryFolder, test{"./pkg/handoff", "TestSink"}, []edit{
		{"circuit.go", "\t\tif len(e.Failing) == 0 {", "\t\tif true {"},
	}},
	{"a process never looks again", deliveryFolder, evidence, []edit{
		{"evidence.go", ".Abs() < evidenceFor", ".Abs() < 1000*evidenceFor"},
	}},
	{"a redrive begins with what was known", recordFolder, evidence, []edit{
		{"store_operate.go", "return append(setTaken(), attrBlockedSince", "return append(ddb.Removed(attrFailed, attrError, attrReplyQueue, attrAway), attrBlockedSince"},
	}},
	{"weak read of evidence", deliveryFolder, evidence, []edit{
		{"evidence.go", "\te, err = d.store.Evidence(ctx, c.Name, true)\n", "\te, err = d.store.Evidence(ctx, c.Name, false)\n"},
	}},
	{"evidence is taken for a consumer", recordFolder, test{"./internal/record", "TestStoreEvidenceIsNoConsumer/memory"}, []edit{
		{"store.go", "Where: isConsumer, ", ""},
	}},
	{"an error that is the sink's is the message's", "functions/process", test{"./functions/process", "TestHanding"}, []edit{
		{"readers.go", "case kind.IsAway(err):", "case false:"},
	}},
	{"throttling is known by its status alone", "internal/sink/kind", awayWire, []edit{
		{"away.go", "answer.Status >= http.StatusInternalServerError || isThrottle(answer.Code)", "answer.Status >= http.StatusInternalServerError"},
	}},
	{"a fault of a service is the message's", "internal/sink/kind", awayWire, []edit{
		{"away.go", "answer.Status == http.StatusTooManyRequests || answer.Status >= http.StatusInternalServerError || ", "answer.Status == http.StatusTooManyRequests || "},
	}},
	{"an entry that is refused by a fault is a bad message", "internal/sink/fifo", awayWire, []edit{
		{"answer.go", ", Away: !f.SenderFault}", "}"},
	}},
	{"an entry that is refused for good is a fault", "internal/sink/fifo", awayWire, []edit{
		{"answer.go", ", Away: !f.SenderFault}", ", Away: true}"},
	}},
}
