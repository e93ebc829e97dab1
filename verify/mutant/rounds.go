package main

// roundMutants are bugs in the rounds of the sweeps: over however many queues, and however
// many runs.
var roundMutants = []mutant{
	{"rounds: what is reported is of the last run", sorterFolder, test{"./pkg/cursor", "TestSweepGoesOnWhereItStopped"}, []edit{
		{"round.go", "p.Seen.Merge(s.seen)", "p.Seen = s.seen"},
	}},
	{"rounds: one that failed is young again", sorterFolder, test{"./pkg/cursor", "TestTheAgeOfARoundRises"}, []edit{
		{"round.go", "\tif r.dirty {\n", "\tif r.dirty && len(r.progress.Seen.Sums) > 0 {\n"},
	}},
	{"rounds: a queue takes what time there is", sorterFolder, test{"./pkg/cursor", "TestAQueueHasATurn"}, []edit{
		{"sweep.go", "context.WithTimeout(ctx, turn)", "context.WithCancel(ctx)"},
	}},
	{"acker: a chain takes what time there is", ackerFolder, test{"./pkg/xorack", "TestAChainThatHangsKeepsNoOtherWaiting"}, []edit{
		{"sweep.go", "context.WithTimeout(ctx, turn)", "context.WithCancel(ctx)"},
	}},
	{"acker: a run that is not through does not say so", ackerFolder, test{"./pkg/xorack", "TestSweepIsBoundedByTime"}, []edit{
		{"sweep.go", "run.report.More = len(open) > 0", "run.report.More = false"},
	}},
}
