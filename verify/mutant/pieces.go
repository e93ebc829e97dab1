package main

// The tests of what is too large for one invocation: a gap that is filled, and a run of
// which the stream dropped the records.
var (
	filled   = smallSchedule(schedules.folder, "pieces: a gap is filled")
	noRecord = smallSchedule(schedules.folder, "pieces: a run on no record")
)

// pieceMutants are bugs in what is too large for one invocation.
var pieceMutants = []mutant{
	{"pieces: looked at to the end first (R13)", sorterFolder, filled, []edit{
		{"advance.go", "if room <= 0 || !whole {", "if room <= 0 && !whole {"},
	}},
	{"pieces: the move waits for all pages (R13)", sorterFolder, filled, []edit{
		{"advance.go", "whole = len(page.Messages) == limit", "whole = len(page.Messages) > 0"},
	}},
	{"pieces: acknowledged after the first one (R14)", sorterFolder, filled, []edit{
		{"heal.go", "if _, err := s.move(ctx, look, p); err != nil {", "if _, err := s.move(ctx, look, p); err != nil || look.full {"},
	}},
	{"pieces: acknowledged after a failed move (R14)", sorterFolder, filled, []edit{
		{"heal.go", "if _, err := s.move(ctx, look, p); err != nil {\n\t\t\treturn beyond, err", "if _, err := s.move(ctx, look, p); err != nil {\n\t\t\treturn beyond, nil"},
	}},
	{"pieces: acknowledged before the move (R14)", sorterFolder, filled, []edit{
		{"heal.go", "look, err := s.scan(ctx, p, p.cur.Position)\n\t\tif err != nil {\n\t\t\treturn beyond, err", "look, err := s.scan(ctx, p, p.cur.Position)\n\t\tif err != nil || look.full {\n\t\t\treturn beyond, err"},
	}},
	{"pieces: acknowledged though the time was up (R14)", sorterFolder, test{"./pkg/cursor", "TestOnMessagesHandsBack"}, []edit{
		{"stream.go", "if q.again = q.err != nil; !q.again {", "if q.again = q.err != nil && !errors.Is(q.err, context.DeadlineExceeded); !q.again {"},
	}},
	{"pieces: a mark on a seq that nobody saw (R16)", sorterFolder, noRecord, []edit{
		{"store_cursors.go", "attrMaxParked.Set(ddb.Int(parked))", "attrMaxParked.Set(ddb.Int(parked+1))"},
	}},
	{"a list of gaps reads all that is parked", sorterFolder, test{"./pkg/cursor", "TestGapsReadsWhatItMust"}, []edit{
		{"gaps.go", "more && len(list.Gaps) < limit && pages < maxGapPages", "more"},
	}},
	{"a skip writes a bounded number a run", sorterFolder, test{"./pkg/cursor", "TestAGapIsSkippedInOneRun"}, []edit{
		{"sweep.go", "o.SkipLimit = MaxMaxAhead", "o.SkipLimit = 1000"},
	}},
	{"a skip takes an order item's key", sorterFolder, test{"./pkg/cursor", "TestSkipOfAQueueInArrivalOrder"}, []edit{
		{"gaps.go", "if !numbered(cur) {", "if !cur.Exists() {"},
	}},
	{"what waits beyond the hole is read from an older time", sorterFolder, smallSchedule(schedules.folder, "skip behind a gap that comes meanwhile"), []edit{
		{"heal.go", "Limit: min(limit, maxBatchSize),\n\t\tStrong: true,", "Limit: min(limit, maxBatchSize),\n\t\tStrong: false,"},
	}},
	{"the next seq is left to nobody", sorterFolder, smallSchedule(schedules.folder, "left to the sweep"), []edit{
		{"store_cursors.go", "ddb.And(attrPosition.Lt(ddb.Int(seq)), attrMaxParked.Le(", "ddb.And(attrPosition.Lt(ddb.Int(seq-1)), attrMaxParked.Le("},
	}},
}
