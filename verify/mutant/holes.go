package main

// What shows bugs of gaps that are skipped together.
var (
	manyGaps   = test{"./pkg/cursor", "TestManyGapsAreSkippedInOneVisit"}
	noTime     = test{"./pkg/cursor", "TestGapBehindAMessageWithoutATime"}
	cameBefore = test{"./pkg/cursor", "TestAMessageComesBeforeItsTombstone"}
	farApart   = test{"./pkg/cursor", "TestSkippedGapsFarApart"}
	bySweep    = test{"./pkg/cursor", "TestASweepSchedulesWhatItsWritersCouldNot"}
	listed     = test{"./pkg/cursor", "TestSorterGaps"}
	youngGap   = smallSchedule(schedules.folder, "skip behind a second gap")
	besidePuts = smallSchedule(schedules.folder, "skip of many gaps beside a writer")
)

// holeMutants are bugs of gaps that are skipped together.
var holeMutants = []mutant{
	{"a gap is skipped by the age of the one before it", sorterFolder, youngGap, []edit{
		{"gaps.go", "&& gaps[0].olderThan(until)", "&& (len(batch) > 0 || gaps[0].olderThan(until))"},
	}},
	{"a gap behind the first is listed with the age of that", sorterFolder, listed, []edit{
		{"gaps.go", "if last == c.Position {", "if true {"},
	}},
	{"a gap behind the first waits anew", sorterFolder, manyGaps, []edit{
		{"gaps.go", "!at.IsZero() && at.Before(c.MovedAt)", "false"},
	}},
	{"a visit skips one gap", sorterFolder, besidePuts, []edit{
		{"gaps.go", "moved.moved(m.From, m.To)\n\t\t}\n", "moved.moved(m.From, m.To)\n\t\t}\n\t\tbreak\n"},
	}},
	{"a gap is as old as the position's last move", sorterFolder, youngGap, []edit{
		{"put.go", "m.EnqueuedAt = ddb.ToMillis(s.now())", "m.EnqueuedAt = ddb.ToMillis(cur.MovedAt)"},
	}},
	{"heads have no time", sorterFolder, manyGaps, []edit{
		{"store_messages.go", "attrVersion, attrEnqueuedAt, attrExpiresOn, attrTombstone", "attrVersion, attrExpiresOn, attrTombstone"},
	}},
	{"many gaps are read one by one", sorterFolder, manyGaps, []edit{
		{"gaps.go", "size = min(2*size, maxBatchSize)", "size = 1"},
	}},
	{"the next gap is due late", sorterFolder, manyGaps, []edit{
		{"gaps.go", "s.scheduleAt(cur, gaps[0].Since.Add(age))", "s.scheduleAt(cur, s.now().Add(age))"},
	}},
	{"the next gap is due by its last move alone", sorterFolder, manyGaps, []edit{
		{"wake.go", "if err == nil && due.After(s.now()) {", "if false {"},
	}},
	{"a sweep leaves the next gap to its writer's wake-up", sorterFolder, bySweep, []edit{
		{"sweep.go", "cur.Settings.GapAfter > scheduleAhead || since.Before(cur.MovedAt)", "cur.Settings.GapAfter > scheduleAhead"},
	}},
	{"a gap of unknown age is old", sorterFolder, noTime, []edit{
		{"gaps.go", "!g.Since.IsZero() && !g.Since.After(at)", "!g.Since.After(at)"},
	}},
	{"the first gap of unknown age is old", sorterFolder, noTime, []edit{
		{"gaps.go", "!at.IsZero() && at.Before(c.MovedAt)", "at.Before(c.MovedAt)"},
	}},
	{"tombstones make the rest of their gap young", sorterFolder, test{"./pkg/cursor", "TestASkipKeepsTheGapsAge"}, []edit{
		{"gaps.go", "reason, batch[i].Since)", "reason, s.now())"},
	}},
	{"a skip goes over its limit", sorterFolder, test{"./pkg/cursor", "TestSorterSkipsTheGapsThatAreOldEnough"}, []edit{
		{"gaps.go", "limit -= tried; tried", "tried"},
	}},
	{"a message that came first is reported as skipped", sorterFolder, cameBefore, []edit{
		{"gaps.go", "return there.Tombstone != \"\", err", "return there.Tombstone != \"\" || true, err"},
	}},
	{"gaps skipped behind one that was filled are not announced", sorterFolder, cameBefore, []edit{
		{"announce.go", "if a.Skipped = runs; err == nil {", "if a.Skipped = runs; err == nil && runs[0].From == was-1 {"},
	}},
	{"a gap that was filled is not announced where others are skipped", sorterFolder, cameBefore, []edit{
		{"announce.go", "len(skipped) == 0 || skipped[0].From > was-1", "len(skipped) == 0"},
	}},
	{"skipped gaps that no page shows are not announced", sorterFolder, farApart, []edit{
		{"announce.go", "if run.To > seen {", "if false {"},
	}},
}
