package main

// roundMutants are bugs in the rounds of the sweeps: over however many queues, and however
// many runs.
var roundMutants = []mutant{
	{"rounds: each run begins a new one", sorterFolder, test{"./pkg/cursor", "TestSweepGoesOnWhereItStopped"}, []edit{
		{"round.go", "case len(last.Left) > 0 && last.Segments == walk.Segments:", "case false:"},
	}},
	{"rounds: what is told is of the last run", sorterFolder, test{"./pkg/cursor", "TestSweepGoesOnWhereItStopped"}, []edit{
		{"round.go", "p.Seen.Merge(s.seen)", "p.Seen = s.seen"},
	}},
	{"rounds: who was not come to is passed over", sorterFolder, test{"./pkg/cursor", "TestSweepGoesOnWhereItStopped"}, []edit{
		{"walk.go", "case begun == len(page.Cursors):", "case true:"},
	}},
	{"rounds: each call begins one", sorterFolder, test{"./pkg/cursor", "TestARoundBeginsWhenItIsDue"}, []edit{
		{"round.go", "now.Sub(last.Began) < walk.Every", "false"},
	}},
	{"rounds: one that failed is young again", sorterFolder, test{"./pkg/cursor", "TestTheAgeOfARoundRises"}, []edit{
		{"round.go", "\tif r.dirty {\n", "\tif r.dirty && len(r.progress.Seen.Sums) > 0 {\n"},
	}},
	{"rounds: every gap is announced again", sorterFolder, test{"./pkg/cursor", "TestManyOpenGapsAreNotAllAnnouncedAgain"}, []edit{
		{"announce.go", "r.repeats.Add(1) > maxRepeats", "false"},
	}},
	{"rounds: a queue takes what time there is", sorterFolder, test{"./pkg/cursor", "TestAQueueHasATurn"}, []edit{
		{"sweep.go", "context.WithTimeout(ctx, turn)", "context.WithCancel(ctx)"},
	}},
	{"rounds: what a turn was too short for is left", sorterFolder, test{"./pkg/cursor", "TestAQueueHasATurn"}, []edit{
		{"sweep.go", "all = append(all, func() { w.goOn(ctx, c) })", "_ = c"},
	}},
	{"acker: a chain takes what time there is", ackerFolder, test{"./pkg/xorack", "TestAChainThatHangsKeepsNoOtherWaiting"}, []edit{
		{"sweep.go", "context.WithTimeout(ctx, turn)", "context.WithCancel(ctx)"},
	}},
	{"acker: a run that is not through does not say so", ackerFolder, test{"./pkg/xorack", "TestSweepIsBoundedByTime"}, []edit{
		{"sweep.go", "run.report.More = len(open) > 0", "run.report.More = false"},
	}},
}
