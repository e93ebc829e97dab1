package main

// actTest are the tests that hold acts of batches to be done once.
var actTest = test{"./pkg/handoff", "TestActs"}

// actMutants are bugs by which a batch of acts does one twice, or not at all.
var actMutants = []mutant{
	{"an act is done over another that was not seen", recordFolder, actTest, []edit{
		{"store_acts.go", "ddb.And(condition, unmarked)", "ddb.Or(condition, unmarked)"},
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
		{"act.go", "asked.At, asked.Batch = ddb.ToMillis(a.At), a.Op", "asked.Batch = a.Op"},
	}},
	{"who is not selected is acted on", deliveryFolder, actTest, []edit{
		{"act.go", "if !a.Selects(c) {", "if false {"},
	}},
	{"an act that meets an outage has failed", deliveryFolder, actTest, []edit{
		{"act.go", "errors.Is(err, ddb.ErrUnavailable) || ", ""},
	}},
}
