package main

// stores are those of all packages.
var stores = []store{
	{sorterFolder, []test{arrivalTables, arrivalSchedules, schedules}},
	{"pkg/dedup", []test{{"./pkg/dedup", "(TestTableConforms|TestNewerLayout)/memory/two_keys"}, dedupSchedules}},
	{deliveryFolder, []test{{"./pkg/handoff", "TestStore.*/memory"}, deliveries, twoPhases}},
	{ackerFolder, []test{ackerStore, ackerLayout, ackerSchedules}},
}
