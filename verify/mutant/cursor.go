package main

// sorterFolder has the code that the sorter's bugs are planted in.
const sorterFolder = "pkg/cursor"

// schedules are the tests that walk all small schedules and random ones.
var schedules = test{"./verify/sim/cursorsim", "TestEverySmallSchedule|TestRandomSchedules"}

// filled walks a gap that is filled, and is too large for one invocation.
var filled = smallSchedule(schedules.folder, "pieces: a gap is filled")

func trace(name string) test { return test{schedules.folder, "TestTrace" + name} }

func cursorTest(pattern string) test { return test{"./pkg/cursor", pattern} }

// sorterMutants are bugs in the sorter: in moves, gaps, pieces, and in where a queue starts.
var sorterMutants = []mutant{
	{"who looks behind sees the next message only (V13)", sorterFolder, trace("V13"), []edit{
		{"advance.go", "(p.cur.GapOpen() || !p.behind)", "true"},
	}},
	{"who looks behind stops where another moved on (V12)", sorterFolder, trace("V12"), []edit{
		{"advance.go", "if !p.behind {", "if !p.behind || !mine {"},
	}},
	{"parked cleared on an empty scan", sorterFolder, schedules, []edit{
		{"store_cursors.go", "ddb.And(attrPosition.Lt(ddb.Int(seq-1)), attrMaxParked.Le(attrPosition.Ref()), isNumbered)", "ddb.Or(attrPosition.Eq(ddb.Int(seq)), ddb.And(attrPosition.Lt(ddb.Int(seq-1)), attrMaxParked.Le(attrPosition.Ref()), attrMaxParked.Lt(ddb.Int(seq))))"},
		{"heal.go", "if look.end == p.cur.Position {\n", "if look.end == p.cur.Position {\n\t\t\tif cur, err := s.store.OpenGap(ctx, p.cur.Queue, look.end, s.now()); err == nil {\n\t\t\t\tp.cur = cur\n\t\t\t}\n"},
	}},
	{"duplicate does not advance", sorterFolder, schedules, []edit{
		{"put.go", "r.Seq > cur.Position && r.Outcome != Full", "r.Seq > cur.Position && r.Outcome != Full && r.Outcome != Duplicate"},
	}},
	{"healer stops at the position (V3)", sorterFolder, trace("V3"), []edit{
		{"heal.go", "if !always && !cur.GapOpen() && known <= cur.Position {", "if !always && known <= cur.Position {"},
	}},
	{"healer delegates (V4)", sorterFolder, trace("V4"), []edit{
		{"heal.go", "if _, err := s.move(ctx, look, p); err != nil {", "if mine, err := s.move(ctx, look, p); err != nil || !mine {"},
	}},
	{"batch parks and stops (V5)", sorterFolder, trace("V5"), []edit{
		{"advance.go", "if err := s.park(ctx, highest, p); err != nil {", "if err := s.park(ctx, highest, p); true {"},
	}},
	{"gapSince not renewed (V6)", sorterFolder, trace("V6"), []edit{
		{"store_cursors.go", "attrPosition.Set(ddb.Int(over.To)), attrMaxParked.Set(ddb.Int(parked)), attrMovedAt.Set(ddb.Millis(now)),", "attrPosition.Set(ddb.Int(over.To)), attrMaxParked.Set(ddb.Int(parked)),"},
	}},
	{"no cursor first (V1)", sorterFolder, trace("V1"), []edit{
		{"put.go", "cur, err = s.create(ctx, queue, settings)\n\t\treturn cur, true, err", "return unmade, true, nil"},
	}},
	{"a queue can begin anew (V9)", sorterFolder, trace("V9"), []edit{
		{"store_cursors.go", "attrFirst.Eq(ddb.Int(*c.First))", "attrFirst.Exists()"},
	}},
	{"sweep sees only gaps on record (V10)", sorterFolder, trace("V10"), []edit{
		{"sweep.go", "\t\treturn cursorFilter{}\n\t}\n\tround, err = w", "\t\treturn cursorFilter{Gaps: true}\n\t}\n\tround, err = w"},
	}},
	{"reader ends at a hole, silently", sorterFolder, schedules, []edit{
		{"read.go", "strong = !whole || !page.More && expect < upTo\n", "if strong = !whole || !page.More && expect < upTo; strong {\n\t\t\t\treturn\n\t\t\t}\n"},
	}},
	{"range from the queue's begin", sorterFolder, schedules, []edit{
		{"stream.go", "from = c.Position\n", "from = c.Settings.First - 1\n"},
	}},
	{"the last record that fails is named", sorterFolder, test{"./pkg/cursor", "TestStatelessConsumerStopsAtWhatFails"}, []edit{
		{"stateless.go", "\t\tfor _, raw := range event.Records {\n", "\t\tvar answer events.DynamoDBEventResponse\n\t\tfor _, raw := range event.Records {\n"},
		{"stateless.go", "\t\t\t\treturn stream.FailedAt(raw, err)\n", "\t\t\t\tif answer, err = stream.FailedAt(raw, err); err != nil {\n\t\t\t\t\treturn answer, err\n\t\t\t\t}\n"},
		{"stateless.go", "\t\treturn events.DynamoDBEventResponse{}, nil\n", "\t\treturn answer, nil\n"},
	}},
	{"a visit skips one gap", sorterFolder, smallSchedule(schedules.folder, "skip of many gaps beside a writer"), []edit{
		{"gaps.go", "moved.moved(m.From, m.To)\n\t\t}\n", "moved.moved(m.From, m.To)\n\t\t}\n\t\tbreak\n"},
	}},
	{"a gap is as old as the position's last move", sorterFolder, smallSchedule(schedules.folder, "skip behind a second gap"), []edit{
		{"put.go", "m.EnqueuedAt = ddb.ToMillis(s.now())", "m.EnqueuedAt = ddb.ToMillis(cur.MovedAt)"},
	}},
	{"the next gap is due late", sorterFolder, test{"./pkg/cursor", "TestManyGapsAreSkippedInOneVisit"}, []edit{
		{"gaps.go", "s.scheduleAt(cur, gaps[0].Since.Add(age))", "s.scheduleAt(cur, s.now().Add(age))"},
	}},
	{"tombstones make the rest of their gap young", sorterFolder, test{"./pkg/cursor", "TestASkipKeepsTheGapsAge"}, []edit{
		{"gaps.go", "reason, batch[i].Since)", "reason, s.now())"},
	}},
	{"pieces: the move waits for all pages (R13)", sorterFolder, filled, []edit{
		{"advance.go", "whole = len(page.Messages) == limit", "whole = len(page.Messages) > 0"},
	}},
	{"pieces: acknowledged after the first one (R14)", sorterFolder, filled, []edit{
		{"heal.go", "if _, err := s.move(ctx, look, p); err != nil {", "if _, err := s.move(ctx, look, p); err != nil || look.full {"},
	}},
	{"pieces: acknowledged though the time was up (R14)", sorterFolder, test{"./pkg/cursor", "TestOnMessagesHandsBack"}, []edit{
		{"stream.go", "if q.again = q.err != nil; !q.again {", "if q.again = q.err != nil && !errors.Is(q.err, context.DeadlineExceeded); !q.again {"},
	}},
	{"pieces: a mark on a seq that nobody saw (R16)", sorterFolder, smallSchedule(schedules.folder, "pieces: a run on no record"), []edit{
		{"store_cursors.go", "attrMaxParked.Set(ddb.Int(parked))", "attrMaxParked.Set(ddb.Int(parked+1))"},
	}},
	{"start: a refusal by an older state", sorterFolder, cursorTest("TestARefusedPutAsksStrongly"), []edit{
		{"put.go", "if cur, err = s.readCursor(ctx, queue); err != nil || cur.Exists() {", "if cur, err = s.store.Cursor(ctx, queue, false); err != nil || cur.Exists() {"},
	}},
	{"ahead: a repeat gets its own time of receipt", sorterFolder, cursorTest("TestAClockThatIsAhead/memory"), []edit{
		{"keyed.go", "a.parts[i], a.result.ClockAhead = sortkey.Received(m.Received), true", "a.parts[i], a.result.ClockAhead = m.Received, true\n\t\t\tkey, _ = of.Key(a.parts...)"},
	}},
	{"late: the writer counts what a settler has placed", sorterFolder, cursorTest("TestALateOneIsCountedOnce"), []edit{
		{"log.go", "a.at.Has(queuelog.MarkUnlinked), a.placed", "a.at.Has(queuelog.MarkUnlinked), a.mine"},
	}},
	{"anew: what was stored beside it is left behind", sorterFolder, logSchedule("keyed: the keys begin anew beside a writer"), []edit{
		{"restart.go", "p.High, p.LateInRow, p.Restart = cur.High.Era().Next().Begin(),", "p.Low, p.High, p.LateInRow, p.Restart = cur.High.Era().Next().Begin(), cur.High.Era().Next().Begin(),"},
	}},
	{"anew: an order that was done is on record again", "pkg/delivery", test{"./functions/delivery", "TestRestartKeys/memory"}, []edit{
		{"erase.go", "cur.RestartedBy(o.Op)", "cur.RestartedBy(o.Reason)"},
	}},
	{"rounds: what is reported is of the last run", sorterFolder, test{"./pkg/cursor", "TestSweepGoesOnWhereItStopped"}, []edit{
		{"round.go", "p.Seen.Merge(s.seen)", "p.Seen = s.seen"},
	}},
	{"rounds: a queue takes what time there is", sorterFolder, test{"./pkg/cursor", "TestAQueueHasATurn"}, []edit{
		{"sweep.go", "context.WithTimeout(ctx, turn)", "context.WithCancel(ctx)"},
	}},
}
