package main

// stores are those of all packages.
var stores = []store{
	{sorterFolder, []test{arrivalTables, arrivalSchedules, schedules}, nil},
	{"pkg/dedup", []test{{"./pkg/dedup", "(TestTableConforms|TestNewerLayout)/memory/two_keys"}, dedupSchedules}, nil},
	{deliveryFolder, []test{{"./pkg/handoff", "TestStore.*/memory"}, deliveries, twoPhases}, map[string]string{
		"commit and claim does state":                    "a claim that is committed by a push is Started, as the next one: the two requests share their changes",
		"commit prepared and claim does tracked":         "nothing is tracked that was prepared: the two requests share their changes",
		"settle quarantined if outcomes.*.n < ? (bound)": "no claim has an outcome while it is in quarantine",
		"told refused if refusedTold < ? (bound)":        "it stores the number that stands there",
	}},
	{ackerFolder, []test{ackerStore, ackerLayout, ackerSchedules}, nil},
}
