package main

// What shows bugs of gaps that are skipped together.
var (
	manyGaps   = test{"./pkg/cursor", "TestManyGapsAreSkippedInOneVisit"}
	cameBefore = test{"./pkg/cursor", "TestAMessageComesBeforeItsTombstone"}
	youngGap   = smallSchedule(schedules.folder, "skip behind a second gap")
	besidePuts = smallSchedule(schedules.folder, "skip of many gaps beside a writer")
)

// holeMutants are bugs of gaps that are skipped together.
var holeMutants = []mutant{
	{"a gap is skipped by the age of the one before it", sorterFolder, youngGap, []edit{
		{"gaps.go", "&& gaps[0].olderThan(until)", "&& (len(batch) > 0 || gaps[0].olderThan(until))"},
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
	{"tombstones make the rest of their gap young", sorterFolder, test{"./pkg/cursor", "TestASkipKeepsTheGapsAge"}, []edit{
		{"gaps.go", "reason, batch[i].Since)", "reason, s.now())"},
	}},
	{"a skip goes over its limit", sorterFolder, test{"./pkg/cursor", "TestSorterSkipsTheGapsThatAreOldEnough"}, []edit{
		{"gaps.go", "limit -= tried; tried", "tried"},
	}},
	{"gaps skipped behind one that was filled are not announced", sorterFolder, cameBefore, []edit{
		{"announce.go", "if a.Skipped = runs; err == nil {", "if a.Skipped = runs; err == nil && runs[0].From == was-1 {"},
	}},
}
