package main

// actTest are the tests that hold acts of batches to be done once.
var actTest = test{"./pkg/handoff", "TestActs"}

// batchTest are those of the batches, actsFolder is where they are.
var batchTest = test{"./internal/acts", "."}

const actsFolder = "internal/acts"

// actSchedules are those of the suite, under which batches are carried out.
var actSchedules = test{"./verify/sim/actssim", "TestEverySmallSchedule|TestRandomSchedules"}

// actMutants are bugs by which a batch of acts does one twice, or not at all.
var actMutants = []mutant{
	{"an act is done over another that was not seen", recordFolder, actTest, []edit{
		{"store_acts.go", "ddb.And(condition, unmarked)", "ddb.Or(condition, unmarked)"},
	}},
	{"who left the state before a batch came to it is not counted", actsFolder, test{"./internal/acts", "TestWhoIs"}, []edit{
		{"runner.go", "p.Passed = max(p.Passed, p.Selected-p.Done-p.Failed)", "p.Passed = max(p.Passed, 0)"},
	}},
	{"counts are of the minute in which they are stored", "internal/trouble", test{"./internal/trouble", "TestCounter/memory"}, []edit{
		{"counter.go", "_ = c.store.Count(ctx, minute, n)", "_ = c.store.Count(ctx, c.now().Add(0*minute.Sub(c.since)), n)"},
	}},
	{"an act leaves no mark", recordFolder, actTest, []edit{
		{"store_acts.go", ", append(do, attrAct.Set(ddb.Text(m.key)))", ", do"},
	}},
	{"an act is marked as seen where there was none", recordFolder, actTest, []edit{
		{"store_acts.go", "if m.seen != \"\" {", "if false {"},
	}},
	{"the act of another batch is forgotten", deliveryFolder, actTest, []edit{
		{"act.go", "if c.Act != \"\" {", "if false {"},
	}},
	{"an act that ended is done again", deliveryFolder, actTest, []edit{
		{"act.go", "err != nil || stands.Ended()", "err != nil"},
	}},
	{"an act whose mark stands is done again", deliveryFolder, actTest, []edit{
		{"act.go", "if c.Act == asked.Key() {", "if false {"},
	}},
	{"an act has the time of its try", deliveryFolder, actTest, []edit{
		{"act.go", "ddb.ToMillis(a.At), a.Op", "ddb.ToMillis(d.now()), a.Op"},
	}},
	{"who is not selected is acted on", deliveryFolder, actTest, []edit{
		{"act.go", "if !a.Selects(c) {", "if false {"},
	}},
	{"an act that meets an outage has failed", deliveryFolder, actTest, []edit{
		{"act.go", "case !isRefusal(failed):", "case errors.Is(failed, ErrOutran):"},
	}},
	{"the page at hand is not stored", actsFolder, batchTest, []edit{
		{"batch.go", "Page []One `json:\"page,omitempty\"`", "Page []One `json:\"-\"`"},
	}},
	{"two processes go on with a batch", actsFolder, batchTest, []edit{
		{"store.go", "ddb.And(attrRev.Eq(ddb.Int(b.Rev)), ", "ddb.And("},
	}},
	{"the lease of a batch is no one's", actsFolder, batchTest, []edit{
		{"runner.go", "if b.LeaseUntil.After(now) {", "if false {"},
	}},
	{"who came into the state later is acted on", actsFolder, batchTest, []edit{
		{"batch.go", "!since.After(a.At) && ", ""},
	}},
	{"who fails of something else is acted on", actsFolder, batchTest, []edit{
		{"batch.go", "case !like(c.Error, a.Error):", "case false:"},
	}},
	{"a batch is not to be stopped", actsFolder, batchTest, []edit{
		{"runner.go", "case r.b.State == Stopping:", "case false:"},
	}},
	{"what the store says is shown as why an act failed", actsFolder, batchTest, []edit{
		{"runner.go", "handoff.Operation{Error: whyInside}", "handoff.Operation{Error: err.Error()}"},
	}},
	{"an act that the store fails once has failed", actsFolder, batchTest, []edit{
		{"runner.go", " && r.b.Tries >= maxTries", ""},
	}},
	{"a page of a batch has its names however long they are", actsFolder, test{"./internal/acts", "TestLongNames"}, []edit{
		{"walk.go", "maxPageBytes = 16 << 10", "maxPageBytes = 16 << 20"},
	}},
	{"a batch is open only once it runs", actsFolder, test{"./internal/acts", "TestAStartThatDies"}, []edit{
		{"desk.go", "\tif err := d.store.Open(ctx, id); err != nil {\n\t\treturn b, err\n\t}\n\treturn d.store.Start(ctx, id, d.now())", "\tb, err = d.store.Start(ctx, id, d.now())\n\tif err == nil {\n\t\terr = d.store.Open(ctx, id)\n\t}\n\treturn b, err"},
	}},
	{"the sweep closes a batch that is being started", actsFolder, test{"./internal/acts", "TestAStartThatDies"}, []edit{
		{"runner.go", "return ok && now.Sub(looked) < 2*KeptDry", "return ok && now.Before(looked)"},
	}},
	{"a batch has no rate", actsFolder, batchTest, []edit{
		{"runner.go", "left > 0 {", "left > time.Hour {"},
	}},
	{"anybody starts a batch", actsFolder, batchTest, []edit{
		{"desk.go", "case b.Who != who:", "case false:"},
	}},
	{"a batch is started whenever", actsFolder, batchTest, []edit{
		{"desk.go", "case d.now().Sub(b.At) > KeptDry:", "case false:"},
	}},
	{"who left the state while the batch runs is acted on", deliveryFolder, actSchedules, []edit{
		{"act.go", "if !a.Selects(c) {", "if false {"},
	}},
	{"who dies at a page has it left out", actsFolder, actSchedules, []edit{
		{"batch.go", "Page []One `json:\"page,omitempty\"`", "Page []One `json:\"-\"`"},
	}},
	{"a batch that is stopped goes on", actsFolder, actSchedules, []edit{
		{"runner.go", "case r.b.State == Stopping:", "case false:"},
	}},
	{"a batch is closed before it is over", actsFolder, actSchedules, []edit{
		{"runner.go", "if err == nil && r.b.State.over() {", "if err == nil {"},
	}},
	{"who left the state and came again is acted on", actsFolder, actSchedules, []edit{
		{"batch.go", "!since.After(a.At) && ", ""},
	}},
}
