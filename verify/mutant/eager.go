package main

// eagerMutants are bugs of calls beside the stream.
var eagerMutants = []mutant{
	{"eager: a move is reported to nobody", sorterFolder, test{"./pkg/cursor", "TestMoved"}, []edit{
		{"sorter.go", "if err == nil && moved && s.moved != nil {", "if err != nil {"},
	}},
	{"eager: what moved nothing is reported", sorterFolder, test{"./pkg/cursor", "TestMoved"}, []edit{
		{"sorter.go", "if err == nil && moved && s.moved != nil {", "if err == nil && s.moved != nil {"},
	}},
	{"eager: all consumers are delivered to at once", deliveryFolder, test{"./pkg/delivery", "TestDeliverMoved"}, []edit{
		{"stream.go", "return !r.Eager", "return false"},
	}},
	{"eager: nobody comes where the store fails", deliveryFolder, test{"./pkg/delivery", "TestDeliverMovedFails"}, []edit{
		{"stream.go", "if failed && d.wakeUp != nil {", "if failed && d.wakeUp == nil {"},
	}},
	{"eager: a position that the queue does not have is a loss", deliveryFolder, test{"./pkg/delivery", "TestDeliverMoved"}, []edit{
		{"deliver.go", "case missing.Seq > it.Position:", "case missing.Seq < it.Position:"},
	}},
	{"eager: a call is part of a circle", "internal/awscall", test{"./internal/eager", "TestFlush"}, []edit{
		{"client.go", "trace != \"\" && !c.untraced &&", "trace != \"\" &&"},
	}},
	{"eager: what was moved is not asked for", "internal/runtime", test{"./internal/runtime", "TestEagerCalls"}, []edit{
		{"deps.go", "d.callEagerly, ", ""},
	}},
	{"eager: a queue of nobody's is asked for", "internal/eager", test{"./internal/eager", "TestFlush"}, []edit{
		{"eager.go", "if !slices.ContainsFunc(c.prefixes,", "if slices.ContainsFunc(c.prefixes, func(string) bool { return false }) && !slices.ContainsFunc(c.prefixes,"},
	}},
	{"eager: what comes after takes the answer's time", "internal/runtime", test{"./internal/runtime", "TestWhatComesAfterLeavesTimeForTheAnswer"}, []edit{
		{"runtime.go", "end = deadline.Add(-answerTime)", "end = deadline"},
	}},
	{"eager: each invocation waits for who does not answer", "internal/eager", test{"./internal/eager", "TestNobodyAnswers"}, []edit{
		{"eager.go", "\t\t\tc.pause(err)\n", ""},
	}},
	{"eager: a hint is noted as it is", deliveryFolder, test{"./pkg/delivery", "TestAHintBeyondThePositionIsNotKept"}, []edit{
		{"deliver.go", "if run.unsure { //", "if false { //"},
	}},
	{"eager: a hint makes a queue", deliveryFolder, test{"./pkg/delivery", "TestAHintMakesNoQueue"}, []edit{
		{"deliver.go", "start.there = run.unsure", "start.there = false"},
	}},
	{"eager: what was noted meanwhile is left where a hint was too great", deliveryFolder, test{"./pkg/delivery", "TestAHintBeyondThePositionStallsNothing"}, []edit{
		{"deliver.go", "run.end(\"\", \"\") // more may", "// more may"},
	}},
}
